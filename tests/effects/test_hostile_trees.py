"""Trees made to lead their reader astray: nothing outside is read, nothing hangs, nothing passes for unchanged."""

from __future__ import annotations

import errno
import mmap
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.effects import FileDiffer, trees
from sandbox.effects.nodes import own_xattrs
from sandbox.evidence.content import ITEM_CAP, ContentStore
from sandbox.linux.beneath import open_beneath, open_folder, open_regular, read_up_to
from sandbox.model import ChangeKind, FileChange, digest_of


class Tree:
    """A folder taken for an upper layer, with an optional lower one."""

    def __init__(self, upper: Path, lower: Path | None = None) -> None:
        self.path = upper
        self.prefix = "/box"
        self.lower = None if lower is None else str(lower)
        self.upper = os.open(upper, os.O_RDONLY | os.O_DIRECTORY)
        self.content = ContentStore()
        self.differ = FileDiffer([self], self.content)
        self.differ.baseline()

    def scan(self, rehash: tuple[str, ...] = ()) -> list[tuple[ChangeKind, str]]:
        return [(change.kind, change.path) for change in self.differ.scan(rehash)]

    def close(self) -> None:
        self.differ.close()
        os.close(self.upper)


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Callable[..., Tree]]:
    made: list[Tree] = []

    def make(lower: Path | None = None) -> Tree:
        (tmp_path / "upper").mkdir(exist_ok=True)
        made.append(Tree(tmp_path / "upper", lower))
        return made[-1]

    yield make
    for one in made:
        one.close()


C, M, D, V = ChangeKind.CREATED, ChangeKind.MODIFIED, ChangeKind.DELETED, ChangeKind.MOVED


