"""One layer of a box as it stood at one look: the upper layer's nodes over the lower tree that shows through."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

from sandbox.effects.nodes import (
    Key,
    Node,
    key_of,
    open_root,
    overlay_mark,
    own_xattrs,
    read_entry,
    type_of,
)
from sandbox.effects.watch import HeldFolder, Watch
from sandbox.evidence.content import ContentStore
from sandbox.linux.beneath import open_folder

MAX_DEPTH = 100
"""Folders nested deeper are not looked into; one that holds something makes the look incomplete."""

MAX_ENTRIES = 100_000
"""Entries of one layer's upper that are looked at; beyond it the look is incomplete and says so."""

_COUNT_CAP = 10_000

_SWAPPED = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV, errno.EAGAIN})
"""What a folder answers that is gone, or another thing by now. It may be ours alone that it cannot be opened."""

_SWAPS = 3
"""Tries to read an entry that keeps being swapped; then it is told as not readable, never as unchanged."""


class LayerLike(Protocol):
    """A layer of a box: where it is mounted, the host folder beneath it or None, and a descriptor of its upper."""

    @property
    def prefix(self) -> str: ...
    @property
    def lower(self) -> str | None: ...
    @property
    def upper(self) -> int: ...


class LowerTree:
    """The read-only tree beneath an overlay, read beneath one descriptor of its root."""

    def __init__(self, path: str | None, keep: ContentStore) -> None:
        self._keep = keep
        self._root: int | None = None
        if path is not None:
            try:
                self._root = open_root(path)
            except OSError:
                self._root = None  # gone or not ours to read: nothing shows through as far as we can tell

    def close(self) -> None:
        """Close the descriptor of the root."""
        if self._root is not None:
            os.close(self._root)
            self._root = None

    def look(self, path: str, *, read: bool = False) -> Node | None:
        """The node at ``path`` (relative), without its content's digest unless ``read``; None where nothing is."""
        if self._root is None:
            return None
        folder, name = os.path.split(path)
        try:
            parent = open_folder(self._root, folder or ".", cross_devices=True)
        except OSError:
            return None
        try:
            facts = os.stat(name or ".", dir_fd=parent, follow_symlinks=False)
            kind = type_of(facts)
            if kind == "whiteout":
                return None
            if kind == "directory":
                return self._folder(parent, name, facts, path)
            if not read:
                return Node(kind, _lower_key(key_of(facts)))
            newest = facts.st_ctime_ns + 1
            node = read_entry(parent, name, facts, self._keep, newest_ns=newest, cross_devices=True)
            return replace(node, key=_lower_key(node.key))
        except OSError:
            return None
        finally:
            os.close(parent)

    def _folder(self, parent: int, name: str, facts: os.stat_result, path: str) -> Node:
        try:
            opened = open_folder(parent, name or ".", cross_devices=True)
        except OSError:
            return Node("directory", _lower_key(key_of(facts)), lower=path, readable=False)
        try:
            return Node("directory", _lower_key(key_of(facts)), xattrs=own_xattrs(opened), lower=path)
        finally:
            os.close(opened)

    def names(self, path: str) -> list[str]:
        """The names in a folder; none where it is no folder."""
        if self._root is None:
            return []
        try:
            opened = open_folder(self._root, path or ".", cross_devices=True)
        except OSError:
            return []
        try:
            return sorted(os.listdir(opened))
        finally:
            os.close(opened)


def _lower_key(key: Key) -> Key:
    """Inodes of the lower tree are of another file system: negative, they never equal one of the upper."""
    return (-key[0], *key[1:])


class View:
    """The merged tree of one layer. Paths are absolute in the box."""

    def __init__(self, base: str, nodes: dict[str, Node], lower: LowerTree) -> None:
        self.base = base
        self.nodes = nodes
        self._lower = lower

    def lower_path(self, path: str) -> str | None:
        """The folder of the lower tree that shows through at the directory ``path``, None where none does."""
        if path == self.base:
            return ""
        node = self.nodes.get(path)
        if node is not None:
            return node.lower
        folder, _, name = path.rpartition("/")
        above = self.lower_path(folder)
        return None if above is None else f"{above}/{name}".lstrip("/")

    def look(self, path: str, *, read: bool = False) -> Node | None:
        """What stands at ``path``, or None. Nodes of the lower tree are digested only if ``read``."""
        node = self.nodes.get(path)
        if node is not None:
            return None if node.type == "whiteout" else node
        if path == self.base or not path.startswith(self.base + "/"):
            return None
        folder, _, name = path.rpartition("/")
        above = self.lower_path(folder)
        return None if above is None else self._lower.look(f"{above}/{name}".lstrip("/"), read=read)

    def names(self, path: str) -> list[str]:
        """The names in the directory ``path`` that come from the lower tree and are not covered by the upper."""
        above = self.lower_path(path)
        return (
            [] if above is None else [n for n in self._lower.names(above) if f"{path}/{n}" not in self.nodes]
        )

    def below(self, path: str, *, cap: int = _COUNT_CAP) -> Iterator[str]:
        """Every path beneath ``path``, of either tree, at most about ``cap``."""
        start = path + "/"
        folders = [path]
        seen = 0
        for known, node in self.nodes.items():
            if known.startswith(start) and node.type != "whiteout":
                seen += 1
                if node.type == "directory":
                    folders.append(known)
                yield known
        while folders and seen < cap:
            folder = folders.pop()
            for name in self.names(folder):
                child = f"{folder}/{name}"
                found = self.look(child)
                if found is None:
                    continue
                seen += 1
                if found.type == "directory":
                    folders.append(child)
                yield child


