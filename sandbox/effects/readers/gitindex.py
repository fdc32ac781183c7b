"""The index of a git repository: what is staged, without the stat fields that git refreshes (gitformat-index(5))."""

from __future__ import annotations

import struct

from sandbox.effects.readers.reading import UnreadableError

_ENTRY = struct.Struct(">10I20sH")
_MAX_ENTRIES = 200_000

Index = dict[tuple[str, int], tuple[int, str]]
"""(path, merge stage) -> (mode, blob id)."""


def parse_index(content: bytes) -> Index:
    """Parse versions 2, 3 and 4; an empty content is an empty index.

    Raises:
        UnreadableError: it is damaged, truncated or of another version.
    """
    if not content:
        return {}
    try:
        return _parse(content)
    except (struct.error, IndexError, ValueError) as error:
        raise UnreadableError("git: the index is damaged") from error


def _parse(content: bytes) -> Index:
    signature, version, count = struct.unpack(">4sII", content[:12])
    if signature != b"DIRC" or version not in (2, 3, 4) or count > _MAX_ENTRIES:
        raise UnreadableError("git: the index is of an unknown version")
    index: Index = {}
    position, previous = 12, b""
    for _ in range(count):
        start = position
        fields = _ENTRY.unpack_from(content, position)
        mode, sha, flags = fields[6], fields[10], fields[11]
        position += _ENTRY.size
        if version >= 3 and flags & 0x4000:
            position += 2
        if version == 4:
            strip, position = _varint(content, position)
            end = content.index(b"\0", position)
            previous = previous[: len(previous) - strip] + content[position:end]
            position = end + 1
        else:
            end = content.index(b"\0", position)
            previous = content[position:end]
            position = start + (end - start + 8) // 8 * 8
        path = previous.decode("utf-8", "surrogateescape")
        index[path, (flags >> 12) & 3] = (mode, sha.hex())
    if position + 20 > len(content):
        raise UnreadableError("git: the index is truncated")
    return index


def _varint(content: bytes, position: int) -> tuple[int, int]:
    byte = content[position]
    position += 1
    value = byte & 0x7F
    while byte & 0x80:
        byte = content[position]
        position += 1
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, position
