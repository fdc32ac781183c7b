"""What changed in the files of a box between two looks at the upper layers of its overlays.

The upper layer *is* the change set (overlayfs.rst): a look costs one stat per entry of the upper, whatever
the size of the lower tree, and reads only what changed. Where nothing did, held folders say so without a
listing (:mod:`sandbox.effects.watch`). Every case that is told apart is listed in
:mod:`sandbox.effects.cases`.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sandbox.effects.moves import find_moves, move_folders
from sandbox.effects.nodes import Node
from sandbox.effects.trees import LayerLike, LowerTree, View, Walk
from sandbox.effects.watch import Watch
from sandbox.evidence.content import ContentStore
from sandbox.model import ChangeKind, FileChange

TICK_NS = 10_000_000
"""Kernels before 6.13 stamp files with the time of the last timer tick, up to 10 ms old: a file whose change
time is that close to the look is read once more at the next one."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One path that is not as it was: the node before (None: nothing stood there) and after."""

    path: str
    before: Node | None
    after: Node | None


@dataclass(slots=True)
class _Layer:
    base: str
    upper: int
    lower: LowerTree
    skip: frozenset[str]
    nodes: dict[str, Node] = field(default_factory=dict)
    watch: Watch = field(default_factory=Watch)


class FileDiffer:
    """Looks at the layers of one box; each look tells what changed since the look before.

    ``keep`` receives the content of every file of the upper, so that it is there when the file is lost. The
    descriptors of the layers stay their owner's.
    """

    def __init__(self, layers: Sequence[LayerLike], keep: ContentStore, *, tick_ns: int = TICK_NS) -> None:
        bases = [layer.prefix.rstrip("/") for layer in layers]
        self._keep = keep
        self._tick_ns = tick_ns
        self._layers = [
            _Layer(base, layer.upper, LowerTree(layer.lower, keep), frozenset(bases) - {base})
            for base, layer in zip(bases, layers, strict=True)
        ]
        self._views: list[tuple[View, View]] = []
        self.complete = True
        self.touched: frozenset[str] = frozenset()

    def close(self) -> None:
        """Release the lower trees and the folders that are held."""
        for layer in self._layers:
            layer.lower.close()
            layer.watch.close()

    def baseline(self) -> None:
        """Take the layers as they stand: nothing of it is a change."""
        for layer in self._layers:
            layer.nodes = self._walk(layer, frozenset())
        self._views = [(view, view) for view in map(_view, self._layers)]

    def scan(self, rehash: Collection[str] = ()) -> list[FileChange]:
        """What changed since the last look, sorted by path.

        ``rehash`` names files (absolute in the box) to read whatever their times say: a store into a shared
        mapping of a tmpfs file leaves no trace in its times. ``touched`` then holds the paths that were
        written to or replaced with equal content, and ``complete`` turns False for good once a layer held
        more, or deeper, than is looked at.
        """
        again = frozenset(rehash)
        differences: list[Difference] = []
        moves: dict[str, str] = {}
        self._views = []
        for layer in self._layers:
            if layer.nodes.keys().isdisjoint(again) and layer.watch.sees_no_change():
                self._views.append((_view(layer), _view(layer)))
                continue
            old, layer.nodes = layer.nodes, self._walk(layer, again)
            before, after = View(layer.base, old, layer.lower), _view(layer)
            moved = move_folders(before, after) if old.keys() != layer.nodes.keys() else {}
            moves |= moved
            self._views.append((before, after))
            differences += _differences(before, after)
        if not differences:
            self.touched = frozenset()
            return []
        changes, self.touched = _Telling(self._views, differences, moves).changes()
        return sorted(changes, key=lambda change: change.path)

    def before(self, path: str) -> Node | None:
        """What stood at ``path`` at the look before the last one, its content read; None for nothing."""
        return self._view_of(path)[0].look(path, read=True)

    def after(self, path: str) -> Node | None:
        """What stood at ``path`` at the last look, its content read; None for nothing."""
        return self._view_of(path)[1].look(path, read=True)

    def below(self, path: str, *, after: bool, cap: int = 2000) -> Iterator[str]:
        """The paths beneath a directory, at the last look or at the one before it."""
        return self._view_of(path)[after].below(path, cap=cap)

    def paths(self) -> Iterator[str]:
        """Every path that the uppers held at the last look."""
        for layer in self._layers:
            yield from layer.nodes

    def _view_of(self, path: str) -> tuple[View, View]:
        return max(
            (pair for pair in self._views if path == pair[1].base or path.startswith(pair[1].base + "/")),
            key=lambda pair: len(pair[1].base),
            default=self._views[0],
        )

    def _walk(self, layer: _Layer, rehash: frozenset[str]) -> dict[str, Node]:
        newest = time.time_ns() - self._tick_ns
        walk = Walk(layer.nodes, self._keep, skip=layer.skip, rehash=rehash, newest_ns=newest)
        layer.watch.close()
        layer.watch = walk.watch
        nodes = walk.run(layer.upper, layer.base)
        self.complete = self.complete and walk.complete
        return nodes


