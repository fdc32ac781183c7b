"""Seeds laid out on disk, so that real programs can be asked about them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from sandbox.model import SeedEntry


@pytest.fixture
def lay_out(tmp_path: Path) -> Callable[[Iterable[SeedEntry]], Path]:
    """Write seeds below a fresh folder and return it."""

    def write(seeds: Iterable[SeedEntry]) -> Path:
        root = tmp_path / "laid-out"
        for seed in seeds:
            path = root / seed.path.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            if seed.kind == "dir":
                path.mkdir(exist_ok=True)
            elif seed.kind == "symlink":
                path.symlink_to(seed.target)
            else:
                path.write_bytes(seed.content)
            if seed.kind != "symlink":
                path.chmod(seed.mode)
                os.utime(path, (seed.mtime, seed.mtime))
        return root

    return write
