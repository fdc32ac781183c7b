"""Every effect of a tool's calls on a timeline, as ``hintproof investigate`` shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from sandbox.model import Reply, Step, StepKind, ToolReport, Trial
from sandbox.report.blocks import arguments_text, contradiction_block, what, who
from sandbox.report.console import Ink, hanging, show
from sandbox.report.table import verdict_table
from sandbox.report.terminal import needs_block


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """One moment of a trial: milliseconds from its start, the process where known, and what happened."""

    at_ms: float
    process: str
    what: str
    kind: str
    """``step``, ``effect`` or ``reply``."""


def timeline(trial: Trial) -> tuple[TimelineRow, ...]:
    """The moments of one trial in their order: each step, its effects, its reply. Text is not yet escaped."""
    return tuple(row for step in trial.steps for row in _step_rows(step))


def render_timeline(
    trials: Sequence[Trial],
    report: ToolReport,
    console: Console,
    *,
    secrets: Sequence[str] = (),
    verbose: bool = False,
) -> None:
    """Print every trial as a timeline, then the verdicts and a block for each contradiction."""
    ink = Ink(console, secrets)
    for trial in trials:
        about = f" (confirms {trial.confirms})" if trial.confirms else ""
        heading = ink.theirs(f"{trial.id} · {trial.purpose.value}{about} · box {trial.box}", "bold")
        rows = _table(timeline(trial), ink, limit=4000 if verbose else 300)
        show(console, hanging(ink.ours("trial", "bold"), heading), rows, "")
    show(console, verdict_table([report], ink, width=console.width, verbose=True))
    for finding in report.findings:
        if needs_block(finding, verbose=True):
            show(console, "", contradiction_block(finding, report.proposed, ink, verbose=verbose))


def _table(rows: Sequence[TimelineRow], ink: Ink, limit: int) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    table.add_column("ms", justify="right", no_wrap=True)
    table.add_column("process", overflow="fold", max_width=24)
    table.add_column("what", overflow="fold", ratio=1)
    for row in rows:
        style = {"step": "bold", "effect": "", "reply": "dim"}[row.kind]
        table.add_row(
            f"{row.at_ms:.1f}", ink.theirs(row.process, limit=60), ink.theirs(row.what, style, limit)
        )
    return table


def _step_rows(step: Step) -> Iterator[TimelineRow]:
    yield TimelineRow(step.started_ms, "", _heading(step), "step")
    moments = [
        TimelineRow(step.started_ms + effect.at_ms, who(effect), what(effect), "effect")
        for effect in step.effects
    ]
    if step.reply is not None:
        moments.append(TimelineRow(step.started_ms + step.reply.elapsed_ms, "", _told(step.reply), "reply"))
    yield from sorted(moments, key=lambda row: row.at_ms)
    for code, sentence in step.unreached:
        yield TimelineRow(step.started_ms + step.duration_ms, "", f"{code}: {sentence}", "effect")


def _heading(step: Step) -> str:
    if step.call is None:
        name = {StepKind.IDLE: "idle (the control)", StepKind.SETTLE: "the long idle at the end"}
        return name.get(step.kind, step.kind.value)
    return f"{step.kind.value} {step.call.tool} {arguments_text(step.call.arguments)}"


def _told(reply: Reply) -> str:
    reason = f" ({reply.reason})" if reply.reason else ""
    return (
        f"reply {reply.outcome.value}{reason}: {reply.text}"
        if reply.text
        else f"reply {reply.outcome.value}{reason}"
    )
