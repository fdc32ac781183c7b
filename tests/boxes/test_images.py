"""Boxes whose root is an image: whatever the image lacks, and whatever it holds."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from waiting import read_all, read_line

from sandbox.boxes import Box, BoxPlan, Exposure, Launcher
from sandbox.effects.differ import FileDiffer
from sandbox.evidence.content import ContentStore
from sandbox.linux.namespaces import server_owner
from sandbox.model import FileChange, ImageRoot, SeedEntry

IS_ROOT = os.geteuid() == 0


@dataclass
class Image:
    """An image's unpacked root in the making, and boxes over it."""

    path: Path
    launcher: Launcher
    user: int = 0
    group: int = 0
    home: str = "/"
    boxes: list[Box] = field(default_factory=list)

    def put(self, path: str, text: str = "of the image\n", mode: int = 0o644) -> None:
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def run(self, *commands: str, hand_over: bool = True, **plan: object) -> Box:
        """Launch the tool with commands in a box over the image; it waits where a command says so."""
        if hand_over:
            self.hand_over()
        words = " , ".join(commands).split(" ")
        root = ImageRoot(str(self.path), self.user, self.group, self.home)
        plan = {"cwd": "/", **plan}
        box = self.launcher.launch(BoxPlan(("/tool", *words), image=root, **plan))  # type: ignore[arg-type]
        self.boxes.append(box)
        return box

    def said(self, *commands: str, **plan: object) -> list[str]:
        """The lines that the tool said, without its failures' reasons."""
        box = self.run(*commands, **plan)
        said = read_all(box)
        assert box.stderr_tail() == ""
        return [line.strip() for line in said.splitlines()]

    def hand_over(self) -> None:
        """Give all of it to the id that servers run under, as whoever unpacks an image does."""
        owner = server_owner()
        for path in (self.path, *self.path.rglob("*")):
            os.chown(path, owner, owner if IS_ROOT else -1, follow_symlinks=False)

    def inside(self, asked: int) -> int:
        """What an id that was asked for is in the box: there is no choice without a user namespace."""
        return server_owner() if self.launcher.rung == "plain" else asked


@pytest.fixture
def image(rung_launcher: Launcher, tool: Path, tmp_path: Path) -> Iterator[Image]:
    made = Image(tmp_path / "image", rung_launcher)
    made.path.mkdir()
    made.path.chmod(0o755)
    shutil.copy(tool, made.path / "tool")
    yield made
    for box in made.boxes:
        box.close()


def test_an_image_of_a_single_file_is_enough(image: Image) -> None:
    said = image.said(
        "list /", "list /etc", "list /var", "facts /tmp", "facts /var/tmp", "put /tmp/x y", "show /tmp/x"
    )

    owner = image.inside(0) if image.launcher.rung == "user" else 0
    assert said == [
        "dev etc proc sys tmp tool var",
        "hostname hosts resolv.conf",
        "tmp",
        f"1777 {owner}:{owner}",
        f"1777 {owner}:{owner}",
        "y",
    ]


def test_nothing_of_the_host_is_in_it(image: Image) -> None:
    said = image.said("list /usr", "list /home", "list /root", "list /tmp", "list /sys", "list /dev/shm")

    assert said == [*["list: No such file or directory"] * 3, "", "", ""]


def test_a_program_is_looked_up_in_the_image_by_the_path_that_was_given(image: Image, tool: Path) -> None:
    (image.path / "opt").mkdir()
    shutil.copy(tool, image.path / "opt" / "server")
    image.hand_over()
    plan = BoxPlan(
        ("server", "say", "found"), env={"PATH": "/nowhere:/opt"}, cwd="/", image=ImageRoot(str(image.path))
    )
    with image.launcher.launch(plan) as box:
        assert read_all(box) == "found\n"


def test_a_program_that_is_missing_says_so(image: Image) -> None:
    image.hand_over()
    plan = BoxPlan(("server",), cwd="/", image=ImageRoot(str(image.path)))
    with image.launcher.launch(plan) as box:
        assert read_all(box) == ""
        assert "server" in box.stderr_tail()


def test_the_environment_is_the_images_alone(image: Image) -> None:
    names = ("PATH", "HOME", "HOSTNAME", "USER", "LANG", "SHELL", "TOKEN")
    said = image.said(*(f"env {name}" for name in names), env={"TOKEN": "t"}, home="/unused")

    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    assert said == [path, "/", "box", *["(none)"] * 3, "t"]


