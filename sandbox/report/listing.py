"""What a server declares, as ``hintproof list`` shows it; nothing was called."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sandbox.model import Declared, Hint, Hints, Remark, ServerFacts, Tool
from sandbox.report.console import Ink, hanging, show

_NAME_WIDTH = 32
_DEFAULTS: dict[Hint, str] = {
    Hint.READ_ONLY: "false",
    Hint.DESTRUCTIVE: "true",
    Hint.IDEMPOTENT: "false",
    Hint.OPEN_WORLD: "true",
}
"""What a client must assume where a hint is absent (MCP schema, ``ToolAnnotations``)."""


def render_listing(
    facts: ServerFacts,
    tools: Sequence[Tool],
    console: Console,
    *,
    remarks: Sequence[Remark] = (),
    secrets: Sequence[str] = (),
) -> None:
    """Print the server's facts and one row per tool: the four hints as sent, a default in brackets where absent."""
    ink = Ink(console, secrets)
    about = ink.theirs(f"{facts.name} {facts.version} · MCP {facts.protocol}, {facts.transport}", "bold")
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    table.add_column("tool", no_wrap=True)
    for hint in Hint:
        table.add_column(hint.value.removesuffix("Hint"), no_wrap=True)
    # The one column that may shrink, hence cut by its text and not by `no_wrap`.
    table.add_column("description", overflow="crop")
    for tool in tools:
        cells = [_cell(tool.hints, hint, ink) for hint in Hint]
        first_line = tool.description.strip().split("\n", 1)[0]
        description = ink.their_start(first_line, "dim", limit=120)
        table.add_row(ink.their_name(tool.name, _NAME_WIDTH), *cells, description)
    declared = sum(tool.hints.of(hint) is not Declared.ABSENT for tool in tools for hint in Hint)
    total = (
        f"{len(tools)} tools · {declared} of {len(Hint) * len(tools)} hints declared · (default where absent)"
    )
    show(console, hanging(ink.ours("server", "bold"), about), "", table, "", ink.ours(total))
    for remark in remarks:
        show(console, hanging(ink.ours("remark", "yellow"), ink.theirs(f"{remark.code}: {remark.text}")))


def _cell(hints: Hints, hint: Hint, ink: Ink) -> Text:
    match hints.of(hint):
        case Declared.TRUE:
            return ink.ours("true")
        case Declared.FALSE:
            return ink.ours("false")
        case Declared.MALFORMED:
            return ink.ours("malformed", "red")
        case Declared.ABSENT:
            return ink.ours(f"({_DEFAULTS[hint]})", "dim")
