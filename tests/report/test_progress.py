"""Progress on standard error: lines in a log, one current line on a terminal."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console
from samplereports import controlled, in_order, lying, run

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
from sandbox.model import Call, Outcome, Remark, Reply, ServerFacts, Tool
from sandbox.report.console import make_console
from sandbox.report.progress import progress


def story(name: str = "delete_user") -> list[Event]:
    """One of every event."""
    facts = ServerFacts(name, "1.0", "2025-11-25", "legacy", tool_count=2)
    report = lying(name)
    return [
        RunStarted("r1", name, ("python",)),
        Progress(f"starting {name}"),
        ServerListed(facts, (Tool.read({"name": name}),)),
        ToolStarted(name, 1, 2),
        CallFinished(Call(name, {}), Reply(Outcome.ACCEPTED, {}, name, 1.0), 1),
        FindingMade(report.findings[0]),
        FindingMade(report.findings[1]),
        ToolFinished(report),
        RemarkMade(Remark("junk", name)),
        RunFinished(run(report, in_order("get_user"))),
    ]


def told(console: Console, events: list[Event], secrets: tuple[str, ...] = ()) -> None:
    listener: Listener
    with progress(console, secrets) as listener:
        for event in events:
            listener(event)


def test_a_log_gets_a_timestamped_line_per_tool() -> None:
    stream = io.StringIO()
    told(make_console(stream), story())
    lines = stream.getvalue().splitlines()
    assert all(re.match(r"\d\d:\d\d:\d\d ", line) for line in lines)
    assert any(
        line.endswith("[1/2] delete_user: 6 of 6 calls accepted; 1 contradicted, 1 consistent, 2 moot")
        for line in lines
    )


def test_a_line_of_a_log_is_never_wrapped() -> None:
    stream = io.StringIO()
    told(make_console(stream), [Progress("word " * 60)])
    assert len(stream.getvalue().splitlines()) == 1


def test_a_terminal_keeps_contradictions_above_the_current_line() -> None:
    stream = io.StringIO()
    told(Console(file=stream, force_terminal=True, width=100), story())
    assert "delete_user readOnlyHint contradicted" in stream.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_hostile_names_are_escaped_and_secrets_masked(terminal: bool) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=terminal, width=100, color_system=None)
    told(console, story("\x1b]0;evil\x07 s3cret-value"), ("s3cret-value",))
    assert "\x1b]0" not in stream.getvalue()
    assert "\x07" not in stream.getvalue()
    assert "s3cret" not in stream.getvalue()


def test_a_hostile_report_can_be_finished() -> None:
    stream = io.StringIO()
    told(make_console(stream), [RunFinished(controlled("\x1b[2J"))])
    assert "\x1b" not in stream.getvalue()
