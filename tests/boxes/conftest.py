"""One launcher for all tests of boxes, on the rung that this user has."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from sandbox.boxes import Box, BoxPlan, Exposure, Launcher

PATIENCE_S = 10.0


@pytest.fixture(scope="session")
def launcher() -> Iterator[Launcher]:
    with Launcher.start() as started:
        yield started


@pytest.fixture(scope="session")
def python() -> tuple[str, tuple[Exposure, ...]]:
    """The Python that runs the tests, and what a box must expose to run it."""
    return os.path.realpath(sys.executable), (Exposure(sys.base_prefix),)


@pytest.fixture
def sh(launcher: Launcher) -> Iterator[Callable[..., Box]]:
    """Launch a shell script in a box; every box is closed at the end."""
    boxes: list[Box] = []

    def launch(script: str, **plan: object) -> Box:
        box = launcher.launch(BoxPlan(("/bin/sh", "-c", script), **plan))  # type: ignore[arg-type]
        boxes.append(box)
        return box

    yield launch
    for box in boxes:
        box.close()


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
