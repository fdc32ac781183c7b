"""A SQLite database image with the committed frames of its write-ahead log applied (fileformat2.html, section
4).

Done here rather than by SQLite, which wants both files by name: an image in memory has none.
"""

from __future__ import annotations

import struct

from sandbox.effects.readers.reading import UnreadableError

MAGIC = b"SQLite format 3\0"
_HEADER = 32
_FRAME = 24
_MASK = 0xFFFFFFFF


def database_image(database: bytes, wal: bytes) -> bytes:
    """The database as a reader would see it, marked as a rollback-journal database so that it opens from
    memory.

    Frames count while their salts match the log's header and their checksums hold, up to the last commit
    frame, exactly as recovery does.

    Raises:
        UnreadableError: this is no SQLite database.
    """
    if len(database) < 100 or not database.startswith(MAGIC):
        raise UnreadableError("no SQLite database")
    image = bytearray(_with_wal(database, wal) if len(wal) > _HEADER else database)
    image[18:20] = b"\x01\x01"  # file format versions: 2 would ask for a log beside the file
    return bytes(image)


class _Verified:
    """How far logs read before were found valid: a log mostly grows, and its checksum is slow to compute in Python."""

    def __init__(self) -> None:
        self._logs: list[bytes] = []

    def length(self, wal: bytes) -> int:
        """The length of ``wal`` that is known to be valid."""
        return max((len(known) for known in self._logs if wal.startswith(known)), default=0)

    def remember(self, valid: bytes) -> None:
        """Keep the last two logs: before and after a step."""
        self._logs = [*self._logs[-1:], valid]


_verified = _Verified()


def _with_wal(database: bytes, wal: bytes) -> bytes:
    magic, _, size, _, salt1, salt2, sum1, sum2 = struct.unpack(">8I", wal[:_HEADER])
    if magic not in (0x377F0682, 0x377F0683) or size < 512 or size & (size - 1) or size > 65536:
        return database
    order = ">" if magic & 1 else "<"
    running = _checksum(wal[:24], order, (0, 0))
    if running != (sum1, sum2):
        return database
    image = bytearray(database)
    pending: dict[int, bytes] = {}
    valid = _verified.length(wal)
    position = _HEADER
    while position + _FRAME + size <= len(wal):
        head = wal[position : position + _FRAME]
        page, commit, one, two, frame1, frame2 = struct.unpack(">6I", head)
        content = wal[position + _FRAME : position + _FRAME + size]
        if (one, two) != (salt1, salt2) or page == 0:
            break
        if position < valid:
            running = (frame1, frame2)
        else:
            running = _checksum(content, order, _checksum(head[:8], order, running))
            if running != (frame1, frame2):
                break
        pending[page] = content
        if commit:
            _apply(image, pending, size, commit)
            pending.clear()
        position += _FRAME + size
    _verified.remember(wal[:position])
    return bytes(image)


def _apply(image: bytearray, pages: dict[int, bytes], size: int, commit: int) -> None:
    total = commit * size
    if total > 64 << 20:
        raise UnreadableError("the write-ahead log asks for a database that is too large to read")
    if len(image) < total:
        image.extend(bytes(total - len(image)))
    del image[total:]
    for page, content in pages.items():
        if page <= commit:
            image[(page - 1) * size : page * size] = content


def _checksum(content: bytes, order: str, start: tuple[int, int]) -> tuple[int, int]:
    first, second = start
    words = struct.unpack(f"{order}{len(content) // 4}I", content)
    for even, odd in zip(words[::2], words[1::2], strict=True):
        first = (first + even + second) & _MASK
        second = (second + odd + first) & _MASK
    return first, second
