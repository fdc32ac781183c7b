"""The settings of one run, as values: what each means, its unit and its default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from sandbox.model import FailOn, Limits, Severity

PROFILES = ("spec",)
"""What a hint's words can mean (design, section 2); further profiles come as data."""

TRANSPORTS = ("stdio", "http")

HOSTS = ("auto", "local", "docker")
"""Where the engine can be asked to run: here, in a container, or whichever works, in this order."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much a run may spend: ``seconds`` of wall time, ``calls`` in all; None is without a bound of that kind."""

    seconds: float | None = None
    calls: int | None = None


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds: ``start`` until the handshake is done, ``call`` until a reply, ``quiet`` for the server to
    settle after it."""

    start: float = 30.0
    call: float = 15.0
    quiet: float = 2.0


@dataclass(frozen=True, slots=True)
class AllowRule:
    """An effect that the user accepts: a ``path`` pattern or a ``host`` pattern (fnmatch), and always the
    reason.

    ``tool`` is a pattern over tool names. After ``expires`` the rule counts no longer. ``where`` is
    ``FILE:LINE``.
    """

    reason: str
    path: str = ""
    host: str = ""
    tool: str = "*"
    expires: date | None = None
    where: str = ""

    def active(self, today: date) -> bool:
        """Whether the rule still counts; its last day does."""
        return self.expires is None or today <= self.expires


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that a run is told, resolved once.

    ``workspace`` and ``expose`` are absolute; ``env`` are the ``-e`` variables with their values;
    ``closed_world`` are host names, lower case; ``tools`` patterns over tool names, empty for all;
    ``min_coverage`` a percentage of tools accepted at least once. ``source`` is the settings file that was
    read, if any.
    """

    host: str = "auto"
    profile: str = "spec"
    seed: int = 0
    budget: Budget = Budget()
    limits: Limits = field(default_factory=Limits)
    timeouts: Timeouts = Timeouts()
    workspace: Path | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    expose: tuple[Path, ...] = ()
    closed_world: tuple[str, ...] = ()
    transport: str = "stdio"
    port: int | None = None
    path: str = "/mcp"
    tools: tuple[str, ...] = ()
    fail_on: FailOn = FailOn.CONTRADICTED
    min_severity: Severity = Severity.LOW
    min_coverage: int = 0
    allow: tuple[AllowRule, ...] = ()
    source: Path | None = None
