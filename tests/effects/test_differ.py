"""Every case of the table, done by a program inside a real overlay and looked at from outside."""

from __future__ import annotations

import mmap
import os
import shutil
import socket
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.effects.cases import CASES, Case
from sandbox.effects.differ import FileDiffer
from sandbox.evidence.content import ContentStore
from sandbox.model import ChangeKind, FileChange

TEN_GB = 10 << 30
Act = Callable[[Path], None]


def furnish(root: Path) -> None:
    """What stands there before each case."""
    (root / "a.txt").write_text("one\ntwo\n")
    (root / "b.txt").write_text("bee\n")
    (root / "empty").write_text("")
    (root / "secret").write_text("locked\n")
    (root / "secret").chmod(0)
    os.symlink("a.txt", root / "link")
    (root / "hollow").mkdir()
    (root / "tree" / "deep").mkdir(parents=True)
    (root / "tree" / "x").write_text("x")
    (root / "tree" / "deep" / "y").write_text("yy")
    (root / "pair").mkdir()
    (root / "pair" / "p").write_text("pp")
    (root / "pair" / "q").write_text("qq")
    (root / "marked").write_text("m")
    os.setxattr(root / "marked", "user.colour", b"red")
    (root / "linked").write_text("linked\n")
    os.link(root / "linked", root / "linked2")
    with (root / "huge").open("wb") as file:
        file.truncate(TEN_GB)
    for path in [root, *root.rglob("*")]:
        if not path.is_symlink():
            os.utime(path, (1_700_000_000, 1_700_000_000))


def rewrite_with_old_mtime(root: Path) -> None:
    old = (root / "a.txt").stat()
    (root / "a.txt").write_text("ONE\ntwo\n")
    os.utime(root / "a.txt", ns=(old.st_atime_ns, old.st_mtime_ns))


def replace_by_rename(root: Path) -> None:
    (root / ".a.swp").write_text("rewritten\n")
    (root / ".a.swp").rename(root / "a.txt")


def store_through_mapping(root: Path) -> None:
    with (root / "a.txt").open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
        mapping[0:3] = b"ONE"


