"""Objects of a git repository, read from loose files and packs without running git (gitformat-pack(5))."""

from __future__ import annotations

import struct
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from sandbox.effects.readers.reading import UnreadableError

Fetch = Callable[[str], bytes | None]
"""The content of a file by its path inside the git folder, None where it cannot be had."""

_OBJECT_CAP = 8 << 20
_DELTA_DEPTH = 60
_WALK_CAP = 2000
_TREE_CAP = 10_000
_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit's tree and parents, as hex ids."""

    tree: str
    parents: tuple[str, ...]


class Objects:
    """Looks objects up by hex id; what cannot be read is None, never a guess."""

    def __init__(self, fetch: Fetch, packs: Iterable[str]) -> None:
        self._fetch = fetch
        self._packs = [name.removesuffix(".idx") for name in packs]
        self._indexes: dict[str, bytes | None] = {}
        self._known: dict[str, tuple[str, bytes] | None] = {}

    def read(self, sha: str) -> tuple[str, bytes] | None:
        """The kind and content of an object."""
        if sha not in self._known:
            self._known[sha] = self._read(sha)
        return self._known[sha]

    def has(self, sha: str) -> bool:
        """Whether the store holds an object, readable or not."""
        return self._fetch(_loose(sha)) is not None or self._find(sha) is not None

    def commit(self, sha: str) -> Commit | None:
        """A commit, seen through annotated tags that point to it."""
        for _ in range(8):
            found = self.read(sha)
            if found is None or found[0] not in ("commit", "tag"):
                return None
            heads: dict[str, list[str]] = {}
            for line in found[1].split(b"\n\n", 1)[0].decode("latin-1").split("\n"):
                name, _, value = line.partition(" ")
                heads.setdefault(name, []).append(value)
            if found[0] == "commit":
                return Commit(heads.get("tree", [""])[0], tuple(heads.get("parent", ())))
            sha = heads.get("object", [""])[0]
        return None

    def files(self, tree: str) -> dict[str, tuple[int, str]] | None:
        """Every file of a tree: path -> (mode, blob id). None where a part cannot be read."""
        files: dict[str, tuple[int, str]] = {}
        todo = [("", tree)]
        while todo:
            prefix, sha = todo.pop()
            found = self.read(sha)
            if found is None or found[0] != "tree" or len(files) > _TREE_CAP:
                return None
            for mode, name, entry in _tree_entries(found[1]):
                if mode == 0o40000:
                    todo.append((f"{prefix}{name}/", entry))
                else:
                    files[prefix + name] = (mode, entry)
        return files

    def reaches(self, tips: Iterable[str], wanted: str) -> bool | None:
        """Whether ``wanted`` is one of ``tips`` or an ancestor; None where history could not be read that far."""
        queue = deque(tips)
        seen: set[str] = set()
        blind = False
        while queue:
            sha = queue.popleft()
            if sha == wanted:
                return True
            if sha in seen:
                continue
            seen.add(sha)
            commit = self.commit(sha) if len(seen) <= _WALK_CAP else None
            if commit is None:
                blind = True
                continue
            queue.extend(commit.parents)
        return None if blind else False

    def _read(self, sha: str, depth: int = 0) -> tuple[str, bytes] | None:
        loose = self._fetch(_loose(sha))
        if loose is not None:
            head, _, body = _inflate(loose).partition(b"\0")
            return head.split(b" ")[0].decode("latin-1"), body
        place = self._find(sha)
        if place is None:
            return None
        pack = self._fetch(place[0] + ".pack")
        return None if pack is None else self._packed(pack, place[1], depth)

    def _packed(self, pack: bytes, offset: int, depth: int) -> tuple[str, bytes] | None:
        if depth > _DELTA_DEPTH:
            raise UnreadableError("git: a chain of deltas is too long")
        position, kind = offset + 1, (pack[offset] >> 4) & 7
        byte = pack[offset]
        while byte & 0x80:
            byte = pack[position]
            position += 1
        if kind in _KINDS:
            return _KINDS[kind], _inflate(pack[position:])
        if kind == 6:
            byte = pack[position]
            position += 1
            back = byte & 0x7F
            while byte & 0x80:
                byte = pack[position]
                position += 1
                back = ((back + 1) << 7) | (byte & 0x7F)
            base = self._packed(pack, offset - back, depth + 1) if 0 < back <= offset else None
        elif kind == 7:
            base = self._read(pack[position : position + 20].hex(), depth + 1)
            position += 20
        else:
            raise UnreadableError("git: a pack holds an unknown kind of object")
        return None if base is None else (base[0], _patched(base[1], _inflate(pack[position:])))

    def _find(self, sha: str) -> tuple[str, int] | None:
        for name in self._packs:
            if name not in self._indexes:
                self._indexes[name] = self._fetch(name + ".idx")
            index = self._indexes[name]
            if index is not None and (offset := _offset_in(index, bytes.fromhex(sha))) is not None:
                return name, offset
        return None


def _loose(sha: str) -> str:
    return f"objects/{sha[:2]}/{sha[2:]}"


def _inflate(data: bytes) -> bytes:
    content = zlib.decompressobj().decompress(data, _OBJECT_CAP + 1)
    if len(content) > _OBJECT_CAP:
        raise UnreadableError("git: an object is too large to read")
    return content


def _tree_entries(body: bytes) -> Iterator[tuple[int, str, str]]:
    position = 0
    while position < len(body):
        end = body.index(b"\0", position)
        mode, _, name = body[position:end].partition(b" ")
        yield int(mode, 8), name.decode("utf-8", "surrogateescape"), body[end + 1 : end + 21].hex()
        position = end + 21


def _offset_in(index: bytes, sha: bytes) -> int | None:
    """Where a pack holds an object, from its version 2 index."""
    if index[:8] != b"\xfftOc\0\0\0\x02":
        return None
    fan = struct.unpack(">256I", index[8:1032])
    low, high, total = (fan[sha[0] - 1] if sha[0] else 0), fan[sha[0]], fan[255]
    while low < high:
        middle = (low + high) // 2
        start = 1032 + 20 * middle
        entry = index[start : start + 20]
        if entry == sha:
            place = 1032 + 24 * total + 4 * middle
            (offset,) = struct.unpack(">I", index[place : place + 4])
            if not offset & 0x80000000:
                return int(offset)
            large = 1032 + 28 * total + 8 * (offset & 0x7FFFFFFF)
            return int(struct.unpack(">Q", index[large : large + 8])[0])
        if entry < sha:
            low = middle + 1
        else:
            high = middle
    return None


def _patched(base: bytes, delta: bytes) -> bytes:
    """Apply a delta (gitformat-pack(5), "Deltified representation")."""
    position = 0
    sizes = []
    for _ in range(2):
        size = shift = 0
        while True:
            byte = delta[position]
            position += 1
            size |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        sizes.append(size)
    if sizes[1] > _OBJECT_CAP:
        raise UnreadableError("git: an object is too large to read")
    out = bytearray()
    while position < len(delta) and len(out) <= sizes[1]:
        command = delta[position]
        position += 1
        if command & 0x80:
            offset = length = 0
            for bit in range(4):
                if command & (1 << bit):
                    offset |= delta[position] << (8 * bit)
                    position += 1
            for bit in range(3):
                if command & (0x10 << bit):
                    length |= delta[position] << (8 * bit)
                    position += 1
            length = length or 0x10000
            out += base[offset : offset + length]
        else:
            out += delta[position : position + command]
            position += command
    return bytes(out)
