"""Whole commands: ``hintproof`` in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
USER_ADMIN = ROOT / "scenarios" / "user-admin"
PATIENCE_S = 300

Hintproof = Callable[..., "Done"]


@dataclass(frozen=True)
class Done:
    """A command that has ended: its exit code and what it wrote."""

    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Verified:
    """The lying server's verification: where it was made and how it ended."""

    folder: Path
    done: Done

    @property
    def run(self) -> Path:
        (run,) = (self.folder / ".hintproof" / "runs").iterdir()
        return run


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"NO_COLOR", "COLUMNS"}}
    return {**kept, "PYTHONPATH": str(ROOT), **more}


def server(script: Path | str, *words: str) -> tuple[str, ...]:
    """The end of a command line that launches a Python script."""
    return ("--", sys.executable, str(script), *words)


def rogue(*words: str) -> tuple[str, ...]:
    return server(HERE / "rogue_server.py", *words)


def run_command(*words: str, cwd: Path, before: tuple[str, ...] = (), **env: str) -> Done:
    done = subprocess.run(
        [*before, sys.executable, "-m", "sandbox", *words],
        cwd=cwd,
        env=environment(**env),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)
