"""The verdict table of one server: what needs attention row by row, what is in order in one row per tool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table

from sandbox.model import Declared, Finding, Hint, ToolReport, Verdict
from sandbox.report.console import PLAIN_WIDTH, Ink

STYLES: dict[Verdict, str] = {
    Verdict.CONTRADICTED: "bold red",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.OVERCAUTIOUS: "cyan",
    Verdict.CONSISTENT: "green",
    Verdict.UNDECLARED: "dim",
    Verdict.MOOT: "dim",
}

_DECLARED = {
    Declared.TRUE: "true",
    Declared.FALSE: "false",
    Declared.ABSENT: "–",
    Declared.MALFORMED: "malformed",
}
_NAME_WIDTH, _NARROW_NAME_WIDTH = 24, 16
_IN_ORDER = (Verdict.CONSISTENT, Verdict.UNDECLARED, Verdict.MOOT)


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the hints it speaks of, what was declared for each, and the verdict that they share."""

    tool: str
    hints: tuple[str, ...]
    declared: tuple[str, ...]
    verdict: Verdict
    why: str


def verdict_table(tools: Sequence[ToolReport], ink: Ink, *, width: int, verbose: bool = False) -> Table:
    """The table of all tools for ``width`` columns; with ``verbose`` every finding has a row of its own."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for title in ("tool", "hint", "declared", "verdict"):
        table.add_column(title, no_wrap=True)
    table.add_column("why", overflow="fold", ratio=1)
    name_width = _NAME_WIDTH if width >= PLAIN_WIDTH else _NARROW_NAME_WIDTH
    for tool in tools:
        previous = None
        for row in rows_of(tool, verbose=verbose):
            name = ink.their_name(row.tool if row.tool != previous else "", name_width)
            verdict = ink.ours(row.verdict.value, STYLES[row.verdict])
            hints, declared = ink.ours("\n".join(row.hints)), ink.ours("\n".join(row.declared))
            table.add_row(name, hints, declared, verdict, ink.theirs(row.why, limit=160))
            previous = row.tool
    return table


def rows_of(tool: ToolReport, *, verbose: bool = False) -> list[Row]:
    """The rows of one tool, what needs attention first."""
    if verbose:
        return [_row([finding], _reasoned(finding)) for finding in tool.findings]
    attention: dict[tuple[Verdict, str, str], list[Finding]] = {}
    for finding in tool.findings:
        if not _in_order(finding):
            alone = finding.hint.value if finding.evidence else ""
            attention.setdefault((finding.verdict, finding.reason, alone), []).append(finding)
    rows = [_row(group, _reasoned(group[0])) for group in attention.values()]
    rows.sort(key=lambda row: list(STYLES).index(row.verdict))
    return [*rows, *_in_order_row(tool)]


def _in_order(finding: Finding) -> bool:
    return finding.verdict in _IN_ORDER and not finding.reason


def _in_order_row(tool: ToolReport) -> Iterator[Row]:
    """What is consistent and what is undeclared, in one row; what is moot goes without saying."""
    consistent = [
        finding for finding in tool.findings if finding.verdict is Verdict.CONSISTENT and _in_order(finding)
    ]
    undeclared = [
        finding for finding in tool.findings if finding.verdict is Verdict.UNDECLARED and _in_order(finding)
    ]
    told = consistent or undeclared
    if not told:
        return
    parts = [f"{tool.accepted} of {tool.tried} calls accepted"]
    supported = [
        f"{_short(finding)} {str(finding.supports).lower()}"
        for finding in undeclared
        if finding.supports is not None
    ]
    if undeclared and consistent:
        parts.append(f"undeclared: {', '.join(map(_short, undeclared))}")
    if supported:
        parts.append(f"evidence supports {', '.join(supported)}")
    yield _row(told, "; ".join(parts))


def _row(findings: Sequence[Finding], why: str) -> Row:
    hints = tuple(finding.hint.value for finding in findings)
    declared = tuple(_DECLARED[finding.declared] for finding in findings)
    if len(hints) == len(Hint) and len(set(declared)) == 1:
        hints, declared = ("all four",), declared[:1]
    return Row(findings[0].tool, hints, declared, findings[0].verdict, why)


def _short(finding: Finding) -> str:
    return finding.hint.value.removesuffix("Hint")


def _reasoned(finding: Finding) -> str:
    return f"{finding.reason}: {finding.why}" if finding.reason else finding.why