def write_block(root: Path) -> None:
    with (root / "huge").open("r+b") as file:
        file.seek(TEN_GB // 2)
        file.write(b"here")


def write_locked(root: Path) -> None:
    (root / "secret").chmod(0o600)
    (root / "secret").write_text("other text\n")
    (root / "secret").chmod(0)


def make_socket(root: Path) -> None:
    here = os.getcwd()
    os.chdir(root)  # the path of a unix socket is at most 107 bytes
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("s")
    os.chdir(here)


def remake_with_a_name(root: Path) -> None:
    shutil.rmtree(root / "pair")
    (root / "pair").mkdir()
    (root / "pair" / "p").write_text("other")


def remake_empty(root: Path) -> None:
    shutil.rmtree(root / "tree")
    (root / "tree").mkdir()


def copy_and_remove(root: Path) -> None:
    shutil.copytree(root / "pair", root / "couple")
    shutil.rmtree(root / "pair")


def move_and_change(root: Path) -> None:
    (root / "pair").rename(root / "couple")
    (root / "couple" / "p").write_text("changed")


def file_to_folder(root: Path) -> None:
    (root / "a.txt").unlink()
    (root / "a.txt").mkdir()
    (root / "a.txt" / "inner").write_text("i")


def folder_to_file(root: Path) -> None:
    shutil.rmtree(root / "tree")
    (root / "tree").write_text("no tree")


def to_symlink(root: Path) -> None:
    (root / "a.txt").unlink()
    os.symlink("b.txt", root / "a.txt")


def retarget(root: Path) -> None:
    (root / "link").unlink()
    os.symlink("b.txt", root / "link")


def chown_unmapped(root: Path) -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        os.chown(root / "a.txt", 12345, -1)


def forge_mark(root: Path) -> None:
    os.setxattr(root / "tree", "user.overlay.opaque", b"y")


def make_whiteout(root: Path) -> None:
    with pytest.raises(PermissionError):
        os.mknod(root / "b.txt.dev", stat.S_IFCHR | 0o600, os.makedev(0, 0))


def write_and_restore(root: Path) -> None:
    (root / "a.txt").write_text("gone for a moment")
    (root / "a.txt").write_text("one\ntwo\n")


def create_and_delete(root: Path) -> None:
    (root / "brief").write_text("brief")
    (root / "brief").unlink()


def away_and_back(root: Path) -> None:
    (root / "a.txt").rename(root / "elsewhere")
    (root / "elsewhere").rename(root / "a.txt")


def open_only(root: Path) -> None:
    with (root / "a.txt").open("r+"):
        pass


def make_folder(root: Path) -> None:
    (root / "new").mkdir()
    (root / "new" / "1").write_text("1")
    (root / "new" / "2").write_text("2")


def moved_then_changed(root: Path) -> None:
    (root / "a.txt").rename(root / "moved.txt")
    with (root / "moved.txt").open("a") as file:
        file.write("three\n")


def make_huge(root: Path) -> None:
    with (root / "huger").open("wb") as file:
        file.truncate(TEN_GB)


def append(root: Path) -> None:
    with (root / "a.txt").open("a") as file:
        file.write("three\n")


@dataclass(frozen=True)
class Done:
    """How a case is done: the act, and over which kinds of ground (``seeded``: the upper, ``old``: the lower)."""

    act: Act
    grounds: tuple[str, ...] = ("seeded", "old")


ACTS: dict[str, Done] = {
    "a file is created": Done(lambda r: void((r / "new.txt").write_text("new\n"))),
    "an empty file is created": Done(lambda r: (r / "new.txt").touch()),
    "a folder with files is created": Done(make_folder),
    "a file is created in HOME": Done(lambda r: void((r / ".rc").write_text("alias"))),
    "a file is created in a plain tmpfs such as /dev/shm": Done(
        lambda r: void((r.parent / "shm" / "seg").write_text("s"))
    ),
    "a fifo is created": Done(lambda r: os.mkfifo(r / "pipe")),
    "a unix socket is created": Done(make_socket),
    "a symlink is created": Done(lambda r: os.symlink("/etc/passwd", r / "sly")),
    "a symlink is retargeted": Done(retarget),
    "a file is written": Done(lambda r: void((r / "a.txt").write_text("other\n"))),
    "a file is appended to": Done(append),
    "a file is truncated to nothing": Done(lambda r: os.truncate(r / "a.txt", 0)),
    "a file is replaced by rename, the editor's way": Done(replace_by_rename),
    "a file is rewritten with equal size and its old mtime": Done(rewrite_with_old_mtime),
    "a file is written through a shared mapping": Done(store_through_mapping),
    "a file is written through one of its hard links": Done(
        lambda r: void((r / "linked").write_text("both\n")), ("seeded",)
    ),
    "a hard link is created": Done(lambda r: os.link(r / "a.txt", r / "a2.txt")),
    "a sparse file of 10 GB is created": Done(make_huge),
    "a block in a sparse file of 10 GB is written": Done(write_block, ("seeded",)),
    "a file that the engine may not read is written": Done(write_locked, ("seeded",)),
    "a file is deleted": Done(lambda r: (r / "a.txt").unlink()),
    "a folder tree is deleted": Done(lambda r: shutil.rmtree(r / "tree")),
    "a folder is emptied and made again": Done(remake_empty, ("old",)),
    "a folder is deleted and made again with one of its names": Done(remake_with_a_name),
    "an empty folder is deleted": Done(lambda r: (r / "hollow").rmdir()),
    "a file is moved": Done(lambda r: void((r / "a.txt").rename(r / "moved.txt"))),
    "a file is moved over an existing one": Done(lambda r: void((r / "a.txt").rename(r / "b.txt"))),
    "a file is moved and then changed": Done(moved_then_changed, ("seeded",)),
    "a seeded folder is moved": Done(lambda r: void((r / "pair").rename(r / "couple")), ("seeded",)),
    "an old folder is moved by copying": Done(copy_and_remove, ("old",)),
    "a file in a moved folder is changed": Done(move_and_change, ("seeded",)),
    "a file is replaced by a folder": Done(file_to_folder),
    "a folder is replaced by a file": Done(folder_to_file),
    "a file is replaced by a symlink": Done(to_symlink),
    "permission bits are changed": Done(lambda r: (r / "a.txt").chmod(0o600)),
    "permission bits of a folder are changed": Done(lambda r: (r / "pair").chmod(0o700)),
    "an attribute is set": Done(lambda r: os.setxattr(r / "a.txt", "user.colour", b"blue")),
    "an attribute is removed": Done(lambda r: os.removexattr(r / "marked", "user.colour")),
    "a file is chowned to an unmapped user": Done(chown_unmapped),
    "an attribute of the overlay's own is set by the server": Done(forge_mark),
    "a character device is made": Done(make_whiteout),
    "a file is opened for writing and left alone": Done(open_only),
    "only the times of a file are changed": Done(lambda r: os.utime(r / "a.txt")),
    "a file is written and restored": Done(write_and_restore),
    "a file is created and deleted": Done(create_and_delete),
    "a file is moved away and back": Done(away_and_back),
    "a file is read": Done(lambda r: void((r / "a.txt").read_text())),
}


def void(_: object) -> None:
    return None


def look_at(overlay: Any) -> tuple[list[FileChange], FileDiffer]:
    differ = FileDiffer(overlay.layers, ContentStore())
    differ.baseline()
    overlay.act()
    changes = differ.scan()
    differ.close()
    return changes, differ


def grounds() -> list[tuple[Case, str]]:
    return [(case, ground) for case in CASES for ground in ACTS[case.name].grounds]


@pytest.mark.parametrize(("case", "ground"), grounds(), ids=lambda v: v if isinstance(v, str) else v.name)
def test_each_case_is_told_as_the_table_says(case: Case, ground: str, overlays: Callable[..., Any]) -> None:
    where = {"seed": furnish} if ground == "seeded" else {"lower": furnish}
    changes, _ = look_at(overlays(**where, acts=[ACTS[case.name].act]))
    assert tuple(change.kind for change in changes) == case.tells, changes
    if changes:
        assert case.says in changes[0].note


def test_the_table_and_its_tests_cover_each_other_and_every_kind() -> None:
    assert set(ACTS) == {case.name for case in CASES}
    assert {kind for case in CASES for kind in case.tells} == set(ChangeKind)
