"""Bounded waits for what a server in a box says or does."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from sandbox.boxes import Box

PATIENCE_S = 10.0


def read_all(box: Box) -> str:
    """What a server writes to stdout, up to its end."""
    parts = []
    while part := os.read(box.stdout, 65536):
        parts.append(part)
    return b"".join(parts).decode()


def read_line(box: Box) -> str:
    """One line of the server's stdout."""
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(box.stdout, 1)
        assert part, f"the server ended: {box.stderr_tail()}"
        line += part
    return line.decode().strip()


def wait_until(condition: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Poll until something is true; fails when it is not in time."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.005)
