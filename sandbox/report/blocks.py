"""One block per contradiction: the smallest call, what it did and when, the diff, and how to run it again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sandbox.model import Call, Effect, Finding, Json, Verdict, Weight
from sandbox.report.console import Ink, hanging
from sandbox.report.table import STYLES

_EFFECTS_SHOWN = 6
_DIFF_LINES_SHOWN = 10


def contradiction_block(
    finding: Finding, proposed: Mapping[str, bool], ink: Ink, *, verbose: bool = False
) -> Group:
    """Everything that a reader needs to believe one finding, or to run it again."""
    declared = json.dumps(finding.declared.wire)
    title = Text.assemble(
        ink.theirs(finding.tool, "bold", limit=80),
        ink.ours(f" · {finding.hint.value} {declared} · "),
        ink.ours(finding.verdict.value, STYLES[finding.verdict]),
        ink.ours(f" · {finding.severity.value}, {finding.confidence.value}"),
        ink.ours(f" · {finding.reason}" if finding.reason else ""),
    )
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in _facts(finding, ink, verbose):
        grid.add_row(label, text)
    if finding.verdict is Verdict.CONTRADICTED:
        grid.add_row("proposed", ink.ours(json.dumps(dict(proposed))))
    grid.add_row("replay", ink.ours(finding.replay, "bold"))
    return Group(hanging(ink.ours("✗", STYLES[finding.verdict]), title), Padding(grid, (0, 0, 0, 2)))


def call_line(call: Call, ink: Ink, limit: int = 400) -> Text:
    """A call on one line: the tool and its arguments as JSON."""
    name = ink.theirs(call.tool, limit=80)
    return Text.assemble(name, " ", ink.theirs(arguments_text(call.arguments), limit=limit))


def arguments_text(arguments: Mapping[str, Json]) -> str:
    """Arguments as JSON, readable: letters of every script as themselves (escaping is the printer's)."""
    return json.dumps(dict(arguments), ensure_ascii=False, default=dict)


def who(effect: Effect) -> str:
    """The process that an effect is attributed to: ``python3[12]``, or a dash where none is known."""
    name = PurePosixPath(effect.executable).name
    return f"{name or '?'}[{effect.pid}]" if effect.pid else name or "–"


def what(effect: Effect) -> str:
    """An effect in words: its kind, what happened, to what, and its weight where it is not material."""
    known = PurePosixPath(effect.subject.split("#", 1)[0]).name in effect.summary
    subject = "" if known else f" ({effect.subject})"
    weight = "" if effect.weight is Weight.MATERIAL else f" [{effect.weight.value}]"
    return f"{effect.kind.value}  {effect.summary}{subject}{weight}"


def _facts(finding: Finding, ink: Ink, verbose: bool) -> Iterator[tuple[str, Text]]:
    first = finding.evidence[0]
    if first.call is not None:
        yield "call", call_line(first.call, ink, limit=4000 if verbose else 400)
    shown = first.effects if verbose else first.effects[:_EFFECTS_SHOWN]
    for index, effect in enumerate(shown):
        when = ink.ours(f"{effect.at_ms:5.0f} ms  ")
        process = Text.assemble(ink.theirs(who(effect), limit=40), "  ")
        yield "" if index else "effects", Text.assemble(when, process, ink.theirs(what(effect), limit=300))
    if len(first.effects) > len(shown):
        yield "", ink.ours(f"… {len(first.effects) - len(shown)} more")
    changes = "\n".join(filter(None, map(_change, first.effects)))
    if changes:
        lines = ink.their_lines(changes, 400 if verbose else _DIFF_LINES_SHOWN)
        yield "diff", Text("\n").join(Text(line, _diff_style(line)) for line in lines)
    if len(finding.evidence) > 1:
        more = len(finding.evidence) - 1
        yield "also", ink.ours(f"in {more} other call{'s' if more > 1 else ''} (see the JSON report)")


def _change(effect: Effect) -> str:
    """What changed, as lines of a diff: the text diff, or the row or record before and after."""
    if effect.diff:
        return effect.diff.removeprefix("--- before\n+++ after\n").strip("\n")
    sides = (("-", "before"), ("+", "after"))
    return "\n".join(
        f"{sign} {json.dumps(effect.detail[side], ensure_ascii=False)}"
        for sign, side in sides
        if effect.detail.get(side)
    )


def _diff_style(line: str) -> str:
    return {"+": "green", "-": "red"}.get(line[:1], "")
