"""What people read: the whole contradiction on one screen, and nothing that the server forged."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.console import Console
from samplereports import (
    controlled,
    deletion,
    finding,
    in_order,
    lying,
    run,
    tool_report,
    trial,
)

from sandbox.model import Hint, Report, ServerFacts, Tool, Verdict
from sandbox.report.console import make_console
from sandbox.report.listing import render_listing
from sandbox.report.terminal import render_report
from sandbox.report.timeline import render_timeline, timeline

FACTS = ServerFacts("user-admin", "1.0", "2025-11-25", "legacy", tool_count=1)
ONE_LIE = run(lying(), in_order("get_user"))


def printed(report: Report, *, width: int = 100, verbose: bool = False, secrets: tuple[str, ...] = ()) -> str:
    stream = io.StringIO()
    console = make_console(stream)
    console.width = width
    render_report(report, console, verbose=verbose, secrets=secrets)
    return stream.getvalue()


def as_report(text: str, secrets: tuple[str, ...] = ()) -> str:
    return printed(controlled(text), secrets=secrets)


def as_verbose_report(text: str, secrets: tuple[str, ...] = ()) -> str:
    return printed(controlled(text), verbose=True, secrets=secrets)


def as_timeline(text: str, secrets: tuple[str, ...] = ()) -> str:
    stream = io.StringIO()
    effect = deletion(subject=text, summary=text, executable=text, diff=text)
    made = trial(effect, tool=text, text=text)
    render_timeline([made], controlled(text).tools[0], make_console(stream), secrets=secrets)
    return stream.getvalue()


def as_listing(text: str, secrets: tuple[str, ...] = ()) -> str:
    stream = io.StringIO()
    report = controlled(text)
    assert report.server is not None
    tools = [Tool.read({"name": text, "description": text})]
    render_listing(report.server, tools, make_console(stream), remarks=report.remarks, secrets=secrets)
    return stream.getvalue()


DOORS = [as_report, as_verbose_report, as_timeline, as_listing]
Door = Callable[..., str]


@pytest.mark.parametrize("width", [80, 100])
def test_a_lie_with_its_evidence_and_replay_command_fits_on_one_screen(width: int) -> None:
    lines = printed(ONE_LIE, width=width).splitlines()
    assert len(lines) < 40
    assert max(map(len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    assert "contradicted" in text
    assert '{"user_id": 2}' in text
    assert "row 2 of users in app.db was deleted" in text
    assert "-2 | bob" in text
    assert "hintproof replay 3f2a9c01de" in text


def test_a_tool_with_nothing_wrong_is_one_row() -> None:
    rows = [line for line in printed(run(in_order("get_user"))).splitlines() if "get_user" in line]
    assert len(rows) == 1
    assert "6 of 6 calls accepted" in rows[0]


def test_verbose_shows_every_finding() -> None:
    text = printed(run(in_order("get_user")), verbose=True)
    assert all(f"because {verdict}" in text for verdict in ("consistent", "moot", "undeclared"))


def test_verbose_proposes_annotations_for_every_tool() -> None:
    text = printed(run(lying(), in_order("get_user")), verbose=True)
    assert all(f'{name}: {{"readOnlyHint": false' in text for name in ("delete_user", "get_user"))


def test_findings_with_the_same_reason_share_a_row() -> None:
    refused = tool_report(
        "act",
        *(finding("act", hint, Verdict.INCONCLUSIVE, reason="never-accepted") for hint in Hint),
        accepted=0,
    )
    assert printed(run(refused)).count("never-accepted:") == 1


def test_a_row_without_a_text_diff_is_shown_before_and_after() -> None:
    row = replace(deletion(), diff="", detail={"before": {"id": 2, "name": "bob"}, "after": None})
    text = printed(run(lying(effect=row)))
    assert '- {"id": 2, "name": "bob"}' in text


def test_a_text_diff_is_shown_without_its_header() -> None:
    text = printed(run(lying(effect=deletion(diff="--- before\n+++ after\n@@ -1 +1 @@\n-old\n+new\n"))))
    assert "+++ after" not in text
    assert "@@ -1 +1 @@" in text
    assert "+new" in text


def test_an_effect_observed_once_is_shown_with_its_evidence() -> None:
    once = lying().findings[0]
    suspected = finding(
        "act", Hint.READ_ONLY, Verdict.INCONCLUSIVE, reason="observed-once", evidence=once.evidence
    )
    text = printed(run(tool_report("act", suspected)))
    assert "row 2 of users" in text
    assert "proposed" not in text


def test_the_summary_counts_verdicts_tools_calls_and_what_was_not_reached() -> None:
    text = printed(run(lying(), in_order("get_user"), unreached=("import_users: no call was accepted",)))
    assert "1 contradicted · 2 consistent · 1 undeclared · 4 moot" in text
    assert "2 of 2 tools accepted · 12 of 12 calls accepted · 3.2 s · seed 7" in text
    assert "not reached: import_users: no call was accepted" in text


def test_a_stopped_run_says_so() -> None:
    assert "stopped before its end" in printed(run(complete=False))


def test_a_log_holds_no_escape_sequence_and_no_trailing_space() -> None:
    text = printed(ONE_LIE)
    assert "\x1b" not in text
    assert not re.search(r" +$", text, re.MULTILINE)


def test_a_terminal_gets_colours_unless_no_color_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = io.StringIO()
    render_report(ONE_LIE, Console(file=coloured, force_terminal=True, color_system="standard", width=100))
    assert "\x1b[1;31mcontradicted" in coloured.getvalue()
    monkeypatch.setenv("NO_COLOR", "1")
    plain = io.StringIO()
    render_report(ONE_LIE, Console(file=plain, force_terminal=True, color_system="standard", width=100))
    assert not re.search(r"\x1b\[[\d;]*3\dm", plain.getvalue())


def test_an_ascii_stream_gets_ascii() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    render_report(run(lying("löschen")), make_console(stream))
    stream.flush()
    assert b"l\\xf6schen" in raw.getvalue()
    stream.close()


HOSTILE = [
    "\x1b[2J\x1b[31mred\x1b[0m",
    "\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "\x9b31m\x85",
    "a\rb\x08\x08c\x07",
    "line one\nline two\x0b\x0c",
    "\u202egnp.exe\u2066",
    "\u200b\u2028\u2029\ufeff",
    "\ud800\udfff",
    "[bold red]not bold[/] [link=https://evil.example]x[/link] :boom:",
    "\\[escaped] [/]",
    "wide 日本語" * 30,
    "e" + "\u0301" * 50,
    "::error::forged",
    "\x7f" * 5,
    "",
]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("text", HOSTILE)
def test_no_raw_control_reaches_the_output_wherever_the_server_puts_it(door: Door, text: str) -> None:
    output = door(text)
    output.encode("utf-8")
    assert not re.search(
        r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]", output
    )
    assert "::error" not in output


@pytest.mark.parametrize("door", DOORS)
def test_markup_is_shown_and_not_read(door: Door) -> None:
    assert "[bold red]" in door("[bold red]x[/]")


@pytest.mark.parametrize("door", DOORS)
def test_secrets_reach_no_door(door: Door) -> None:
    output = door("hunter2-hunter2", secrets=("hunter2-hunter2",))
    assert "hunter2" not in output
    assert "[redacted]" in output


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("padding", range(60, 101, 5))
def test_no_wrapped_text_of_the_server_begins_a_line(door: Door, padding: int) -> None:
    forged = "FORGED 0 contradicted "
    output = door(f"{'x' * padding} {forged * 30}")
    assert not [
        line for line in output.splitlines() if line.startswith(("FORGED", "0 contra", "contradicted"))
    ]


def test_the_timeline_is_in_the_order_of_what_happened() -> None:
    rows = timeline(trial(deletion()))
    assert [row.kind for row in rows] == ["step", "step", "effect", "reply", "effect"]
    assert [row.at_ms for row in rows] == [0.0, 120.0, 123.9, 124.5, 128.0]
    assert rows[2].process == "python3.11[4312]"
    assert rows[2].what == "row.deleted  row 2 of users in app.db was deleted"


def test_the_listing_shows_declared_values_and_defaults_in_brackets() -> None:
    stream = io.StringIO()
    tools = [Tool.read({"name": "act", "annotations": {"readOnlyHint": True, "openWorldHint": "no"}})]
    render_listing(FACTS, tools, make_console(stream))
    row = next(line for line in stream.getvalue().splitlines() if line.startswith("act"))
    assert row.split() == ["act", "true", "(true)", "(false)", "malformed"]
    assert "2 of 4 hints declared" in stream.getvalue()


def test_a_long_description_in_the_listing_leaves_the_hints_their_room() -> None:
    stream = io.StringIO()
    tool = Tool.read(
        {
            "name": "read_multiple_files",
            "description": "Read files. " * 30,
            "annotations": {"readOnlyHint": True},
        }
    )
    render_listing(FACTS, [tool], make_console(stream))
    lines = stream.getvalue().splitlines()
    row = next(line for line in lines if line.startswith("read_multiple_files"))
    assert row.split()[1:7] == ["true", "(true)", "(false)", "(true)", "Read", "files."]
    assert lines[lines.index(row) + 1] == ""


def test_the_listing_is_cut_to_the_line_where_only_ascii_can_be_printed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    render_listing(
        FACTS, [Tool.read({"name": "read", "description": "Read files. " * 30})], make_console(stream)
    )
    stream.flush()
    assert "read" in raw.getvalue().decode("ascii")
