from __future__ import annotations

from pathlib import Path

import pytest
from machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """An empty machine with a home and a project folder."""
    made = Machine(tmp_path)
    made.home.mkdir()
    made.project.mkdir()
    return made
