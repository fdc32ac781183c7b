"""One command of hintproof on one server, as plain data that means the same on every host."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from sandbox.config import Settings
from sandbox.errors import NeedsInputError, TargetNotFoundError
from sandbox.model import Investigation, Json, Listing, Replay, Report, SavedFinding
from sandbox.policy import Profile, profile_named
from sandbox.targets.dockerrun import ImageOrder
from sandbox.targets.layers import Layer
from sandbox.targets.orders import PackageOrder

Answer: TypeAlias = Report | Investigation | Listing | Replay
"""What comes of a job, by its task."""


class Task(StrEnum):
    """What is to be done with the server."""

    VERIFY = "verify"
    INVESTIGATE = "investigate"
    LIST = "list"
    REPLAY = "replay"


_FILE_AND_NAME = re.compile(r"[\w@%+=:,./-]+#[\w@%+=:,./#-]+", re.ASCII)

ANSWERS: Mapping[Task, type[Answer]] = {
    Task.VERIFY: Report,
    Task.INVESTIGATE: Investigation,
    Task.LIST: Listing,
    Task.REPLAY: Replay,
}


@dataclass(frozen=True, slots=True)
class Job:
    """One thing to do with one server; nothing of it is resolved.

    ``run`` is the run's id, where evidence is kept. ``command`` is what the user typed in ``cwd``, an absolute
    path; ``invocation`` is hintproof's own command line, for the report. ``environ`` are the variables that
    decide what the words mean (PATH, HOME, ...; None: those of the process); in a container its own programs
    come after those in PATH. ``stands_for`` is the command that a runner among the words (npx, uvx) would run,
    where that is known already. ``image`` is the order where the server lies in an image; ``unpacked`` describes
    that image (UnpackedImage.encode) where it is unpacked already, "" where that is still to be done. ``package`` is the order
    where the server is a package to be installed for it, ``layer`` that package where it is installed already;
    ``refresh`` asks for a new installation.

    ``words`` name the server again on a command line typed in ``typed_in`` (after ``--`` a command); ``hidden`` are
    values among the rest that no output may show; ``notes`` are sentences for the report. ``problem`` says
    why the server cannot be run as it is ("" for nothing), ``lacking`` names what only the user can give.

    By task: ``examples`` are argument sets of the user by tool (verify); ``tool`` and ``arguments`` say what
    to call (investigate; None: generated arguments); ``proposals`` asks for the arguments that would be sent
    (list); ``finding`` is what to run again (replay).
    """

    task: Task
    command: tuple[str, ...]
    cwd: str
    settings: Settings
    run: str = ""
    invocation: tuple[str, ...] = ()
    environ: Mapping[str, str] | None = None
    stands_for: tuple[str, ...] = ()
    image: ImageOrder | None = None
    unpacked: str = ""
    words: tuple[str, ...] = ()
    typed_in: str = ""
    hidden: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    problem: str = ""
    lacking: tuple[str, ...] = ()
    package: PackageOrder | None = None
    layer: Layer | None = None
    refresh: bool = False
    examples: Mapping[str, tuple[dict[str, Json], ...]] = field(default_factory=dict)
    tool: str = ""
    arguments: dict[str, Json] | None = None
    proposals: bool = False
    finding: SavedFinding | None = None

    def check(self) -> None:
        """Raise TargetNotFoundError or NeedsInputError where the server cannot be run as it is."""
        if self.lacking:
            raise NeedsInputError(self.problem, self.lacking)
        if self.problem:
            raise TargetNotFoundError(self.problem)

    @property
    def profile(self) -> Profile:
        """The profile asked for."""
        return profile_named(self.settings.profile)

    @property
    def target(self) -> str:
        """What the user named in one line, as a shell would take it: a target, or the command."""
        named = self.words if self.words and self.words[0] != "--" else self.command
        # A shell takes # for a comment only where a word begins with it.
        return " ".join(word if _FILE_AND_NAME.fullmatch(word) else shlex.quote(word) for word in named)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that no output may show: those given with ``-e``, hintproof's own or that of ``docker run``, and those
        of the server's file."""
        return tuple(value for value in (*self.variables.values(), *self.hidden) if value)

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that the user gives the server."""
        return {**(self.image.env if self.image is not None else {}), **self.settings.env}
