"""Findings, reports and the other answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from sandbox.model.effects import Confidence, Effect
from sandbox.model.instruments import Instrument
from sandbox.model.trials import ToolEvidence, Trial
from sandbox.model.wire import Call, Declared, Hint, Proposal, Remark, Tool


class Verdict(StrEnum):
    """What a run says of one hint of one tool (design, section 3)."""

    CONTRADICTED = "contradicted"
    CONSISTENT = "consistent"
    OVERCAUTIOUS = "overcautious"
    INCONCLUSIVE = "inconclusive"
    UNDECLARED = "undeclared"
    MOOT = "moot"


class Severity(StrEnum):
    """How bad a contradiction is: high (loss, secrets sent, code run), medium (a write, contact), low."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class FailOn(StrEnum):
    """The least serious verdict that makes a run fail; each rung includes the ones above it."""

    CONTRADICTED = "contradicted"
    """A contradiction at certain or likely, and an effect that was observed once."""
    INCONCLUSIVE = "inconclusive"
    OVERCAUTIOUS = "overcautious"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a finding rests on: the trial, the deciding step's index, and the effects that decided."""

    trial: str
    step: int
    call: Call | None
    effects: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on one hint of one tool.

    ``id`` is the short digest that ``hintproof replay`` takes. ``reason`` is a code of the closed list in
    ``policy``, "" where the verdict needs none. ``why`` is one line for people. ``supports`` is the value of
    the hint that the evidence supports, or None. ``replay`` is the literal command that runs the finding
    again.
    """

    id: str
    tool: str
    hint: Hint
    declared: Declared
    verdict: Verdict
    reason: str
    why: str
    severity: Severity
    confidence: Confidence
    evidence: tuple[Evidence, ...] = ()
    supports: bool | None = None
    replay: str = ""


@dataclass(frozen=True, slots=True)
class ToolReport:
    """One tool in the report: its findings, its calls, and the annotations that the evidence supports."""

    tool: Tool
    findings: tuple[Finding, ...]
    tried: int
    accepted: int
    space: tuple[str, ...]
    space_missed: tuple[str, ...]
    refusals: tuple[str, ...]
    proposed: Mapping[str, bool]
    listed: tuple[Effect, ...] = ()
    """Effects worth showing that contradict nothing (incidental, first-use, secrets read, processes left)."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What the server said of itself in the handshake, plus how it was reached."""

    name: str
    version: str
    protocol: str
    era: str
    instructions: str = ""
    transport: str = "stdio"
    tool_count: int = 0


@dataclass(frozen=True, slots=True)
class Installation:
    """How the package that a server comes from was installed, in a box of its own and before anything was verified.

    ``package`` is ``npm:NAME@VERSION`` or ``pypi:NAME==VERSION``; ``installed_at`` is ISO 8601, UTC, and ``fresh``
    says that it was this run. ``packages`` is everything that was installed, as ``NAME==VERSION``; ``digest`` is that of
    the installed files, ``lock`` that of the exact versions. ``runtime`` are the versions of what it runs on.
    ``scripts`` says whether what a package wants run at its installation could run. ``before`` is a date (ISO) where
    dependencies are those of that day, for the server does not start on newer ones. ``effects`` are what
    the installation did outside the package's own folder; ``notes`` are sentences for people.
    """

    package: str
    installed_at: str
    packages: tuple[str, ...] = ()
    digest: str = ""
    lock: str = ""
    runtime: Mapping[str, str] = field(default_factory=dict)
    scripts: bool = True
    before: str = ""
    effects: tuple[Effect, ...] = ()
    notes: tuple[str, ...] = ()
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """One run over one target.

    ``command`` is the literal command line of the server, ``invocation`` of hintproof. ``instruments`` are
    those that worked; ``missing`` those that did not, with the reason. ``unreached`` names what was not
    reached (tools that were never called, a budget spent). ``complete`` is False when the run died or was
    stopped before its end. ``host`` is where the engine ran, ``local`` or ``docker``; ``host_image`` the digest
    of the container's image, "" without a container. ``installation`` is how the server's package came to be
    there, where hintproof installed it.
    """

    run: str
    target: str
    command: tuple[str, ...]
    invocation: tuple[str, ...]
    server: ServerFacts | None
    seed: int
    profile: str
    started_at: str
    duration_ms: float
    instruments: tuple[Instrument, ...]
    missing: tuple[tuple[Instrument, str], ...]
    tools: tuple[ToolReport, ...]
    remarks: tuple[Remark, ...] = ()
    unreached: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    complete: bool = True
    exit_code: int = 0
    host: str = "local"
    host_image: str = ""
    installation: Installation | None = None


@dataclass(frozen=True, slots=True)
class Investigation:
    """What one suspected tool did: the evidence with its trials, and a report of this tool alone."""

    report: Report
    evidence: ToolEvidence


@dataclass(frozen=True, slots=True)
class Listing:
    """The server's own words: its facts, its tools in its order, and what was odd about the listing.

    ``proposals`` are the arguments that would be sent to each tool first, where they were asked for.
    """

    facts: ServerFacts
    tools: tuple[Tool, ...]
    remarks: tuple[Remark, ...]
    proposals: Mapping[str, tuple[Proposal, ...]]


@dataclass(frozen=True, slots=True)
class SavedFinding:
    """A finding of an earlier run: its id and hint, the evidence of its tool, and the deciding trial."""

    id: str
    hint: Hint
    evidence: ToolEvidence
    trial: Trial


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of a finding that was run again: the new trial, whether the contradiction was seen again, and
    the two trials as evidence."""

    trial: Trial
    again: bool
    evidence: ToolEvidence
