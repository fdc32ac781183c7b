"""What the engine tells while it works.

The engine emits; terminal progress, the stream out of a container and every report listen. No stage prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, TypeAlias

from sandbox.model import Call, Finding, Remark, Reply, Report, ServerFacts, Tool, ToolReport


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run began: its id, the target as the user named it, and the server's literal command line."""

    run: str
    target: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ServerListed:
    """The handshake is done and all pages of the tool list are read."""

    facts: ServerFacts
    tools: tuple[Tool, ...]


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is being probed: the ``index``-th (from 1) of ``of``."""

    tool: str
    index: int
    of: int


@dataclass(frozen=True, slots=True)
class CallFinished:
    """A call ended and its effects are collected; ``effects`` is how many there were."""

    call: Call
    reply: Reply
    effects: int


@dataclass(frozen=True, slots=True)
class FindingMade:
    """A verdict on one hint is final."""

    finding: Finding


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A tool is done, with everything the report will say of it."""

    report: ToolReport


@dataclass(frozen=True, slots=True)
class RemarkMade:
    """Something worth telling that is not a verdict."""

    remark: Remark


@dataclass(frozen=True, slots=True)
class Progress:
    """What the engine is doing now, one line for people (``starting the server``)."""

    note: str


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The run is over and this is its whole report."""

    report: Report


Event: TypeAlias = (
    RunStarted
    | ServerListed
    | ToolStarted
    | CallFinished
    | FindingMade
    | ToolFinished
    | RemarkMade
    | Progress
    | RunFinished
)
"""Everything that a listener can hear."""


class Listener(Protocol):
    """Hears events in the order they happened, in the engine's own thread: it must not block."""

    def __call__(self, event: Event, /) -> None:
        """Take one event."""


def starting_once(listener: Listener) -> Listener:
    """Passes on that a run began only when more comes: an engine that cannot run it has nothing more to tell, and
    another one will begin it again."""
    waiting: list[Event] = []

    def tell(event: Event, /) -> None:
        if isinstance(event, RunStarted):
            waiting.append(event)
            return
        while waiting:
            listener(waiting.pop())
        listener(event)

    return tell
