"""Uses everything that boxes have, with whatever powers this process has, and prints what it saw as one JSON object.

Started by test_rungs.py, and in containers; its argument, if any, is the static program for a box over an image.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from sandbox.linux.powers import has_settled, settle

settle()

from sandbox.boxes import BoxPlan, Exposure, Launcher, ladder  # noqa: E402 (only now may there be threads)
from sandbox.effects.differ import FileDiffer  # noqa: E402
from sandbox.evidence.content import ContentStore  # noqa: E402
from sandbox.linux.namespaces import server_owner  # noqa: E402
from sandbox.model import ImageRoot, SeedEntry  # noqa: E402
from sandbox.world import World  # noqa: E402

SERVER = """
import os, socket, sys
def attempt(deed, *words):
    try:
        return str(deed(*words))
    except OSError as error:
        return error.strerror
def write(path):
    with open(path, "w") as file:
        file.write("1")
say = lambda *words: print(*words, flush=True)
os.umask(0o077)
sys.stdin.readline()
write(os.path.expanduser("~/private"))
open("/seeded/canary").read()
os.remove("/seeded/doomed")
say(open("/proc/self/status").read().replace("\\n", "|"))
say(attempt(write, "/proc/sys/net/ipv4/ip_forward"))
say(attempt(write, "/proc/sys/kernel/domainname"))
libc = __import__("ctypes").CDLL(None, use_errno=True)
say(libc.unshare(0x10000000), libc.unshare(0x00020000))
say(attempt(lambda: sorted(socket.gethostbyname_ex("far.example")[2])[0]))
say(attempt(lambda: socket.create_connection(("192.0.2.7", 80), 5).getpeername()[0]))
say(open(sys.argv[1]).read().strip())
say(attempt(os.listdir, "/proc/1/root"), len([name for name in os.listdir("/proc") if name.isdigit()]))
say(*(name for _, name in socket.if_nameindex()))
listening = socket.socket()
listening.bind(("127.0.0.1", 8123))
listening.listen()
say("listening")
sys.stdin.readline()
"""


def line(box: object) -> str:
    told = b""
    while not told.endswith(b"\n"):
        part = os.read(box.stdout, 1)  # type: ignore[attr-defined]
        assert part, box.stderr_tail()  # type: ignore[attr-defined]
        told += part
    return told.decode().strip()


def use(launcher: Launcher, world: World, folder: Path) -> dict[str, object]:
    project = folder / "project"
    project.mkdir()
    (project / "file").write_text("of the host")
    python = os.path.realpath(sys.executable)
    plan = BoxPlan(
        (python, "-I", "-S", "-c", SERVER, str(project / "file")),
        env=world.environment,
        exposures=(Exposure(sys.base_prefix), Exposure(str(project))),
        seeds=(
            SeedEntry("/seeded", "dir", 0o700),
            SeedEntry("/seeded/canary", "file", 0o600, b"c"),
            SeedEntry("/seeded/doomed", "file", 0o600, b"d"),
            SeedEntry(world.bundle_path, "file", 0o644, world.ca_pem),
        ),
        canaries=("/seeded/canary",),
    )
    warden_end, exchanges = world.attach("exercise")
    seen: dict[str, object] = {}
    with launcher.launch(plan, warden_end) as box, ContentKeeper() as keep:
        os.close(warden_end)
        differ = FileDiffer(box.layers, keep)
        differ.baseline()
        os.write(box.stdin, b"\n")
        status = dict(field.split(":", 1) for field in line(box).split("|") if ":" in field)
        seen["capabilities"] = sorted(
            {status[name].strip() for name in ("CapPrm", "CapEff", "CapBnd", "CapAmb")}
        )
        seen["no_new_privileges"] = status["NoNewPrivs"].strip()
        seen["settings"] = [line(box), line(box)]
        seen["namespaces"] = line(box)
        seen["name"], seen["contact"] = line(box), line(box)
        seen["exposed"] = line(box)
        seen["others"], seen["interfaces"] = line(box), line(box)
        assert line(box) == "listening"
        (server,) = box.processes()
        events = box.events.read_new()
        seen["executable"] = server.executable == python
        seen["user"] = [os.stat(f"/proc/{server.pid}").st_uid, box.user]
        seen["changes"] = {
            change.path: [change.kind.value, keep.get(change.after) is not None] for change in differ.scan()
        }
        seen["canaries"] = [read.path for read in box.canary_reads()]
        seen["recorded"] = sorted({event.name for event in events if event.denied})
        seen["writer"] = {event.executable for event in events if event.path.endswith("/private")} == {python}
        seen["ports"] = list(box.listening_ports())
        box.connect(8123).close()
        seen["looked"] = box.look("/home/user/private") is not None
        box.kill_server()
        seen["ended"] = box.exit_status
        box.check()
        differ.close()
    exchanges.close()
    return seen


def use_image(launcher: Launcher, folder: Path, tool: str) -> list[str]:
    shutil.copy(tool, folder / "tool")
    for path in (folder / "tool", folder):
        os.chown(path, server_owner(), server_owner() if os.geteuid() == 0 else -1)
    plan = BoxPlan(
        ("/tool", "ids", ",", "remove", "/tool", ",", "list", "/", ",", "show", "/etc/hostname"),
        cwd="/",
        image=ImageRoot(str(folder)),
    )
    with launcher.launch(plan) as box:
        return [line(box), line(box), line(box)]


class ContentKeeper(ContentStore):
    def __enter__(self) -> ContentKeeper:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def main() -> None:
    told: dict[str, object] = {"settled": has_settled()}
    told["ladder"] = {rung.name: rung.works for rung in ladder()}
    with tempfile.TemporaryDirectory() as folder, Launcher.start() as launcher:
        Path(folder).chmod(0o755)
        world = World.start()
        try:
            told["rung"] = launcher.rung
            told["box"] = use(launcher, world, Path(folder))
        finally:
            world.close()
        if sys.argv[1:]:
            image = Path(folder, "image")
            image.mkdir()
            told["image"] = use_image(launcher, image, sys.argv[1])
    sys.stdout.write(json.dumps(told) + "\n")


main()
