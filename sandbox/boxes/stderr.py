"""The end of what a server wrote to its stderr."""

from __future__ import annotations

import os
import threading

TAIL_LIMIT = 64 << 10
"""Bytes that are kept."""

_CHUNK = 64 << 10
_CHUNKS_AT_ONCE = 16  # a server that floods must not hold up the other boxes


class StderrTail:
    """Keeps the last TAIL_LIMIT bytes that came out of a pipe, which stays the caller's. Any thread may use it."""

    def __init__(self, pipe: int) -> None:
        os.set_blocking(pipe, False)
        self._pipe = pipe
        self._tail = bytearray()
        self._lock = threading.Lock()

    def drain(self) -> bool:
        """Read what is there; returns False when nothing will come any more. Not after the pipe was closed."""
        with self._lock:
            for _ in range(_CHUNKS_AT_ONCE):
                try:
                    data = os.read(self._pipe, _CHUNK)
                except BlockingIOError:
                    return True
                if not data:
                    return False
                self._tail += data
                del self._tail[:-TAIL_LIMIT]
            return True

    def text(self) -> str:
        """The tail as it was when last drained; what is no UTF-8 is replaced."""
        with self._lock:
            return self._tail.decode("utf-8", "replace")
