"""Reading tar archives that may have been made to harm: sequentially, in bounded memory, every number checked.

POSIX pax, ustar, GNU long names and the oldest format, as engines write layers and archives. The standard
library's reader keeps headers of any length in memory and recurses over chains of them.

Sources: POSIX.1-2024, pax; GNU tar manual, "Basic Tar Format".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

BLOCK = 512
_CHUNK = 1 << 20
_LONGEST_HEADER = 1 << 20
"""Bytes of an extension header. The readers of engines have the same bound (Go, archive/tar)."""

_MOST_BYTES = 1 << 42
_LATEST = 2**33
"""The latest time that is kept, in seconds since the epoch: the year 2242."""

_DECIMAL = re.compile(rb"-?[0-9]{1,18}(\.[0-9]*)?")
_WANTED = frozenset({b"path", b"linkpath", b"size", b"uid", b"gid", b"mtime"})


class TarError(Exception):
    """The archive is damaged, or holds what no image may hold."""


class Source(Protocol):
    """Where an archive is read from."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end alone."""


class Kind(Enum):
    """What a member is."""

    FILE = "file"
    FOLDER = "folder"
    SYMLINK = "symlink"
    HARD_LINK = "hard link"
    SPECIAL = "device or FIFO"


_KINDS = {
    b"\0": Kind.FILE,
    b"0": Kind.FILE,
    b"7": Kind.FILE,
    b"1": Kind.HARD_LINK,
    b"2": Kind.SYMLINK,
    b"3": Kind.SPECIAL,
    b"4": Kind.SPECIAL,
    b"5": Kind.FOLDER,
    b"6": Kind.SPECIAL,
}


@dataclass(frozen=True, slots=True)
class Member:
    """One entry: its name and link target as bytes, as they are written; ``size`` in bytes, of files only.

    ``offset`` is where its content begins in the archive. ``mode`` holds the permission, set-id and sticky bits,
    ``mtime`` is in seconds.
    """

    name: bytes
    kind: Kind
    mode: int
    user: int
    group: int
    mtime: float
    size: int
    target: bytes
    offset: int