def _view(layer: _Layer) -> View:
    return View(layer.base, layer.nodes, layer.lower)


def _differences(before: View, after: View) -> Iterator[Difference]:
    """Every path whose node differs, children of vanished folders included where the upper held them."""
    old, new = before.nodes, after.nodes
    for path, node in new.items():
        known = old.get(path)
        if known is node:
            continue
        yield Difference(path, before.look(path), after.look(path))
        if node.type == "directory" and node.lower is None:
            # Newly opaque: what showed through is gone unless the upper holds something of that name.
            for name in before.names(path) if before.lower_path(path) is not None else ():
                child = f"{path}/{name}"
                if child not in new:
                    yield Difference(child, before.look(child), None)
    for path, node in old.items():
        if path not in new and node.type != "whiteout":
            yield Difference(path, node, after.look(path))


class _Telling:
    """Turns differences into changes: pairs moves, folds trees into one change, compares content."""

    def __init__(
        self, views: list[tuple[View, View]], differences: Iterable[Difference], folder_moves: dict[str, str]
    ) -> None:
        self._views = views
        self._differences = {d.path: d for d in differences if not (d.before is None and d.after is None)}
        self._folder_moves = folder_moves
        self._touched: set[str] = set()

    def changes(self) -> tuple[list[FileChange], frozenset[str]]:
        told: list[FileChange] = []
        self._read_lower_sides()
        moves = find_moves(self._differences.values(), self._views)
        for destination, source in (self._folder_moves | moves.folders).items():
            told.append(self._moved_folder(source, destination))
        for destination, source in moves.files.items():
            told += self._moved_file(source, destination)
        handled = moves.absorbed | moves.files.keys() | set(moves.files.values())
        gone = {
            path
            for path, d in self._differences.items()
            if path not in handled
            and d.before is not None
            and d.before.type == "directory"
            and (d.after is None or d.after.type != "directory")
        }
        for path, difference in self._differences.items():
            if path in handled or path in moves.folders:
                continue
            if difference.after is None and is_beneath(path, gone):
                continue  # told with the tree
            if (change := self._tell(difference)) is not None:
                told.append(change)
        return told, frozenset(self._touched)

    def _read_lower_sides(self) -> None:
        """Digest the lower's side of every difference: it was only looked at so far."""
        for path, d in self._differences.items():
            if d.before is None or d.before.digest or d.before.type not in ("file", "symlink"):
                continue
            if d.before.readable and (read := self._look(path, after=False)) is not None:
                self._differences[path] = Difference(path, read, d.after)

    def _look(self, path: str, *, after: bool) -> Node | None:
        best: View | None = None
        for pair in self._views:
            view = pair[after]
            if path.startswith(view.base + "/") and (best is None or len(view.base) > len(best.base)):
                best = view
        return None if best is None else best.look(path, read=True)

    def _tell(self, d: Difference) -> FileChange | None:
        before, after = d.before, d.after
        if before is None:
            assert after is not None
            return _change(ChangeKind.CREATED, d, note=self._link_note(d.path, after))
        if after is None:
            count = self._count(d.path) if before.type == "directory" else 0
            return _change(ChangeKind.DELETED, d, note=_entries(count))
        if before.type != after.type:
            count = self._count(d.path) if before.type == "directory" else 0
            note = f"{before.type} replaced by {after.type}"
            return _change(ChangeKind.REPLACED, d, note=f"{note}, {_entries(count)}" if count else note)
        notes = _attribute_notes(before, after)
        if before.type in ("file", "symlink"):
            if not (before.readable and after.readable):
                return _unreadable(d, notes)
            if before.digest != after.digest:
                if after.links > 1 and after.type == "file":
                    notes.append("hard link")
                return _change(ChangeKind.MODIFIED, d, note=", ".join(notes))
            if before.key != after.key:
                self._note_touch(d.path, before, after)
        if notes:
            return _change(ChangeKind.METADATA, d, note=", ".join(notes))
        return None

    def _note_touch(self, path: str, before: Node, after: Node) -> None:
        """Equal content, other times: written to, or replaced. A copy-up keeps the time of the last write."""
        if before.mtime != after.mtime or before.inode == after.inode:
            self._touched.add(path)

    def _count(self, path: str) -> int:
        return sum(1 for view, _ in self._views if _holds(view, path) for _ in view.below(path))

    def _link_note(self, path: str, node: Node) -> str:
        if node.type != "file" or node.links < 2:
            return ""
        for _, view in self._views:
            if _holds(view, path):
                for other, known in view.nodes.items():
                    if known.inode == node.inode and other != path and known.type == "file":
                        return f"hard link to {other}"
        return "hard link"

    def _moved_folder(self, source: str, destination: str) -> FileChange:
        count = 0
        for _, view in self._views:
            if _holds(view, destination):
                count = sum(1 for _ in view.below(destination))
        return FileChange(
            ChangeKind.MOVED, destination, "directory", source=source, existed=False, note=_entries(count)
        )

    def _moved_file(self, source: str, destination: str) -> Iterator[FileChange]:
        origin, target = self._differences[source].before, self._differences[destination]
        assert origin is not None
        assert target.after is not None
        lost = target.before
        yield FileChange(
            ChangeKind.MOVED,
            destination,
            target.after.type,
            source=source,
            existed=lost is not None,
            before=_kept(lost),
            after=_kept(target.after),
            before_size=-1 if lost is None else lost.size,
            after_size=target.after.size,
            note="" if lost is None else f"over an existing {lost.type}",
        )
        change = self._tell(Difference(destination, origin, target.after))
        if change is not None:
            yield change