def test_a_link_to_a_secret_is_told_and_never_followed(tree: Callable[..., Tree], tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("host secret")
    box = tree()
    os.symlink(tmp_path / "secret", box.path / "sly")
    os.symlink(tmp_path, box.path / "slyfolder")
    assert box.scan() == [(C, "/box/sly"), (C, "/box/slyfolder")]
    assert box.content.get(digest_of(b"host secret")) is None


def test_a_link_in_the_lower_tree_is_not_followed_either(tree: Callable[..., Tree], tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "x").write_text("host secret")
    (tmp_path / "lower").mkdir()
    os.symlink(tmp_path / "outside", tmp_path / "lower" / "d")
    box = tree(tmp_path / "lower")
    (box.path / "d").mkdir()
    (box.path / "d" / "x").write_text("mine")
    assert (C, "/box/d/x") in box.scan()
    assert box.content.get(digest_of(b"host secret")) is None


def test_strange_names_are_carried_through(tree: Callable[..., Tree]) -> None:
    box = tree()
    for name in (b"two\nlines", b"not\xffutf8", b"\x1b[2J", b"-rf", b" "):
        Path(os.fsdecode(bytes(box.path) + b"/" + name)).write_text("x")
    told = {os.fsencode(path) for _, path in box.scan()}
    assert told == {b"/box/" + name for name in (b"two\nlines", b"not\xffutf8", b"\x1b[2J", b"-rf", b" ")}


def test_fifos_and_whiteouts_of_nothing_never_block(tree: Callable[..., Tree]) -> None:
    box = tree()
    os.mkfifo(box.path / "pipe")
    assert box.scan() == [(C, "/box/pipe")]
    assert box.scan() == []


def test_a_seeded_file_under_a_whiteout_is_gone(tree: Callable[..., Tree], tmp_path: Path) -> None:
    (tmp_path / "upper").mkdir()
    (tmp_path / "upper" / "a").write_text("a")
    box = tree()
    (box.path / "a").unlink()
    os.mknod(box.path / "a", stat.S_IFCHR, os.makedev(0, 0))
    assert box.scan() == [(D, "/box/a")]
    (box.path / "a").unlink()
    assert box.scan() == []


def test_a_folder_that_the_kernel_redirected_has_moved(tree: Callable[..., Tree], tmp_path: Path) -> None:
    (tmp_path / "lower" / "old" / "in").mkdir(parents=True)
    (tmp_path / "lower" / "old" / "f").write_text("f")
    (tmp_path / "lower" / "old" / "in" / "g").write_text("g")
    box = tree(tmp_path / "lower")
    os.mknod(box.path / "old", stat.S_IFCHR, os.makedev(0, 0))
    (box.path / "new").mkdir()
    os.setxattr(box.path / "new", "user.overlay.redirect", b"/old")
    (box.path / "new" / "f").write_text("changed")
    assert box.scan() == [(V, "/box/new"), (M, "/box/new/f")]
    os.mknod(box.path / "new" / "in", stat.S_IFCHR, os.makedev(0, 0))
    assert box.scan() == [(D, "/box/new/in")]


def test_the_overlays_own_marks_are_no_attributes_of_the_server(tmp_path: Path) -> None:
    os.setxattr(tmp_path, "user.overlay.opaque", b"y")
    os.setxattr(tmp_path, "user.colour", b"red")
    opened = os.open(tmp_path, os.O_RDONLY)
    assert [name for name, _ in own_xattrs(opened)] == ["user.colour"]
    os.close(opened)


def test_a_deep_nest_is_told_and_not_followed_to_its_end(tree: Callable[..., Tree]) -> None:
    box = tree()
    (box.path / "/".join(["d"] * 300)).mkdir(parents=True)
    told = box.scan()
    assert told[0] == (C, "/box/d")
    assert len(told) == 101
    assert box.scan() == []
    assert not box.differ.complete


def test_a_nest_that_ends_where_the_look_ends_is_complete(tree: Callable[..., Tree]) -> None:
    box = tree()
    (box.path / "/".join(["d"] * 101)).mkdir(parents=True)
    assert len(box.scan()) == 101
    assert box.differ.complete


def test_a_folder_that_may_not_be_listed_is_never_unchanged(
    tree: Callable[..., Tree], monkeypatch: pytest.MonkeyPatch
) -> None:
    box = tree()
    (box.path / "closed").mkdir()
    (box.path / "closed" / "a").touch()
    box.scan()
    real = trees.open_folder

    def refused(folder: int, path: str, *, cross_devices: bool = False) -> int:
        if path == "closed":
            raise PermissionError(errno.EACCES, "not ours to list", path)
        return real(folder, path, cross_devices=cross_devices)

    monkeypatch.setattr(trees, "open_folder", refused)
    (box.path / "closed" / "a").unlink()
    assert box.scan() == []
    assert not box.differ.complete


def test_a_file_that_is_swapped_all_the_time_is_never_unchanged(
    tree: Callable[..., Tree], tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("host secret")
    (tmp_path / "upper").mkdir()
    (tmp_path / "upper" / "a").write_text("a")
    box = tree()
    done = threading.Event()

    def swap() -> None:
        while not done.is_set():
            os.symlink(tmp_path / "secret", box.path / "link")
            os.rename(box.path / "link", box.path / "a")
            (box.path / "file").write_text(str(time.time_ns()))
            os.rename(box.path / "file", box.path / "a")

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        seen: list[FileChange] = []
        looks, deadline = 0, time.monotonic() + 30
        # A hundred looks may be over before the other thread runs at all.
        while looks < 100 or (not seen and time.monotonic() < deadline):
            seen += box.differ.scan()
            looks += 1
    finally:
        done.set()
        swapper.join()
    assert any(change.path == "/box/a" for change in seen)
    assert box.content.get(digest_of(b"host secret")) is None


def test_stores_into_a_mapping_that_stays_open_are_found_by_reading_again(tree: Callable[..., Tree]) -> None:
    box = tree()
    (box.path / "m").write_bytes(bytes(4096))
    with (box.path / "m").open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapping:
        mapping[0:3] = b"one"
        assert box.scan(("/box/m",)) == [(C, "/box/m")]
        old = os.stat(box.path / "m")
        mapping[0:3] = b"two"
        os.utime(box.path / "m", ns=(old.st_atime_ns, old.st_mtime_ns))
        assert box.scan(("/box/m",)) == [(M, "/box/m")]
        assert box.scan(("/box/m",)) == []


def test_a_write_in_the_same_tick_as_the_look_is_found_at_the_next(tmp_path: Path) -> None:
    (tmp_path / "upper").mkdir()
    (tmp_path / "upper" / "a").write_text("a")
    box = Tree(tmp_path / "upper")
    hasty = FileDiffer([box], box.content, tick_ns=10**15)
    hasty.baseline()
    node = hasty.after("/box/a")
    assert node is not None
    assert node.racy
    patient = FileDiffer([box], box.content, tick_ns=-(10**12))
    patient.baseline()
    settled = patient.after("/box/a")
    assert settled is not None
    assert not settled.racy
    for differ in (hasty, patient):
        differ.close()
    box.close()


def test_too_many_entries_are_said_to_be_incomplete(
    tree: Callable[..., Tree], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.effects.trees.MAX_ENTRIES", 10)
    box = tree()
    for number in range(20):
        (box.path / str(number)).touch()
    assert len(box.scan()) == 10
    assert not box.differ.complete


def test_large_files_are_told_apart_without_being_kept(tree: Callable[..., Tree]) -> None:
    box = tree()
    with (box.path / "big").open("wb") as file:
        file.truncate(ITEM_CAP + 5000)
    assert box.scan() == [(C, "/box/big")]
    with (box.path / "big").open("r+b") as file:
        file.write(bytes(100))
    assert box.scan() == []
    with (box.path / "big").open("r+b") as file:
        file.seek(ITEM_CAP)
        file.write(b"x")
    assert box.scan() == [(M, "/box/big")]


# --- opening beneath ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["link", "link/x", "..", "../other", "/etc/passwd", "a/../../other", "fifo", "nul\0"]
)
def test_nothing_leads_out_of_the_folder(tmp_path: Path, path: str) -> None:
    (tmp_path / "root" / "a").mkdir(parents=True)
    (tmp_path / "other").write_text("o")
    os.symlink(tmp_path, tmp_path / "root" / "link")
    os.mkfifo(tmp_path / "root" / "fifo")
    root = os.open(tmp_path / "root", os.O_RDONLY)
    with pytest.raises(OSError):  # noqa: PT011 - ELOOP, EXDEV or EINVAL, by the way out that was tried
        open_regular(root, path)
    os.close(root)


def test_a_file_beneath_is_read_up_to_its_cap_and_mount_points_are_not_crossed(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").write_text("content")
    root = os.open(tmp_path, os.O_RDONLY)
    opened, facts = open_regular(root, "d/f")
    assert (read_up_to(opened, 4), facts.st_size) == (b"cont", 7)
    os.close(opened)
    os.close(open_folder(root, "d"))
    os.close(root)
    slash = os.open("/", os.O_RDONLY)
    with pytest.raises(OSError, match=r"[Cc]ross-device"):
        open_beneath(slash, "proc/self")
    os.close(open_beneath(slash, "proc/uptime", cross_devices=True))
    os.close(slash)


# --- content ------------------------------------------------------------------------------------


def test_content_beyond_memory_is_spilled_and_still_found(tmp_path: Path) -> None:
    store = ContentStore(tmp_path / "content", memory=1000)
    digests = [store.put(bytes([n]) * 400) for n in range(10)]
    assert [store.get(digest) for digest in digests] == [bytes([n]) * 400 for n in range(10)]
    assert 0 < len(list((tmp_path / "content").iterdir())) < 10
    forgetful = ContentStore(memory=1000)
    first = forgetful.put(b"a" * 900)
    forgetful.put(b"b" * 900)
    assert forgetful.get(first) is None


def test_saved_content_outlives_the_store_and_damage_is_not_returned(tmp_path: Path) -> None:
    store = ContentStore(tmp_path)
    digest = store.put(b"evidence")
    store.save([digest, "unknown"])
    store.close()
    assert ContentStore(tmp_path).get(digest) == b"evidence"
    (tmp_path / digest).write_bytes(b"tampered")
    assert ContentStore(tmp_path).get(digest) is None
    assert ContentStore(tmp_path).get("../../etc/passwd") is None


def test_the_disk_share_of_a_run_is_bounded(tmp_path: Path) -> None:
    store = ContentStore(tmp_path, memory=0, disk=1000)
    kept: list[Any] = [store.get(store.put(bytes([n]) * 400)) for n in range(5)]
    assert [content is not None for content in kept] == [True, True, False, False, False]


@pytest.mark.parametrize("refused", ["open_folder", "os.scandir"])
def test_a_folder_that_the_engine_has_no_descriptor_for_is_not_taken_for_gone(
    tree: Callable[..., Tree], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    deep = tmp_path / "upper" / "folder" / "deep"
    deep.mkdir(parents=True)
    (deep / "file").write_text("kept")
    seen = tree()
    full: list[object] = []

    def refuse(*_: object) -> int:
        full.append(1)
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    module, _, name = f"sandbox.effects.trees.{refused}".rpartition(".")
    before = trees.open_folder if name == "open_folder" else os.scandir
    monkeypatch.setattr(f"{module}.{name}", lambda *which: refuse() if _is_deep(*which) else before(*which))
    (deep / "file").write_text("changed")

    assert seen.scan() == []
    assert full
    assert not seen.differ.complete


def _is_deep(folder: int, name: str = "") -> bool:
    return name == "deep" or os.readlink(f"/proc/self/fd/{folder}").endswith("/deep")
