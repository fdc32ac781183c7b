"""Copying out what an installer made: kept as it is where it is harmless, left out and told where it is not."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from sandbox.errors import CancelledError, InstallError
from sandbox.provision.plan import Tree
from sandbox.provision.treecopy import MOST_DEPTH, CopyRules, copy_tree, stays

ROOT = "/provision/layer"
MIB = 1 << 20

Copy = Callable[..., Tree]


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """The folder that an installer made."""
    (tmp_path / "made").mkdir()
    return tmp_path / "made"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """The folder that it is copied to."""
    (tmp_path / "kept").mkdir()
    return tmp_path / "kept"


@pytest.fixture
def copy(made: Path, kept: Path) -> Copy:
    def run(**rules: object) -> Tree:
        source = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
        try:
            given = {"root": ROOT, "shown": ("/usr", "/opt/python"), "size": MIB, **rules}
            return copy_tree(source, str(kept), CopyRules(**given))  # type: ignore[arg-type]
        finally:
            os.close(source)

    return run


def test_files_keep_content_mode_and_time(made: Path, kept: Path, copy: Copy) -> None:
    (made / "bin").mkdir()
    (made / "bin" / "server").write_bytes(b"#!/usr/bin/env node\n")
    (made / "bin" / "server").chmod(0o755)
    os.utime(made / "bin" / "server", (1_000_000_000.25, 1_000_000_000.25))
    (made / "empty").mkdir(mode=0o755)

    tree = copy()

    server = kept / "bin" / "server"
    assert server.read_bytes() == b"#!/usr/bin/env node\n"
    assert stat.S_IMODE(server.stat().st_mode) == 0o755
    assert server.stat().st_mtime == 1_000_000_000.25
    assert (kept / "empty").is_dir()
    assert (tree.entries, tree.size, tree.left_out_count) == (3, 20, 0)


def test_what_is_copied_can_be_read_by_every_server_and_gives_no_powers(
    made: Path, kept: Path, copy: Copy
) -> None:
    (made / "tool").write_bytes(b"x")
    (made / "tool").chmod(0o6710)
    (made / "key").write_bytes(b"x")
    (made / "key").chmod(0o200)
    (made / "box").mkdir(mode=0o755)
    (made / "box").chmod(0o3555)

    copy()

    assert stat.S_IMODE((kept / "tool").stat().st_mode) == 0o755
    assert stat.S_IMODE((kept / "key").stat().st_mode) == 0o644
    assert stat.S_IMODE((kept / "box").stat().st_mode) == 0o755


def test_everything_is_given_to_its_owner(made: Path, kept: Path, copy: Copy) -> None:
    (made / "folder").mkdir()
    (made / "folder" / "file").touch()
    (made / "link").symlink_to("folder")
    owner = 4321 if os.geteuid() == 0 else os.geteuid()

    copy(owner=owner)

    everything = [kept, *kept.rglob("*")]
    assert len(everything) == 4
    assert {path.lstat().st_uid for path in everything} == {owner}


def test_hard_links_stay_one_file_and_are_counted_once(made: Path, kept: Path, copy: Copy) -> None:
    (made / "a").mkdir()
    (made / "a" / "one").write_bytes(b"x" * 1000)
    for number in range(50):
        os.link(made / "a" / "one", made / f"{number}")

    tree = copy(size=1000)

    assert tree.size == 1000
    assert (kept / "49").stat().st_nlink == 51
    assert (kept / "49").samefile(kept / "a" / "one")


def test_names_that_are_no_text_are_kept(made: Path, kept: Path, copy: Copy) -> None:
    for name in (b"\xff\xfe", b"new\nline", b"\x1b[31m", "ü".encode()):
        Path(os.fsdecode(bytes(made) + b"/" + name)).write_bytes(name)
    os.mkfifo(bytes(made) + b"/\xffpipe")

    tree = copy()

    assert sorted(os.listdir(bytes(kept))) == sorted([b"\xff\xfe", b"new\nline", b"\x1b[31m", "ü".encode()])
    assert tree.left_out == ("\\xffpipe is a FIFO",)


def test_what_is_no_file_is_left_out_without_waiting_for_it(made: Path, kept: Path, copy: Copy) -> None:
    os.mkfifo(made / "pipe")
    with closing(socket.socket(socket.AF_UNIX)) as listening:
        listening.bind(str(made / "socket"))
        tree = copy()

    assert os.listdir(kept) == []
    assert tree.left_out == ("pipe is a FIFO", "socket is a socket")


@pytest.mark.parametrize(
    ("points", "depth", "stay"),
    [
        ("server.js", 0, True),
        ("./a//b", 0, True),
        ("../pkg/cli.js", 1, True),
        ("../../pkg", 2, True),
        ("..", 1, True),
        ("nowhere", 0, True),
        ("/usr/bin/python3", 3, True),
        ("/opt/python/bin/python3", 0, True),
        (f"{ROOT}/venv/bin/python", 0, True),
        (ROOT, 0, True),
        ("", 0, False),
        ("..", 0, False),
        ("../../pkg", 1, False),
        ("a/../../b", 1, False),
        ("a/..", 5, False),
        ("../a/..", 1, False),
        ("/etc/passwd", 0, False),
        ("/usrlocal", 0, False),
        ("/usr/../etc/passwd", 0, False),
        (f"{ROOT}/../other", 0, False),
        (f"{ROOT}-other/x", 0, False),
        ("/", 0, False),
        ("/proc/self/root", 0, False),
    ],
)
def test_a_link_is_kept_only_if_it_cannot_lead_out(points: str, depth: int, stay: bool) -> None:
    assert stays(points, depth, ROOT, ("/usr", "/opt/python")) is stay


def test_links_are_copied_as_links_and_never_followed(made: Path, kept: Path, copy: Copy) -> None:
    secret = made.parent / "secret"
    secret.mkdir()
    (secret / "key").write_text("private")
    (made / "sub").mkdir()
    (made / "sub" / "near").symlink_to("../file")
    (made / "python").symlink_to("/usr/bin/python3")
    (made / "far").symlink_to(secret)
    (made / "sub" / "up").symlink_to("../../secret")
    (made / "file").write_text("content")

    tree = copy()

    assert sorted(str(path.relative_to(kept)) for path in kept.rglob("*")) == [
        "file",
        "python",
        "sub",
        "sub/near",
    ]
    assert os.readlink(kept / "sub" / "near") == "../file"
    assert tree.left_out_count == 2
    assert all("is a link that leads out" in line for line in tree.left_out)


def test_a_chain_of_links_that_each_look_harmless_leads_nowhere(made: Path, kept: Path, copy: Copy) -> None:
    (made / "p" / "q").mkdir(parents=True)
    (made / "p" / "q" / "root").symlink_to("../..")
    (made / "p" / "q" / "out").symlink_to("root/../secret")
    (made / "p" / "q" / "in").symlink_to("root/p")

    copy()

    assert sorted(os.listdir(kept / "p" / "q")) == ["in", "root"]
    for link in ("in", "root"):
        assert (kept / "p" / "q" / link).resolve().is_relative_to(kept)


def test_a_file_with_holes_counts_as_what_it_reads(made: Path, copy: Copy) -> None:
    with (made / "huge").open("wb") as file:
        file.truncate(1 << 40)

    with pytest.raises(InstallError, match="larger than 1 MiB"):
        copy()


def test_small_files_together_are_bounded_too(made: Path, copy: Copy) -> None:
    for number in range(5):
        (made / f"{number}").write_bytes(b"x" * (MIB // 4))

    with pytest.raises(InstallError, match="larger than 1 MiB"):
        copy()


def test_a_folder_of_very_many_is_not_listed_to_its_end(made: Path, copy: Copy) -> None:
    for number in range(30):
        (made / f"{number}").touch()

    with pytest.raises(InstallError, match="more than 20 files"):
        copy(entries=20)
    assert copy(entries=30).entries == 30


def test_folders_are_followed_to_a_depth(made: Path, copy: Copy) -> None:
    path = made
    for _ in range(MOST_DEPTH + 3):
        path /= "d"
        path.mkdir()

    tree = copy()

    assert tree.entries == MOST_DEPTH + 1
    assert tree.left_out_count == 1
    assert f"lies deeper than {MOST_DEPTH} folders" in tree.left_out[0]


def test_a_target_that_cannot_be_written_is_told(made: Path, kept: Path, copy: Copy) -> None:
    (made / "file").write_text("x")
    (kept / "file").write_text("in the way")

    with pytest.raises(InstallError, match="cannot be kept"):
        copy()


def test_copying_can_be_cancelled(made: Path, copy: Copy) -> None:
    (made / "file").write_text("x")

    def cancel() -> None:
        raise CancelledError("no longer wanted")

    with pytest.raises(CancelledError):
        copy(cancelled=cancel)


@pytest.mark.parametrize(
    ("change", "same"),
    [
        (lambda made: os.utime(made / "file", (5, 5)), True),
        (lambda made: (made / "file").write_text("other"), False),
        (lambda made: (made / "file").chmod(0o700), False),
        (lambda made: (made / "file").rename(made / "renamed"), False),
        (lambda made: (made / "more").touch(), False),
        (lambda made: (made / "more").mkdir(), False),
        (lambda made: (made / "link").symlink_to("file"), False),
    ],
    ids=["time", "content", "mode", "name", "file", "folder", "link"],
)
def test_the_digest_is_of_all_that_counts(
    made: Path, kept: Path, copy: Copy, change: Callable[[Path], object], same: bool
) -> None:
    (made / "file").write_text("content")
    before = copy().digest
    (kept / "file").unlink()

    change(made)

    assert (copy().digest == before) is same