def _change(kind: ChangeKind, d: Difference, *, note: str = "") -> FileChange:
    there = d.after or d.before
    assert there is not None
    return FileChange(
        kind,
        d.path,
        there.type,
        existed=d.before is not None,
        before=_kept(d.before),
        after=_kept(d.after),
        before_size=_size(d.before),
        after_size=_size(d.after),
        note=note,
    )


def _unreadable(d: Difference, notes: list[str]) -> FileChange | None:
    """What we may not read is never unchanged: its stat decides between its content and its attributes."""
    assert d.before is not None
    assert d.after is not None
    if d.before.key == d.after.key:
        return None
    same = (d.before.size, d.before.mtime) == (d.after.size, d.after.mtime)
    kind = ChangeKind.METADATA if same and notes else ChangeKind.MODIFIED
    return _change(kind, d, note=", ".join([*notes, "content not readable"]))


def _attribute_notes(before: Node, after: Node) -> list[str]:
    notes = []
    if before.mode != after.mode and before.type != "symlink":
        notes.append(f"mode {before.mode:o}->{after.mode:o}")
    if before.owner != after.owner:
        notes.append("owner {}:{}->{}:{}".format(*before.owner, *after.owner))
    if before.readable and after.readable and before.xattrs != after.xattrs:
        names = sorted({name for name, _ in {*before.xattrs} ^ {*after.xattrs}})
        notes += [f"xattr {name}" for name in names]
    return notes


def _entries(count: int) -> str:
    return "" if count == 0 else f"with {count} {'entry' if count == 1 else 'entries'} in it"


def _kept(node: Node | None) -> str:
    return node.digest if node is not None and node.kept else ""


def _size(node: Node | None) -> int:
    return -1 if node is None or node.type != "file" else node.size


def _holds(view: View, path: str) -> bool:
    return path in view.nodes or view.look(path) is not None


def is_beneath(path: str, folders: Collection[str]) -> bool:
    """Whether one of the folders that lead to ``path`` is among ``folders``."""
    while "/" in path:
        path = path.rpartition("/")[0]
        if path in folders:
            return True
    return False
