"""A command in a fresh folder, and one verified server that many tests look at."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import USER_ADMIN, Done, Hintproof, Verified, run_command, server


@pytest.fixture
def hintproof(tmp_path: Path) -> Hintproof:
    """Run a command in a fresh folder."""

    def run(*words: str, cwd: Path = tmp_path, before: tuple[str, ...] = (), **env: str) -> Done:
        return run_command(*words, cwd=cwd, before=before, **env)

    return run


@pytest.fixture(scope="session")
def lie(tmp_path_factory: pytest.TempPathFactory) -> Verified:
    """The lying user-admin server, verified once with ``--json``."""
    folder = tmp_path_factory.mktemp("lie")
    return Verified(
        folder, run_command("verify", "--json", *server(USER_ADMIN / "lying/server.py"), cwd=folder)
    )
