"""A tree that has come to rest is watched through held folders: no change in it goes unseen, and what is held
is bounded."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox.effects.differ import TICK_NS, FileDiffer
from sandbox.effects.watch import MAX_HELD
from sandbox.evidence.content import ContentStore
from sandbox.model import ChangeKind

Act = Callable[[Path], object]


@dataclass(frozen=True)
class PlainLayer:
    """A folder as the upper of a layer with nothing beneath it."""

    prefix: str
    lower: None
    upper: int


@pytest.fixture
def tree(memory: Path) -> Iterator[Path]:
    """A small tree with two folders, a link and files in each of them."""
    root = memory / "tree"
    for folder in ("left/deep", "right"):
        (root / folder).mkdir(parents=True)
        (root / folder / "one.txt").write_text("one")
    (root / "two.txt").write_text("two")
    (root / "link").symlink_to("two.txt")
    return root


@pytest.fixture
def differ(tree: Path) -> Iterator[FileDiffer]:
    """A differ that has looked at the tree at rest, twice."""
    upper = os.open(tree, os.O_RDONLY | os.O_DIRECTORY)
    made = FileDiffer([PlainLayer("/box", None, upper)], ContentStore())
    deadline = time.time_ns() + 2 * TICK_NS
    while time.time_ns() < deadline:
        os.sched_yield()
    made.baseline()
    assert made.scan() == []
    yield made
    made.close()
    os.close(upper)


def held(tree: Path) -> list[str]:
    """The folders of the tree that this process holds open."""
    links = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        except FileNotFoundError:
            continue
    return [link for link in links if link.startswith(f"{tree}/")]


def swap(tree: Path) -> None:
    (tree / "left").rename(tree / "aside")
    (tree / "right").rename(tree / "left")
    (tree / "aside").rename(tree / "right")


def rewrite_with_old_times(tree: Path) -> None:
    facts = (tree / "two.txt").stat()
    (tree / "two.txt").write_text("TWO")
    os.utime(tree / "two.txt", ns=(facts.st_atime_ns, facts.st_mtime_ns))


def point_elsewhere(tree: Path) -> None:
    (tree / "link").unlink()
    (tree / "link").symlink_to("left")


@pytest.mark.parametrize(
    ("act", "kind", "path"),
    [
        (lambda t: (t / "two.txt").write_text("2"), ChangeKind.MODIFIED, "/box/two.txt"),
        (rewrite_with_old_times, ChangeKind.MODIFIED, "/box/two.txt"),
        (
            lambda t: (t / "left/deep/one.txt").write_text("eno"),
            ChangeKind.MODIFIED,
            "/box/left/deep/one.txt",
        ),
        (lambda t: (t / "left/deep/new").mkdir(), ChangeKind.CREATED, "/box/left/deep/new"),
        (lambda t: (t / "right/one.txt").unlink(), ChangeKind.DELETED, "/box/right/one.txt"),
        (lambda t: (t / "left/deep").chmod(0o700), ChangeKind.METADATA, "/box/left/deep"),
        (lambda t: (t / "two.txt").chmod(0o600), ChangeKind.METADATA, "/box/two.txt"),
        (point_elsewhere, ChangeKind.MODIFIED, "/box/link"),
        (lambda t: (t / "two.txt").rename(t / "right/two.txt"), ChangeKind.MOVED, "/box/right/two.txt"),
        (swap, ChangeKind.MOVED, "/box/right/deep"),
    ],
)
def test_a_change_in_a_tree_at_rest_is_seen(
    tree: Path, differ: FileDiffer, act: Act, kind: ChangeKind, path: str
) -> None:
    act(tree)
    changes = {change.path: change.kind for change in differ.scan()}
    assert changes.get(path) == kind, changes
    assert differ.scan() == []


def test_a_change_after_many_quiet_looks_is_told_once(tree: Path, differ: FileDiffer) -> None:
    for _ in range(5):
        assert differ.scan() == []
    (tree / "right/three.txt").write_text("three")
    assert [change.path for change in differ.scan()] == ["/box/right/three.txt"]
    assert differ.scan() == []


def test_the_folders_at_rest_are_held_and_released(tree: Path, differ: FileDiffer) -> None:
    assert sorted(held(tree)) == [f"{tree}/left", f"{tree}/left/deep", f"{tree}/right"]
    differ.close()
    assert held(tree) == []


def test_a_tree_of_many_folders_takes_no_descriptors(tree: Path, differ: FileDiffer) -> None:
    for number in range(MAX_HELD + 1):
        (tree / f"folder-{number}").mkdir()
    assert len(differ.scan()) == MAX_HELD + 1
    assert held(tree) == []
    (tree / "folder-7/file").write_text("7")
    assert [change.path for change in differ.scan()] == ["/box/folder-7/file"]
