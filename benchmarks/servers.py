"""The real servers that are measured, the ordinary things that they are given, and the stage that they act on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from sandbox.boxes.plan import Limits
from sandbox.probe.stage import Stage, StageSettings, staged
from sandbox.session import SessionSettings
from sandbox.targets.launch import Launch
from sandbox.targets.resolve import resolve

REAL = Path(__file__).resolve().parents[1] / ".real"
SETTINGS = StageSettings(limits=Limits(), session=SessionSettings(), seed=0)


@dataclass(frozen=True, slots=True)
class Server:
    """A server's command and where it is run; ``reaches_out`` says that its calls leave the machine when it is bare."""

    name: str
    command: tuple[str, ...]
    cwd: Path = REAL / "node"
    reaches_out: bool = False


@dataclass(frozen=True, slots=True)
class Things:
    """What servers are given: a folder, a repository with one commit, the path of a database."""

    folder: Path
    repository: Path
    database: Path

    @classmethod
    def make(cls, root: Path) -> Things:
        """Make them below ``root``."""
        things = cls(root / "folder", root / "repository", root / "data" / "ledger.db")
        for folder in (things.folder, things.repository, things.database.parent):
            folder.mkdir()
        (things.folder / "notes.txt").write_text("Buy milk\nCall Bob\n")
        (things.repository / "README.md").write_text("# Ledger\n")
        for words in ("init --quiet", "add README.md", "commit --quiet -m Begin"):
            git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", *words.split()]
            environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
            subprocess.run(git, cwd=things.repository, env=environment, check=True)
        return things


def corpus(things: Things) -> list[Server]:
    """All eight servers."""

    def npm(name: str, *words: object, reaches_out: bool = False) -> Server:
        command = ("npx", "-y", f"@modelcontextprotocol/server-{name}", *map(str, words))
        return Server(name, command, reaches_out=reaches_out)

    def pypi(name: str, *words: object, venv: str = "venv", reaches_out: bool = False) -> Server:
        command = (str(REAL / venv / "bin" / f"mcp-server-{name}"), *map(str, words))
        return Server(name, command, reaches_out=reaches_out)

    return [
        npm("filesystem", things.folder),
        npm("memory"),
        npm("everything"),
        npm("sequential-thinking"),
        pypi("git", "--repository", things.repository),
        pypi("time"),
        pypi("fetch", reaches_out=True),
        pypi("sqlite", "--db-path", things.database, venv="venv-sqlite"),
    ]


def launch_of(server: Server, workspace: Path | None = None) -> Launch:
    """What the command is launched as, resolved as ``hintproof verify`` does it."""
    return resolve(
        server.command,
        cwd=server.cwd,
        env={},
        expose=(),
        workspace=None if workspace is None else str(workspace),
    )


@asynccontextmanager
async def stage_of(server: Server, *, spares: int = 0) -> AsyncIterator[Stage]:
    """The stage that a verification of the server stands on, with no session in advance."""
    async with staged(launch_of(server), SETTINGS, spares=spares) as stage:
        yield stage