@pytest.mark.parametrize(("user", "group"), [(0, 0), (0, 7), (65532, 65532), (1234, 0), (33, 4321)])
def test_the_server_is_the_images_user_and_has_no_power(image: Image, user: int, group: int) -> None:
    image.user, image.group = user, group
    box = image.run(
        "ids", "show /proc/self/status", "wait", seeds=(SeedEntry("/seeded", "file", 0o600, b"s"),)
    )

    assert read_line(box) == f"{image.inside(user)}:{image.inside(group)}"
    status = {}
    while "NoNewPrivs" not in status:
        name, _, value = read_line(box).partition(":")
        status[name] = value.strip()
    assert {status[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert status["NoNewPrivs"] == "1"
    (server,) = (fact.pid for fact in box.processes())
    outside = os.stat(f"/proc/{server}")
    assert outside.st_uid == server_owner() == box.user
    assert outside.st_gid == (server_owner() if IS_ROOT else os.getegid())


def test_roots_server_cannot_change_the_machines_settings(image: Image) -> None:
    image.user = 0
    said = image.said(
        "put /proc/sys/kernel/domainname x",
        "put /proc/sys/user/max_user_namespaces 9",
        "put /proc/sys/net/ipv4/ip_forward 1",
    )

    assert said == ["put: Read-only file system"] * 3


def test_seeds_belong_to_the_images_user(image: Image) -> None:
    image.user, image.group = 1234, 4321
    seeds = (SeedEntry("/data", "dir", 0o750), SeedEntry("/data/file", "file", 0o640, b"seed"))
    said = image.said("facts /data", "facts /data/file", "put /data/file new", "show /data/file", seeds=seeds)

    owner = f"{image.inside(1234)}:{image.inside(4321)}"
    assert said == [f"750 {owner}", f"640 {owner}", "new"]


def test_files_of_the_image_are_the_servers_as_far_as_their_owners_permissions_go(image: Image) -> None:
    image.user = 1000
    image.put("open")
    image.put("closed", mode=0o444)
    (image.path / "sealed").mkdir()
    (image.path / "sealed").chmod(0o555)
    said = image.said("put /open new", "put /closed new", "put /sealed/x new", "show /open", "show /closed")

    assert said == ["put: Permission denied", "put: Permission denied", "newof the image"]
    assert (image.path / "open").read_text() == "of the image\n"


@pytest.mark.parametrize("user", [0, 1000])
def test_what_nobody_handed_over_is_the_servers_where_the_kernel_can_map_it(image: Image, user: int) -> None:
    image.user = user
    image.put("private", mode=0o600)
    said = image.said("show /private", "put /private new", hand_over=False)

    if image.launcher.rung != "mapped":  # a user namespace may not map what lies on a disk
        assert said == ["of the image"]


def test_accounts_are_the_images_and_the_network_files_are_ours(image: Image) -> None:
    image.put("etc/passwd", "app:x:5:5::/:/app\n")
    image.put("etc/group", "app:x:5:\n")
    image.put("etc/hosts", "9.9.9.9 evil\n")
    (image.path / "etc/resolv.conf").symlink_to("../run/resolv.conf")
    said = image.said(
        "show /etc/passwd",
        "show /etc/group",
        "show /etc/hostname",
        "show /etc/resolv.conf",
        "show /etc/hosts",
    )

    assert said[:4] == ["app:x:5:5::/:/app", "app:x:5:", "box", "nameserver 11.0.0.53"]
    assert "9.9.9.9 evil" not in said


@pytest.mark.parametrize("user", [0, 1000])
def test_the_network_files_are_the_image_roots(image: Image, user: int) -> None:
    image.user = user
    (image.path / "etc").mkdir()
    said = image.said("put /etc/hosts x", "show /etc/hosts")

    if user or image.launcher.rung == "plain":
        assert said[0] == "put: Permission denied"
    else:
        assert said == ["x"]


def test_home_is_made_where_it_is_missing_and_kept_where_it_is_not(image: Image) -> None:
    image.user, image.group, image.home = 1000, 1000, "/home/app"
    said = image.said("facts /home/app", "put /home/app/x y", "env HOME")
    assert said == [f"755 {image.inside(1000)}:{image.inside(1000)}", "/home/app"]

    image.put("home/app/.profile")
    (image.path / "home/app").chmod(0o511)
    said = image.said("facts /home/app", "list /home/app")
    assert said == [f"511 {image.inside(1000)}:{image.inside(1000)}", ".profile"]


def test_what_the_image_has_in_its_temporary_folders_stays(image: Image) -> None:
    image.put("tmp/kept")
    (image.path / "tmp").chmod(0o555)
    said = image.said("list /tmp", "put /tmp/new x", "list /tmp")

    assert said == ["kept", "kept new"]


# --- what the engine sees of it ---------------------------------------------------------------------


def changes(image: Image, *commands: str, **plan: object) -> dict[str, FileChange]:
    """What the collector's differ tells of commands that were run in a box over the image."""
    box = image.run("say ready", "wait", *commands, "say done", "wait", **plan)
    read_line(box)
    with FileKeeper() as keep:
        differ = FileDiffer(box.layers, keep)
        differ.baseline()
        os.write(box.stdin, b"\n")
        while (line := read_line(box)) != "done":
            raise AssertionError(line)
        found = {change.path: change for change in differ.scan()}
        differ.close()
    return found


class FileKeeper(ContentStore):
    def __enter__(self) -> FileKeeper:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def test_nothing_of_what_was_put_into_the_box_is_a_change(image: Image) -> None:
    image.put("tmp/kept")
    image.put("etc/hosts")

    assert changes(image) == {}


def test_deletes_copy_ups_and_moves_are_told_against_the_images_files(image: Image) -> None:
    for name in ("deleted", "changed", "moved", "mode", "folder/one", "folder/two", "emptied/x"):
        image.put(name, f"{name} of the image\n")
    found = changes(
        image,
        "remove /deleted",
        "put /changed new",
        "move /moved /tmp/moved",
        "mode /mode 600",
        "remove /folder/one",
        "put /folder/three new",
        "folder /made",
        "remove /emptied/x",
        "remove /emptied",
        "folder /emptied",
    )

    told = {path: (change.kind.value, change.existed) for path, change in found.items()}
    assert told == {
        "/deleted": ("deleted", True),
        "/changed": ("modified", True),
        "/tmp/moved": ("moved", False),
        "/mode": ("metadata", True),
        "/folder/one": ("deleted", True),
        "/folder/three": ("created", False),
        "/made": ("created", False),
        "/emptied/x": ("deleted", True),
    }
    assert found["/tmp/moved"].source == "/moved"
    assert found["/changed"].before_size == len("changed of the image\n")


def test_the_image_itself_is_never_changed(image: Image) -> None:
    image.put("tmp/file")
    image.put("etc/hosts")
    image.hand_over()
    before = snapshot(image.path)
    image.said(
        "remove /tmp/file",
        "put /etc/hosts x",
        "put /new x",
        "mode /tool 644",
        "move /tool /other",
        hand_over=False,
    )

    assert snapshot(image.path) == before


def snapshot(root: Path) -> dict[str, tuple[object, ...]]:
    found = {}
    for path in (root, *root.rglob("*")):
        facts = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(facts.st_mode) else b""
        found[str(path)] = (facts.st_mode, facts.st_uid, facts.st_gid, facts.st_mtime_ns, content)
    return found


def test_looks_and_canaries_work_in_it(image: Image) -> None:
    image.home = "/root"
    image.put("etc/passwd", mode=0o604)
    box = image.run(
        "show /root/secret",
        "say ready",
        "wait",
        seeds=(SeedEntry("/root/secret", "file", 0o600, b"canary\n"),),
        canaries=("/root/secret",),
    )
    assert read_line(box) == "canary"
    read_line(box)

    looked = box.look("/etc/passwd")
    assert looked is not None
    assert (stat.S_IMODE(looked.st_mode), looked.st_uid) == (0o604, server_owner())
    assert box.look("/usr") is None
    assert [read.path for read in box.canary_reads()] == ["/root/secret"]
    assert any(event.path == "/tool" for event in box.events.read_new())


def test_a_folder_of_the_host_is_a_layer_on_top(image: Image, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    project.chmod(0o777)
    (project / "old").write_text("of the host\n")
    (project / "old").chmod(0o666)
    found = changes(
        image,
        f"put {project}/old new",
        f"put {project}/made new",
        exposures=(Exposure(str(project)),),
        seeds=(SeedEntry(f"{project}/seed", "file", content=b"s"),),
    )

    assert {path: change.kind.value for path, change in found.items()} == {
        f"{project}/old": "modified",
        f"{project}/made": "created",
    }
    assert {path.name: path.read_text() for path in project.iterdir()} == {"old": "of the host\n"}


# --- images that lay traps --------------------------------------------------------------------------


def test_symlinks_and_files_in_the_places_of_our_own_lead_nowhere(image: Image, tmp_path: Path) -> None:
    host = tmp_path / "host"
    for name in ("etc", "proc", "tmp", "var/tmp", "home/app"):
        (host / name).mkdir(parents=True)
        (host / name).chmod(0o777)
    for name in ("etc", "proc", "tmp", "var", "home"):
        (image.path / name).symlink_to(host / name)
    image.put("dev", "a file")
    image.put("sys", "a file")
    image.home = "/home/app"
    before = snapshot(host)
    said = image.said(
        "show /etc/hostname",
        "put /tmp/x y",
        "put /home/app/x y",
        "put /var/tmp/x y",
        "put /dev/null x",
        "list /dev/shm",
        "show /seeded/deep/file",
        f"list {tmp_path}",
        seeds=(SeedEntry("/seeded/deep/file", "file", content=b"seed\n"),),
        exposures=(Exposure(str(host / "etc")),),
    )

    assert said == ["box", "", "seed", "host"]
    assert snapshot(host) == before


def test_special_files_of_an_image_are_of_no_use(image: Image) -> None:
    if IS_ROOT:
        os.mknod(image.path / "disk", stat.S_IFCHR | 0o666, os.makedev(1, 5))  # /dev/zero
        (image.path / "disk").chmod(0o666)
    os.mkfifo(image.path / "etc-fifo")
    said = image.said("show /disk", "list /")

    assert said[0] == ("show: Permission denied" if IS_ROOT else "show: No such file or directory")
