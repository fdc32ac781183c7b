"""Live progress of several servers on standard error: a table on a terminal, timestamped lines in a log."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from sandbox.events import Event, Progress, RunStarted, ServerListed, ToolStarted
from sandbox.policy import DONE, ServerClass, TargetResult
from sandbox.report.batch import duration, label, style_of
from sandbox.report.console import Ink, hanging

_NAME_WIDTH = 36


class BatchListener(Protocol):
    """Hears what becomes of the servers of a batch, each by its index, in one thread."""

    def began(self, index: int, name: str, phase: str) -> None:
        """A server's turn has come; ``phase`` is what is done with it first (``installing``, ``starting``)."""

    def heard(self, index: int, event: Event) -> None:
        """Something happened to a server."""

    def ended(self, result: TargetResult) -> None:
        """A server was dealt with."""

    def passed(self) -> None:
        """Time passed."""


@dataclass(slots=True)
class _Row:
    """A server that is being dealt with."""

    name: str
    phase: str
    detail: str = ""
    since: float = field(default_factory=time.monotonic)


class Board:
    """How far a batch of ``total`` servers is; ``before`` were dealt with by an earlier command, ``jobs`` run at once."""

    def __init__(self, total: int, before: tuple[TargetResult, ...], jobs: int) -> None:
        self.total = total
        self.rows: dict[int, _Row] = {}
        self.classes = Counter(result.server_class for result in before)
        self._jobs = max(jobs, 1)
        self._spent = [result.seconds for result in before]

    @property
    def done(self) -> int:
        """Servers that were dealt with."""
        return self.classes.total()

    @property
    def left(self) -> int:
        """Servers whose turn is still to come."""
        return self.total - self.done - len(self.rows)

    def began(self, index: int, name: str, phase: str) -> None:
        """A server's turn has come."""
        self.rows[index] = _Row(label(name), phase)

    def heard(self, index: int, event: Event) -> bool:
        """Take an event; returns whether the server's phase is another one now."""
        row = self.rows[index]
        before = row.phase
        match event:
            case RunStarted():
                row.phase, row.detail = "starting", ""
            case Progress(note=note):
                row.detail = note
            case ServerListed(facts=facts):
                row.phase, row.detail = (
                    "running",
                    f"{facts.tool_count} tool{'' if facts.tool_count == 1 else 's'}",
                )
            case ToolStarted(tool=tool, index=number, of=of):
                row.phase, row.detail = "running", f"{number}/{of} {tool}"
        return row.phase != before

    def ended(self, result: TargetResult) -> None:
        """A server was dealt with."""
        self.rows.pop(result.index, None)
        self.classes[result.server_class] += 1
        self._spent.append(result.seconds)

    def remaining_s(self) -> float | None:
        """About how long it will take still, from what the others took; None before one was dealt with."""
        if not self._spent:
            return None
        each = sum(self._spent) / len(self._spent)
        now = time.monotonic()
        running = sum(max(each - (now - row.since), 0.0) for row in self.rows.values())
        return (each * self.left + running) / self._jobs

    def tally(self) -> str:
        """The counts in one line: done, failed, running, left, and the time that is left."""
        good = sum(count for server_class, count in self.classes.items() if server_class in DONE)
        parts = [f"{self.done} of {self.total} done"]
        if self.classes[ServerClass.CONTRADICTED]:
            parts.append(f"{self.classes[ServerClass.CONTRADICTED]} contradicted")
        if self.done > good:
            parts.append(f"{self.done - good} failed")
        parts.append(f"{len(self.rows)} running")
        if self.left:
            parts.append(f"{self.left} waiting")
        remaining = self.remaining_s()
        if remaining is not None and (self.left or self.rows):
            parts.append(f"about {duration(max(remaining, 1))} left")
        return " · ".join(parts)


@contextmanager
def batch_progress(console: Console, board: Board) -> Iterator[BatchListener]:
    """A listener that shows on ``console`` (standard error) how a batch goes, until the block ends."""
    ink = Ink(console)
    if not console.is_terminal or console.is_dumb_terminal:
        yield _LogLines(console, ink, board)
        return
    with Live(console=console, refresh_per_second=4, transient=True) as live:
        yield _LiveTable(live, ink, board)


class _LiveTable:
    """The servers that are being dealt with, always current; those that were dealt with stay above it."""

    def __init__(self, live: Live, ink: Ink, board: Board) -> None:
        self._live = live
        self._ink = ink
        self._board = board
        self._drawn = 0.0

    def began(self, index: int, name: str, phase: str) -> None:
        self._board.began(index, name, phase)
        self._draw()

    def heard(self, index: int, event: Event) -> None:
        self._draw(now=self._board.heard(index, event))

    def ended(self, result: TargetResult) -> None:
        self._board.ended(result)
        server_class = self._ink.ours(result.server_class.value, style_of(result.server_class))
        text = f"{label(result.name)}: {_told(result)}"
        self._live.console.print(hanging(server_class, self._ink.theirs(text, limit=200)))
        self._draw()

    def passed(self) -> None:
        self._draw()

    def _draw(self, *, now: bool = True) -> None:
        if not now and time.monotonic() - self._drawn < 0.1:
            return
        self._drawn = time.monotonic()
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True, justify="right")
        table.add_column(no_wrap=True, max_width=_NAME_WIDTH)
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, justify="right")
        table.add_column(no_wrap=True, ratio=1)
        for index, row in sorted(self._board.rows.items()):
            table.add_row(
                self._ink.ours(f"{index + 1}", "dim"),
                self._ink.their_start(row.name, "bold", limit=80),
                self._ink.ours(row.phase),
                self._ink.ours(duration(time.monotonic() - row.since), "dim"),
                self._ink.their_start(row.detail, "dim", limit=120),
            )
        self._live.update(Group(table, self._ink.ours(self._board.tally(), "bold")), refresh=now)


class _LogLines:
    """A line when a server's phase changes and one when it was dealt with, never rewritten."""

    def __init__(self, console: Console, ink: Ink, board: Board) -> None:
        self._console = console
        self._ink = ink
        self._board = board

    def began(self, index: int, name: str, phase: str) -> None:
        self._board.began(index, name, phase)
        self._log(index, name, phase)

    def heard(self, index: int, event: Event) -> None:
        if not self._board.heard(index, event):
            return
        row = self._board.rows[index]
        self._log(index, row.name, f"{row.phase}, {row.detail}" if row.detail else row.phase)

    def ended(self, result: TargetResult) -> None:
        self._board.ended(result)
        self._log(result.index, result.name, f"{result.server_class.value}: {_told(result)}")
        self._print(self._ink.ours(self._board.tally()))

    def passed(self) -> None:
        pass

    def _log(self, index: int, name: str, text: str) -> None:
        self._print(self._ink.theirs(f"[{index + 1}/{self._board.total}] {label(name)}: {text}"))

    def _print(self, text: Text) -> None:
        self._console.print(Text.assemble(f"{time.strftime('%H:%M:%S')} ", text), soft_wrap=True)


def _told(result: TargetResult) -> str:
    tools = f"{result.accepted} of {result.listed} tools accepted" if result.listed else ""
    if result.server_class is ServerClass.LISTED:
        tools = f"{result.listed} tools"
    return ", ".join(filter(None, [tools, duration(result.seconds), result.why[:120]]))
