"""One scenario, format version 0: a server, how to call it, and the verdicts that it should earn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.model import Call, Hint, Verdict

FORMAT_VERSION = 0
SUFFIX = ".hintproof.yaml"


@dataclass(frozen=True, slots=True)
class Expectation:
    """The verdict that one hint of one tool should get; ``reason`` is a reason code, or "" for any. ``line``
    is in the file."""

    tool: str
    hint: Hint
    verdict: Verdict
    reason: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario file, checked.

    ``target`` is the server's command, to be run in ``folder`` (the file's own). ``workspace`` is absolute.
    ``calls`` are example arguments by tool, in the order of the file, to be tried before generated ones.
    """

    file: Path
    target: tuple[str, ...]
    workspace: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()
    expect: tuple[Expectation, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder that the server is started in."""
        return self.file.parent

    @property
    def name(self) -> str:
        """The file's path from the folder of its parent's parent: ``user-admin/lying/user-admin``."""
        return "/".join((*self.folder.parts[-2:], self.file.name.removesuffix(SUFFIX)))
