"""Live progress on standard error: a status line on a terminal, timestamped lines in a log."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console
from rich.status import Status
from rich.text import Text

from sandbox.events import (
    CallFinished,
    Event,
    FindingMade,
    Listener,
    Progress,
    RemarkMade,
    RunFinished,
    RunStarted,
    ServerListed,
    ToolFinished,
    ToolStarted,
)
from sandbox.model import ToolReport, Verdict
from sandbox.report.console import Ink, hanging
from sandbox.report.table import STYLES


@contextmanager
def progress(console: Console, secrets: Sequence[str] = ()) -> Iterator[Listener]:
    """A listener that shows on ``console`` (standard error) what the engine does, until the block ends."""
    ink = Ink(console, secrets)
    if console.is_terminal and not console.is_dumb_terminal:
        with console.status("") as status:
            yield _LiveLine(console, status, ink)
    else:
        yield _LogLines(console, ink)


class _LiveLine:
    """One status line that is always current; contradictions stay above it."""

    def __init__(self, console: Console, status: Status, ink: Ink) -> None:
        self._console = console
        self._status = status
        self._ink = ink
        self._tool = Text()
        self._calls = 0
        self._contradicted = 0

    def __call__(self, event: Event, /) -> None:
        match event:
            case RunStarted(target=target):
                self._show(self._ink.theirs(f"{target}: starting", limit=80))
            case ServerListed(facts=facts, tools=tools):
                self._show(self._ink.theirs(f"{facts.name}: {len(tools)} tools", limit=80))
            case Progress(note=note):
                self._show(self._ink.theirs(note, limit=80))
            case ToolStarted(tool=tool, index=index, of=of):
                self._tool = Text.assemble(f"{index}/{of} ", self._ink.theirs(tool, "bold", limit=40))
                self._show(self._tool)
            case CallFinished():
                self._calls += 1
                self._show(self._tool)
            case FindingMade(finding=finding) if finding.verdict is Verdict.CONTRADICTED:
                self._contradicted += 1
                line = f"{finding.tool} {finding.hint.value} contradicted: {finding.why}"
                style = STYLES[finding.verdict]
                self._console.print(
                    hanging(self._ink.ours("✗", style), self._ink.theirs(line, style, limit=200))
                )
            case FindingMade() | ToolFinished() | RemarkMade() | RunFinished():
                pass

    def _show(self, head: Text) -> None:
        tally = self._ink.ours(f" · {self._calls} calls · {self._contradicted} contradicted", "dim")
        line = Text.assemble(head, tally)
        line.truncate(max(self._console.width - 4, 20), overflow="ellipsis")
        self._status.update(line)


class _LogLines:
    """A line per tool with the time of day, never rewritten."""

    def __init__(self, console: Console, ink: Ink) -> None:
        self._console = console
        self._ink = ink
        self._place: dict[str, str] = {}

    def __call__(self, event: Event, /) -> None:
        match event:
            case RunStarted(run=run, target=target):
                self._log(f"run {run}: {target}")
            case ServerListed(facts=facts, tools=tools):
                self._log(f"{facts.name} {facts.version} lists {len(tools)} tools")
            case ToolStarted(tool=tool, index=index, of=of):
                self._place[tool] = f"[{index}/{of}] "
            case ToolFinished(report=report):
                self._log(f"{self._place.get(report.tool.name, '')}{_outcome(report)}")
            case RemarkMade(remark=remark):
                self._log(f"remark {remark.code}: {remark.text}")
            case Progress(note=note):
                self._log(note)
            case RunFinished(report=report):
                self._log(f"done in {report.duration_ms / 1000:.1f} s")
            case CallFinished() | FindingMade():
                pass

    def _log(self, text: str) -> None:
        clock = time.strftime("%H:%M:%S")
        self._console.print(Text.assemble(f"{clock} ", self._ink.theirs(text)), soft_wrap=True)


def _outcome(report: ToolReport) -> str:
    counts: dict[Verdict, int] = {}
    for finding in report.findings:
        counts[finding.verdict] = counts.get(finding.verdict, 0) + 1
    verdicts = ", ".join(f"{counts[verdict]} {verdict.value}" for verdict in STYLES if verdict in counts)
    return f"{report.tool.name}: {report.accepted} of {report.tried} calls accepted; {verdicts}"
