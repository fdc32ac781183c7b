"""A stand-in for the container: the engine that would run in it, as a plain process of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from standin import StandIn

from sandbox.evidence.runs import RunFolder


@pytest.fixture
def standin(tmp_path: Path) -> Iterator[StandIn]:
    """An engine that waits for a job."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with StandIn(scratch) as engine:
        yield engine


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[RunFolder]:
    """A run folder of the client."""
    with RunFolder(tmp_path / "runs", "run-1") as made:
        yield made
