"""Several servers in one report: a table with a row for each, and the JSON document with its published schema."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from typing import Any

from rich.console import Console
from rich.table import Table

from sandbox.policy import DONE, BatchFacts, ServerClass, TargetResult, counted
from sandbox.report.console import PLAIN_WIDTH, Ink, hanging, show

FORMAT = "hintproof.batch/1"

CLASS_STYLES: dict[ServerClass, str] = {
    ServerClass.VERIFIED: "green",
    ServerClass.LISTED: "green",
    ServerClass.CONTRADICTED: "bold red",
    ServerClass.OUR_FAULT: "bold magenta",
}
"""The style of each class; the others are yellow."""

_NAME_WIDTH, _NARROW_NAME_WIDTH = 34, 22


def render_batch(facts: BatchFacts, console: Console, *, verbose: bool = False) -> None:
    """Print the table of all servers and the closing lines; with ``verbose`` each error whole."""
    ink = Ink(console)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold", pad_edge=False)
    for title in ("#", "server", "class", "tools", "time"):
        table.add_column(title, no_wrap=True, justify="right" if title in ("#", "tools", "time") else "left")
    table.add_column("why", overflow="fold", ratio=1)
    name_width = _NAME_WIDTH if console.width >= PLAIN_WIDTH else _NARROW_NAME_WIDTH
    for result in facts.results:
        table.add_row(
            ink.ours(str(result.index + 1)),
            ink.their_name(label(result.name), name_width),
            ink.ours(result.server_class.value, style_of(result.server_class)),
            ink.ours(f"{result.accepted}/{result.listed}" if result.listed else ""),
            ink.ours(duration(result.seconds)),
            ink.theirs(result.why, limit=160),
        )
    show(console, table)
    if verbose:
        for result in facts.results:
            if result.error:
                said = Table.grid()
                for line in ink.their_lines(result.error, 40):
                    said.add_row(line)
                show(console, "", hanging(ink.their_name(label(result.name), name_width, "bold"), said))
    show(console, "", *(ink.ours(line) for line in _closing(facts, verbose)))


def style_of(server_class: ServerClass) -> str:
    """How a class is drawn."""
    return CLASS_STYLES.get(server_class, "yellow")


def label(name: str) -> str:
    """A target's name as a table has room for it: of words that are absolute paths, the last part."""
    return " ".join(
        word.rstrip("/").rsplit("/", 1)[-1] if word[:1] == "/" else word for word in name.split(" ")
    )


def duration(seconds: float) -> str:
    """A length of time for people: ``4.2 s``, ``3 min 5 s``, ``2 h 4 min``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min"


def _closing(facts: BatchFacts, verbose: bool) -> Iterator[str]:
    counts = ", ".join(
        f"{count} {server_class.value}" for server_class, count in counted(facts.results).items()
    )
    yield f"{facts.targets} servers: {counts}"
    listed, accepted = _tools(facts)
    contradicted = sum(result.contradicted for result in facts.results)
    yield (
        f"{accepted} of {listed} tools accepted · {contradicted} hint{'' if contradicted == 1 else 's'} contradicted · {duration(facts.seconds)} · "
        f"jobs {facts.jobs} · exit code {int(facts.exit_code)}"
    )
    if facts.batch:
        run = next((result.run for result in facts.results if result.run), "")
        ways = [f"batch {facts.batch}", *([f"hintproof judge {run}"] if run else [])]
        yield f"more: {' · '.join([*ways, *([] if verbose else ['-v for whole errors'])])}"


def _tools(facts: BatchFacts) -> tuple[int, int]:
    return sum(result.listed for result in facts.results), sum(result.accepted for result in facts.results)


def batch_json(
    facts: BatchFacts, report_of: Callable[[TargetResult], dict[str, Any] | None]
) -> Iterator[str]:
    """The JSON document in pieces, valid against :func:`batch_schema`: reports of many servers are many megabytes, and
    only one is in memory at a time. ``report_of`` loads the report of a result, None where there is none."""
    listed, accepted = _tools(facts)
    head = {
        "schema": FORMAT,
        "batch": facts.batch,
        "invocation": facts.invocation,
        "started_at": facts.started_at,
        "duration_ms": round(facts.seconds * 1000, 3),
        "jobs": facts.jobs,
        "complete": facts.complete,
        "exit_code": int(facts.exit_code),
        "summary": {
            "targets": facts.targets,
            "verified": sum(result.server_class in DONE for result in facts.results),
            "classes": {server_class.value: count for server_class, count in counted(facts.results).items()},
            "tools": {"listed": listed, "accepted": accepted},
            "contradicted": sum(result.contradicted for result in facts.results),
        },
    }
    yield json.dumps(head, indent=2).removesuffix("\n}") + ',\n  "targets": ['
    for number, result in enumerate(facts.results):
        target = {
            "name": result.name,
            "class": result.server_class.value,
            "why": result.why or None,
            "exit_code": result.exit_code,
            "run": result.run or None,
            "server": result.server or None,
            "tools": {"listed": result.listed, "accepted": result.accepted},
            "contradicted": result.contradicted,
            "duration_ms": round(result.seconds * 1000, 3),
            "error": result.error or None,
            "report": report_of(result),
        }
        comma = "," if number else ""
        yield f"{comma}\n" + textwrap.indent(json.dumps(target, indent=2), "    ")
    yield "\n  ]\n}\n"


@cache
def batch_schema() -> dict[str, Any]:
    """The published JSON Schema of the document (``batch.schema.json`` in this package); its reports are of
    ``report.schema.json``, to which it refers by its ``$id``."""
    text = resources.files("sandbox.report").joinpath("batch.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema
