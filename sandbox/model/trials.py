"""Trials: the steps that one tool was put through."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from sandbox.model.effects import Effect
from sandbox.model.instruments import Instrument
from sandbox.model.wire import Call, Reply, Tool


class StepKind(StrEnum):
    """What was done in one step of a trial."""

    IDLE = "idle"
    """The control: nothing is called, for as long as a call takes."""
    PREPARE = "prepare"
    """Another tool is called so that this one has something to work on."""
    CALL = "call"
    REPEAT = "repeat"
    """The same call with the same arguments once more."""
    SETTLE = "settle"
    """The long idle at the end of a box, for what happens late."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a trial: what was sent, what came back, and everything that changed.

    ``started_ms`` counts from the start of the trial. ``unreached`` names what the box prevented or could not
    do during the step (``refused-by-box``, ``box-limit``, ``world-unreachable``) with a sentence each.
    """

    kind: StepKind
    call: Call | None
    reply: Reply | None
    effects: tuple[Effect, ...]
    started_ms: float
    duration_ms: float
    quiet: bool = True
    unreached: tuple[tuple[str, str], ...] = ()


class Purpose(StrEnum):
    """Why a trial was made."""

    PROBE = "probe"
    CONFIRM = "confirm"
    FIRST_USE = "first-use"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Trial:
    """A session in one box and the steps made in it, as they concern one tool.

    ``id`` is unique in the run; ``box`` names the box, which trials of read-only tools share;
    ``instruments`` those that worked for the whole trial. ``confirms`` is the id of the trial whose
    effects this one tried to reproduce.
    """

    id: str
    tool: str
    purpose: Purpose
    box: str
    steps: tuple[Step, ...]
    instruments: frozenset[Instrument]
    confirms: str = ""


@dataclass(frozen=True, slots=True)
class ToolEvidence:
    """All that was found out about one tool: the judge's whole input, saved as JSON.

    ``tried`` and ``accepted`` count calls (repeats and confirmations left out); ``space`` names the parts of
    the input space that accepted calls covered (``minimal``, ``full``, ``mode=append``, ...),
    ``space_missed`` those that were refused or never sent. ``refusals`` are the last refusal texts. ``notes``
    are reason codes that bear on the tool as a whole (``budget-spent``, ``unstable-definition``,
    ``unattributed-late-effect``, ``crashed``, ``timed-out``, ``idle-writes``) with a sentence each.
    """

    tool: Tool
    trials: tuple[Trial, ...]
    tried: int
    accepted: int
    space: tuple[str, ...] = ()
    space_missed: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    closed_world: tuple[str, ...] = ()