class TarReader:
    """Iterates over the members of an archive. The content of the one at hand may be read once, before the next."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._position = 0
        self._left = 0
        self._padding = 0

    def __iter__(self) -> Iterator[Member]:
        while (member := self._next()) is not None:
            yield member

    def content(self) -> Iterator[bytes]:
        """The content of the present member, in pieces of at most 1 MiB. Raises TarError where it is cut off."""
        while self._left:
            yield self._read(min(self._left, _CHUNK))

    def finish(self) -> None:
        """Read what follows the last member, so that a digest over all of it is complete."""
        while self._source.read(_CHUNK):
            continue

    def _next(self) -> Member | None:
        extended: dict[bytes, bytes] = {}
        while True:
            self._skip()
            block = self._header()
            if block is None:
                return None
            kind = block[156:157]
            size = _number(block[124:136], "size")
            if kind == b"x":
                extended |= _records(self._extension(size))
            elif kind == b"g":
                self._extension(size)
            elif kind == b"L":
                extended[b"path"] = self._extension(size).split(b"\0")[0]
            elif kind == b"K":
                extended[b"linkpath"] = self._extension(size).split(b"\0")[0]
            else:
                return self._member(block, kind, size, extended)

    def _member(self, block: bytes, flag: bytes, size: int, extended: dict[bytes, bytes]) -> Member:
        name = extended.get(b"path") or _name(block)
        kind = _KINDS.get(flag)
        if flag == b"S" or any(key.startswith(b"GNU.sparse.") for key in extended):
            raise TarError(f"{show(name)} is a sparse file, which no engine writes into an image")
        if kind is None:
            raise TarError(f"{show(name)} is of the unknown type {flag!r}")
        if kind is Kind.FILE and name.endswith(b"/"):
            kind = Kind.FOLDER  # as archives older than the type for folders have it
        if b"size" in extended:
            size = _decimal(extended[b"size"], "size")
        if kind is not Kind.FILE:
            size = 0
        if size > _MOST_BYTES:
            raise TarError(f"{show(name)} claims to be of {size} bytes")
        target = extended.get(b"linkpath") or block[157:257].split(b"\0")[0]
        if b"\0" in name or b"\0" in target:
            raise TarError(f"{show(name)} has a null byte in its name")
        user = extended.get(b"uid")
        group = extended.get(b"gid")
        mtime = extended.get(b"mtime")
        self._left, self._padding = size, -size % BLOCK
        return Member(
            name=name,
            kind=kind,
            mode=_number(block[100:108], "mode") & 0o7777,
            user=_number(block[108:116], "user id") if user is None else _decimal(user, "user id"),
            group=_number(block[116:124], "group id") if group is None else _decimal(group, "group id"),
            mtime=_number(block[136:148], "time", least=None) if mtime is None else _time(mtime),
            size=size,
            target=target,
            offset=self._position,
        )

    def _header(self) -> bytes | None:
        """The next header; None at the end, which is a block of zeros or where the bytes end."""
        block = self._source.read(BLOCK)
        while len(block) < BLOCK and (more := self._source.read(BLOCK - len(block))):
            block += more
        self._position += len(block)
        if not block or not block.strip(b"\0"):
            return None
        if len(block) < BLOCK:
            raise TarError("it is cut off")
        total = sum(block) - sum(block[148:156]) + 8 * 32
        told = block[148:156].strip(b" \0")
        if told.strip(b"01234567") or int(told or b"0", 8) != total:
            raise TarError("it is no tar archive, or damaged (a header's checksum is wrong)")
        return block

    def _extension(self, size: int) -> bytes:
        if size > _LONGEST_HEADER:
            raise TarError(f"a header of {size} bytes is longer than any engine reads")
        parts: list[bytes] = []
        while size > 0:
            parts.append(self._source_read(size))
            size -= len(parts[-1])
        data = b"".join(parts)
        self._padding = -len(data) % BLOCK
        return data

    def _read(self, size: int) -> bytes:
        data = self._source_read(size)
        self._left -= len(data)
        return data

    def _source_read(self, size: int) -> bytes:
        data = self._source.read(size)
        if not data:
            raise TarError("it is cut off")
        self._position += len(data)
        return data

    def _skip(self) -> None:
        """Go to the next header. A source that can seek is not read."""
        left = self._left + self._padding
        self._left = self._padding = 0
        seek = getattr(self._source, "seek", None)
        if seek is not None and left:
            self._position += left
            seek(self._position)
            return
        while left:
            left -= len(self._source_read(min(left, _CHUNK)))


def show(name: bytes) -> str:
    """A name for messages."""
    return repr(name[:200].decode("utf-8", "backslashreplace"))


def _name(block: bytes) -> bytes:
    name = block[:100].split(b"\0")[0]
    prefix = block[345:500].split(b"\0")[0]
    # GNU's own format has other things where POSIX has a prefix.
    return prefix + b"/" + name if prefix and block[257:263] == b"ustar\0" else name


def _number(field: bytes, what: str, *, least: int | None = 0) -> int:
    """An octal number, or GNU's base-256 one where the first bit is set."""
    if field[0] & 0x80:
        value = int.from_bytes(field, "big", signed=False) & ((1 << (8 * len(field) - 1)) - 1)
        if field[0] & 0x40:  # the sign is the bit after the mark
            value -= 1 << (8 * len(field) - 1)
    else:
        digits = field.strip(b" \0")
        if digits.strip(b"01234567"):
            raise TarError(f"a header's {what} is no number")
        value = int(digits, 8) if digits else 0
    if least is None:
        return max(0, min(value, _LATEST))
    if not least <= value <= _MOST_BYTES:
        raise TarError(f"a header's {what} is {value}")
    return value


def _records(data: bytes) -> dict[bytes, bytes]:
    """The records ``LENGTH KEY=VALUE`` of a pax header that mean something here."""
    found: dict[bytes, bytes] = {}
    at = 0
    while at < len(data):
        blank = data.find(b" ", at, at + 20)
        length = data[at:blank] if blank > 0 else b""
        end = at + (int(length) if length.isdigit() else 0)
        if not blank < end <= len(data) or data[end - 1 : end] != b"\n":
            raise TarError("an extended header is damaged")
        key, equals, value = data[blank + 1 : end - 1].partition(b"=")
        if not equals:
            raise TarError("an extended header is damaged")
        if key in _WANTED or key.startswith(b"GNU.sparse."):
            found[key] = value
        at = end
    return {key: value for key, value in found.items() if value}


def _decimal(text: bytes, what: str) -> int:
    if not _DECIMAL.fullmatch(text) or int(float(text)) < 0:
        raise TarError(f"an extended header's {what} is no number")
    return int(text.partition(b".")[0])


def _time(text: bytes) -> float:
    if not _DECIMAL.fullmatch(text):
        raise TarError("an extended header's time is no number")
    return max(0.0, min(float(text), float(_LATEST)))
