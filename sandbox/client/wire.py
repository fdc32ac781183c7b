"""The evidence log of a conversation: every line both ways, bounded."""

from __future__ import annotations

import time
from collections import deque

_HEAD = 2048
_TAIL = 512
_ENTRY = 128
"""What one entry costs beside its bytes (tuple, float, object headers), so that a flood of empty lines counts."""


class WireLog:
    """A ring of the last lines, each with its time and direction; long lines keep head and tail.

    Directions: ``>`` client to server, ``<`` server to client, ``!`` what the server wrote that is no message.
    """

    def __init__(self, capacity: int = 4 << 20) -> None:
        self.dropped = 0
        self._capacity = capacity
        self._started = time.monotonic()
        self._lines: deque[tuple[float, str, bytes]] = deque()
        self._size = 0

    def record(self, direction: str, line: bytes) -> None:
        """Add one line; the oldest ones go when the ring is full."""
        if len(line) > _HEAD + _TAIL:
            cut = len(line) - _HEAD - _TAIL
            line = line[:_HEAD] + f" …{cut} bytes… ".encode() + line[-_TAIL:]
        self._lines.append((time.monotonic(), direction, line))
        self._size += len(line) + _ENTRY
        while self._size > self._capacity and len(self._lines) > 1:
            _, _, old = self._lines.popleft()
            self._size -= len(old) + _ENTRY
            self.dropped += 1

    def dump(self) -> list[tuple[float, str, str]]:
        """The lines still kept: milliseconds since the log began, direction, text."""
        return [
            ((at - self._started) * 1000, direction, line.decode("utf-8", "replace"))
            for at, direction, line in self._lines
        ]
