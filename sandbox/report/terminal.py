"""The report on a terminal or in a log: a table, a block per contradiction, and a closing summary."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import Console, Group, RenderableType

from sandbox.model import EffectKind, Finding, Report, ToolReport, Verdict
from sandbox.policy import Reason
from sandbox.report.blocks import contradiction_block, what
from sandbox.report.console import Ink, hanging, show
from sandbox.report.installed import installation_lines
from sandbox.report.table import STYLES, verdict_table

_LINES_SHOWN = 5
_INSTALLATION_LINES = 20
_NOTED = frozenset({EffectKind.SECRET_READ, EffectKind.PROCESS_LEFT})


def render_report(
    report: Report, console: Console, *, secrets: Sequence[str] = (), verbose: bool = False
) -> None:
    """Print the whole report. ``secrets`` are values that must not appear; ``verbose`` leaves nothing out."""
    ink = Ink(console, secrets)
    table = verdict_table(report.tools, ink, width=console.width, verbose=verbose)
    show(console, _title(report, ink), "", table)
    for block in _blocks(report, ink, verbose):
        show(console, "", block)
    if report.installation is not None:
        lines = installation_lines(report.installation)
        show(console, "", _section("installation", lines, ink, verbose, most=_INSTALLATION_LINES))
    sections = {
        "also seen": _also_seen(report, verbose),
        "proposed annotations": _proposed(report) if verbose else [],
        "remarks": _remarks(report),
    }
    for heading, lines in sections.items():
        if lines:
            show(console, "", _section(heading, lines, ink, verbose))
    show(console, "", _summary(report, ink, verbose))


def needs_block(finding: Finding, *, verbose: bool = False) -> bool:
    """Whether a finding is shown with its evidence: a contradiction, and an effect that was observed once.

    With ``verbose`` also every other suspicion.
    """
    if not finding.evidence:
        return False
    suspected = finding.reason == Reason.OBSERVED_ONCE or verbose
    return finding.verdict is Verdict.CONTRADICTED or (finding.verdict is Verdict.INCONCLUSIVE and suspected)


def _title(report: Report, ink: Ink) -> RenderableType:
    title = ink.theirs(report.target, "bold", limit=120)
    if report.server is not None:
        server = report.server
        title.append_text(ink.theirs(f" · {server.name} {server.version}".rstrip(), limit=80))
        title.append_text(ink.theirs(f" · MCP {server.protocol}, {server.transport}", limit=60))
    return hanging(ink.ours("hintproof", "bold"), title)


def _blocks(report: Report, ink: Ink, verbose: bool) -> Iterator[Group]:
    shown: list[tuple[Finding, ToolReport]] = [
        (finding, tool)
        for tool in report.tools
        for finding in tool.findings
        if needs_block(finding, verbose=verbose)
    ]
    for finding, tool in sorted(shown, key=lambda pair: pair[0].verdict is not Verdict.CONTRADICTED):
        yield contradiction_block(finding, tool.proposed, ink, verbose=verbose)


def _also_seen(report: Report, verbose: bool) -> list[str]:
    return [
        f"{tool.tool.name}: {what(effect)}"
        for tool in report.tools
        for effect in tool.listed
        if verbose or effect.kind in _NOTED
    ]


def _proposed(report: Report) -> list[str]:
    return [f"{tool.tool.name}: {json.dumps(dict(tool.proposed))}" for tool in report.tools]


def _remarks(report: Report) -> list[str]:
    return [
        f"{remark.code}: {f'{remark.tool}: ' if remark.tool else ''}{remark.text}"
        for remark in report.remarks
    ]


def _section(
    heading: str, lines: Sequence[str], ink: Ink, verbose: bool, *, most: int = _LINES_SHOWN
) -> Group:
    shown = lines if verbose else lines[:most]
    printed: list[RenderableType] = [ink.ours(heading, "bold")]
    printed += [hanging(" ", ink.theirs(line)) for line in shown]
    if len(lines) > len(shown):
        printed.append(ink.ours(f"  … {len(lines) - len(shown)} more (-v)"))
    return Group(*printed)


def _summary(report: Report, ink: Ink, verbose: bool) -> Group:
    counts = Counter(finding.verdict for tool in report.tools for finding in tool.findings)
    verdicts = [
        ink.ours(f"{counts[verdict]} {verdict.value}", style)
        for verdict, style in STYLES.items()
        if counts[verdict] or verdict is Verdict.CONTRADICTED
    ]
    accepted = sum(1 for tool in report.tools if tool.accepted)
    calls, good = sum(tool.tried for tool in report.tools), sum(tool.accepted for tool in report.tools)
    lines: list[RenderableType] = [
        ink.ours(" · ").join(verdicts),
        ink.ours(
            f"{accepted} of {len(report.tools)} tools accepted · {good} of {calls} calls accepted · "
            f"{report.duration_ms / 1000:.1f} s · seed {report.seed} · profile {report.profile} · "
            f"{_host(report)}"
        ),
    ]
    if counts[Verdict.CONSISTENT]:
        lines.append(ink.ours("consistent: state kept only in a server's memory was not visible", "dim"))
    lines += [
        hanging(ink.ours(f"without {instrument.value}:", "yellow"), ink.theirs(why))
        for instrument, why in report.missing
    ]
    lines += _unreached(report, ink, verbose)
    if not report.complete:
        lines.append(ink.ours("the run was stopped before its end", "yellow"))
    lines.append(ink.ours(_more(report, verbose), "dim"))
    return Group(*lines)


def _host(report: Report) -> str:
    """Where the sandbox was; of a container's image as much as `docker images` shows."""
    image = report.host_image.removeprefix("sha256:")[:12]
    return f"host {report.host}, image {image}" if image else f"host {report.host}"


def _unreached(report: Report, ink: Ink, verbose: bool) -> Iterator[RenderableType]:
    shown = report.unreached if verbose else report.unreached[:_LINES_SHOWN]
    for entry in shown:
        yield hanging(ink.ours("not reached:", "yellow"), ink.theirs(entry, limit=200))
    if len(report.unreached) > len(shown):
        yield ink.ours(f"not reached: … {len(report.unreached) - len(shown)} more (-v)", "yellow")


def _more(report: Report, verbose: bool) -> str:
    """How to see more: the reasons that were given, the verbose form, and where the run is kept."""
    reasons = sorted({finding.reason for tool in report.tools for finding in tool.findings if finding.reason})
    explain = f"hintproof explain {reasons[0]}" if len(reasons) == 1 else "hintproof explain CODE"
    ways = [
        f"run {report.run}",
        *([] if verbose else ["-v for every finding"]),
        *([explain] if reasons else []),
    ]
    return f"more: {' · '.join(ways)}"