class Walk:
    """One look at a layer's upper. Only what changed since ``previous`` is read; the rest is stat'ed once.

    ``watch`` then holds its folders and is the caller's to close.
    """

    def __init__(
        self,
        previous: dict[str, Node],
        keep: ContentStore,
        *,
        skip: frozenset[str],
        rehash: frozenset[str],
        newest_ns: int,
    ) -> None:
        self.nodes: dict[str, Node] = {}
        self.complete = True
        self.watch = Watch()
        self._previous = previous
        self._keep = keep
        self._skip = skip
        self._rehash = rehash
        self._newest_ns = newest_ns

    def run(self, upper: int, base: str) -> dict[str, Node]:
        """Look at everything beneath ``upper`` and return the nodes by path in the box."""
        opened = open_folder(upper, ".")
        root = HeldFolder(opened, key_of(os.fstat(opened)))
        try:
            self._folder(root, base, "", 0)
        finally:
            self.watch.hold(root)
        if not self.complete or root.key[6] >= self._newest_ns:
            self.watch.useless()
        return self.nodes

    def _folder(self, held: HeldFolder, path: str, lower: str | None, depth: int) -> None:
        previous, nodes, folder = self._previous, self.nodes, held.descriptor
        try:
            listing = os.scandir(folder)
        except OSError:  # it takes one descriptor more
            self._unread(path)
            return
        with listing as entries:
            for entry in entries:
                child = f"{path}/{entry.name}"
                if len(nodes) >= MAX_ENTRIES:
                    self.complete = False
                    return
                try:
                    facts = entry.stat(follow_symlinks=False)
                except OSError:
                    continue  # gone since the listing
                key = key_of(facts)
                known = previous.get(child)
                if stat.S_ISDIR(facts.st_mode):
                    if child not in self._skip:  # a mount point is another layer's business
                        self._subfolder(folder, child, key, lower, depth)
                    continue
                if known is not None and known.key == key and not known.racy and child not in self._rehash:
                    node: Node | None = known
                else:
                    node = self._read(folder, entry.name, facts)
                if node is not None:
                    nodes[child] = node
                    held.entries.append((entry.name, node))
                    if node.racy:
                        self.watch.useless()

    def _read(self, folder: int, name: str, facts: os.stat_result) -> Node | None:
        """Read one entry that may be swapped for another while it is read; None when it is gone."""
        for _ in range(_SWAPS):
            try:
                return read_entry(folder, name, facts, self._keep, newest_ns=self._newest_ns)
            except FileNotFoundError:
                try:
                    facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
                except OSError:
                    return None
        return Node(type_of(facts), key_of(facts), readable=False, racy=True)

    def _subfolder(self, folder: int, path: str, key: Key, above: str | None, depth: int) -> None:
        name = path.rpartition("/")[2]
        lower = None if above is None else f"{above}/{name}".lstrip("/")
        try:
            opened = open_folder(folder, name)
        except OSError as error:
            if error.errno in _SWAPPED:  # since the listing: the next look tells
                self.watch.useless()
            else:
                self.nodes[path] = Node("directory", key, readable=False, lower=lower)
                self._unread(path)
            return
        held = HeldFolder(opened, key)
        try:
            node = self._folder_node(opened, self._previous.get(path), lower)
            self.nodes[path], held.key = node, node.key
            if node.racy:
                self.watch.useless()
            if depth < MAX_DEPTH:
                self._folder(held, path, node.lower, depth + 1)
            elif os.listdir(opened):
                self.complete = False
        finally:
            self.watch.hold(held)

    def _folder_node(self, opened: int, known: Node | None, lower: str | None) -> Node:
        key = key_of(os.fstat(opened))
        if known is not None and known.key == key and known.readable and not known.racy:
            under_same = known.opaque or known.redirected or known.lower == lower
            if under_same:
                return known
        opaque = overlay_mark(opened, "opaque") == b"y"
        target = os.fsdecode(overlay_mark(opened, "redirect"))
        if opaque:
            lower = None
        elif target:
            # An absolute redirect starts at the layer's root, a relative one renames within the same folder.
            near = os.path.dirname(lower or "")
            lower = target.lstrip("/") if target.startswith("/") else os.path.join(near, target)
        racy = key[6] >= self._newest_ns
        return Node(
            "directory",
            key,
            xattrs=own_xattrs(opened),
            lower=lower,
            opaque=opaque,
            redirected=bool(target),
            racy=racy,
        )

    def _unread(self, path: str) -> None:
        """A folder that we cannot list: what was known beneath it stands, and the look is incomplete."""
        self.complete = False
        self.watch.useless()
        start = path + "/"
        self.nodes.update((p, n) for p, n in self._previous.items() if p.startswith(start))
