"""Launchers for all tests of boxes: on the rung that this user has, and on each rung that this user can have."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox.boxes import Box, BoxPlan, Exposure, Launcher
from sandbox.boxes.daemon import Daemon

RUNGS = ("root", "mapped", "plain") if os.geteuid() == 0 else ("user",)


@pytest.fixture(scope="session")
def launcher() -> Iterator[Launcher]:
    with Launcher.start() as started:
        yield started


@pytest.fixture(scope="session", params=RUNGS)
def rung_launcher(request: pytest.FixtureRequest) -> Iterator[Launcher]:
    with Launcher(Daemon(request.param)) as started:
        yield started


@pytest.fixture(scope="session")
def python() -> tuple[str, tuple[Exposure, ...]]:
    """The Python that runs the tests, and what a box must expose to run it."""
    return os.path.realpath(sys.executable), (Exposure(sys.base_prefix),)


@pytest.fixture(scope="session")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The one program of the images: static, so that an image need not hold anything else."""
    built = tmp_path_factory.mktemp("tool") / "tool"
    source = Path(__file__).with_name("image_tool.c")
    subprocess.run(["gcc", "-static", "-O1", "-Wall", "-Werror", "-o", built, source], check=True)
    return built


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
