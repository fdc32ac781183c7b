"""Which vanished path became which new one: by inode where the upper held both, else by equal content."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from sandbox.effects.nodes import ABSENT, Node
from sandbox.effects.trees import View

_MANIFEST_CAP = 2000
"""Entries compared of two folders that may be one and the same, moved by copying."""


class Differing(Protocol):
    """A path with what stood there before and after."""

    @property
    def path(self) -> str: ...
    @property
    def before(self) -> Node | None: ...
    @property
    def after(self) -> Node | None: ...


@dataclass(frozen=True, slots=True)
class Moves:
    """Destination -> source of moved files and folders; ``absorbed`` are the paths that a folder's move explains."""

    files: dict[str, str] = field(default_factory=dict)
    folders: dict[str, str] = field(default_factory=dict)
    absorbed: frozenset[str] = frozenset()


def move_folders(before: View, after: View) -> dict[str, str]:
    """Find renamed folders and rewrite ``before`` as if each had always had its new name.

    A folder of the upper keeps its inode; one of the lower (``redirect_dir=on``) names its origin in a mark.
    Returns destination -> source. The comparison that follows then sees only what changed besides.
    """
    moved: dict[str, str] = {}
    gone = {
        node.inode: path
        for path, node in before.nodes.items()
        if node.type == "directory" and not _folder(after, path)
    }
    for path in sorted(p for p, node in after.nodes.items() if node.type == "directory"):
        node = after.nodes[path]
        if _folder(before, path):
            continue
        source = gone.get(node.inode)
        if source is None and node.redirected and node.lower is not None:
            origin = f"{before.base}/{node.lower}"
            source = origin if _folder(before, origin) and not _folder(after, origin) else None
        if source is not None and before.look(source) is not None:
            _rename(before, source, path, node)
            moved[path] = source
    return moved


def _folder(view: View, path: str) -> bool:
    node = view.look(path)
    return node is not None and node.type == "directory"


def _rename(view: View, source: str, destination: str, now: Node) -> None:
    start = source + "/"
    nodes = view.nodes
    known = nodes.pop(source, None) or replace(now, xattrs=())
    # What the box saw at the source showed through its own lower folder; it goes on to do so at the
    # destination.
    nodes[destination] = replace(known, lower=now.lower)
    for path in [p for p in nodes if p.startswith(start)]:
        nodes[destination + path[len(source) :]] = nodes.pop(path)
    nodes[source] = ABSENT


def find_moves(differences: Iterable[Differing], views: list[tuple[View, View]]) -> Moves:
    """Pair what vanished with what appeared among ``differences``; each path takes part once."""
    known = list(differences)
    gone = [d for d in known if d.before is not None and d.after is None]
    come = [d for d in known if d.after is not None and _is_another(d)]
    folders, absorbed = _folders_by_content(gone, come, views)
    gone = [
        d for d in gone if d.path not in absorbed and d.before is not None and d.before.type != "directory"
    ]
    come = [d for d in come if d.path not in absorbed and d.after is not None and d.after.type != "directory"]
    files = _by_inode(gone, come)
    taken = set(files.values())
    gone = [d for d in gone if d.path not in taken]
    come = [d for d in come if d.path not in files]
    files |= _by_content(gone, come)
    return Moves(files, folders, frozenset(absorbed))


def _is_another(d: Differing) -> bool:
    """Another inode stands there than before, or one where none was."""
    return d.before is None or (d.after is not None and d.before.inode != d.after.inode)


def _by_inode(gone: list[Differing], come: list[Differing]) -> dict[str, str]:
    sources = {d.before.inode: d for d in gone if d.before is not None}
    files: dict[str, str] = {}
    for d in come:
        assert d.after is not None
        source = sources.get(d.after.inode)
        if source is not None and source.before is not None and source.before.type == d.after.type:
            files[d.path] = source.path
            del sources[d.after.inode]
    return files


def _by_content(gone: list[Differing], come: list[Differing]) -> dict[str, str]:
    sources: dict[str, list[Differing]] = defaultdict(list)
    for d in gone:
        if d.before is not None and d.before.digest:
            sources[d.before.type + d.before.digest].append(d)
    files: dict[str, str] = {}
    for d in come:
        assert d.after is not None
        same = sources.get(d.after.type + d.after.digest, []) if d.after.digest else []
        if not same or (d.before is not None and d.before.digest == d.after.digest):
            continue  # a copy-up has another inode and the old content: nothing came here
        if d.after.size == 0 and len(same) > 1:
            continue  # all empty files are equal: that says nothing about which became which
        name = d.path.rpartition("/")[2]
        best = next((s for s in same if s.path.rpartition("/")[2] == name), same[0])
        same.remove(best)
        files[d.path] = best.path
    return files


def _folders_by_content(
    gone: list[Differing], come: list[Differing], views: list[tuple[View, View]]
) -> tuple[dict[str, str], set[str]]:
    """Folders that were copied and removed, which is how programs rename across overlays (EXDEV)."""
    sources = _top_folders([d.path for d in gone if d.before is not None and d.before.type == "directory"])
    targets = _top_folders([d.path for d in come if d.after is not None and d.after.type == "directory"])
    folders: dict[str, str] = {}
    absorbed: set[str] = set()
    manifests = {path: _manifest(path, views, after=False) for path in sources} if targets else {}
    for target in targets:
        wanted = _manifest(target, views, after=True)
        source = next((path for path, listing in manifests.items() if listing == wanted), None)
        if source is None or not wanted:
            continue
        del manifests[source]
        folders[target] = source
        for d in [*gone, *come]:
            if any(d.path == top or d.path.startswith(top + "/") for top in (source, target)):
                absorbed.add(d.path)
    return folders, absorbed


def _top_folders(paths: list[str]) -> list[str]:
    tops: list[str] = []
    for path in sorted(paths):
        if not tops or not path.startswith(tops[-1] + "/"):
            tops.append(path)
    return tops


def _manifest(path: str, views: list[tuple[View, View]], *, after: bool) -> dict[str, str] | None:
    listing: dict[str, str] = {}
    for pair in views:
        view = pair[after]
        if view.look(path) is None:
            continue
        for child in view.below(path, cap=_MANIFEST_CAP):
            node = view.look(child, read=True)
            if node is None or len(listing) >= _MANIFEST_CAP:
                return None
            listing[child[len(path) :]] = node.type + node.digest
    return listing
