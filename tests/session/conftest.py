"""Stages for sessions: one launcher and one gateway, and a ground for any command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox.boxes import BoxPlan, Exposure, Launcher
from sandbox.session import Ground, SessionSettings
from sandbox.world import World

HERE = Path(__file__).parent


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def launcher() -> Iterator[Launcher]:
    with Launcher.start() as started:
        yield started


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    started = World.start()
    yield started
    started.close()


@pytest.fixture
def ground(launcher: Launcher, world: World) -> Callable[..., Ground]:
    """A ground for Python code or a script of this folder, spoken to on an HTTP port."""

    def make(*words: str, port: int, handshake_s: float = 60.0) -> Ground:
        exposures = tuple(Exposure(path) for path in dict.fromkeys([sys.base_prefix, sys.prefix, str(HERE)]))
        plan = BoxPlan(
            (sys.executable, *words),
            env={"VIRTUAL_ENV": sys.prefix, "PATH": f"{sys.prefix}/bin:{os.defpath}"},
            exposures=exposures,
            stdout_is_log=True,
        )
        settings = SessionSettings(handshake_s=handshake_s, transport="http", port=port)
        return Ground(launcher, world, plan, settings)

    return make
