"""Several servers in one report: the JSON under its schema, the table, and the progress."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from referencing import Registry, Resource
from rich.console import Console
from samplereports import in_order, lying, run

from sandbox.events import Progress, RunStarted, ServerListed, ToolStarted
from sandbox.model import ServerFacts
from sandbox.policy import BatchFacts, ServerClass, TargetResult
from sandbox.report.batch import batch_json, batch_schema, label, render_batch
from sandbox.report.batchprogress import Board, batch_progress
from sandbox.report.console import make_console
from sandbox.report.document import report_schema, to_json

HOSTILE = "\x1b[2J\u202e\r\n::error::gotcha"
RESULTS = (
    TargetResult(
        0, "npm:liar", ServerClass.CONTRADICTED, 1, "readOnlyHint: x", run="b-001", server="s 1", listed=2
    ),
    TargetResult(
        1,
        "pypi:gone",
        ServerClass.DOES_NOT_INSTALL,
        3,
        why="No such version.",
        error="alpha\nbeta",
        seconds=65,
    ),
    TargetResult(2, HOSTILE, ServerClass.NOTHING_VERIFIED, 5, why=HOSTILE, error=HOSTILE),
)
FACTS = BatchFacts("20261130-1", ("hintproof", "verify"), "2026-11-30T12:00:00Z", 3, 2, 70.5, RESULTS)


def document(facts: BatchFacts, report: dict[str, Any] | None = None) -> Any:
    return json.loads("".join(batch_json(facts, lambda result: report if result.run else None)))


def validate(data: object) -> None:
    registry: Registry[Any] = Registry().with_resource(
        "urn:hintproof:report:1", Resource.from_contents(report_schema())
    )
    jsonschema.Draft202012Validator(batch_schema(), registry=registry).validate(data)


def test_the_document_is_valid_with_the_reports_in_it() -> None:
    data = document(FACTS, to_json(run(lying(), in_order("get_user"))))
    validate(data)
    assert [target["class"] for target in data["targets"]] == [
        "contradicted",
        "does-not-install",
        "nothing-verified",
    ]
    assert data["targets"][0]["report"]["schema"] == "hintproof.report/1"
    assert (data["exit_code"], data["complete"], data["summary"]["verified"]) == (1, True, 1)
    data["targets"][0]["report"] = {"schema": "else"}
    with pytest.raises(jsonschema.ValidationError):
        validate(data)


@pytest.mark.parametrize("results", [(), RESULTS[:1]], ids=["none", "some"])
def test_a_batch_that_is_not_complete_says_so(results: tuple[TargetResult, ...]) -> None:
    data = document(replace(FACTS, results=results))
    validate(data)
    assert (data["complete"], data["summary"]["targets"]) == (False, 3)


def test_the_schema_knows_every_class() -> None:
    assert batch_schema()["$defs"]["class"]["enum"] == [
        each.value for each in ServerClass if each is not ServerClass.LISTED
    ]


def test_the_table_has_a_row_for_each_server_in_their_order() -> None:
    out = io.StringIO()
    render_batch(FACTS, make_console(out))
    text = out.getvalue()
    assert re.search(
        r"1 +npm:liar +contradicted +0/2.*\n2 +pypi:gone +does-not-install +1 min 5 s +No such", text
    )
    assert "3 servers: 1 contradicted, 1 nothing-verified, 1 does-not-install" in text
    assert "exit code 1" in text
    assert "hintproof judge b-001" in text


@pytest.mark.parametrize("verbose", [False, True])
def test_nothing_that_a_server_says_gets_through_the_table(verbose: bool) -> None:
    out = io.StringIO()
    render_batch(FACTS, make_console(out), verbose=verbose)
    assert not re.search("[\x1b\u202e\r]|^ *::error", out.getvalue(), re.MULTILINE)
    assert ("beta" in out.getvalue()) == verbose


def test_a_name_is_told_without_folders() -> None:
    assert label("/usr/bin/python /home/me/my server.py --x=/tmp/y") == "python my server.py --x=/tmp/y"
    assert label("npm:@scope/name@1.0 /") == "npm:@scope/name@1.0 "


def told(console: Console) -> None:
    with batch_progress(console, Board(3, RESULTS[2:], 2)) as listener:
        listener.began(0, "npm:liar", "installing")
        listener.heard(0, Progress(f"fetching {HOSTILE}"))
        listener.heard(0, RunStarted("r", "npm:liar", ("x",)))
        listener.heard(0, ServerListed(ServerFacts("s", "1", "2025-11-25", "legacy", tool_count=2), ()))
        listener.heard(0, ToolStarted("a", 1, 2))
        listener.began(1, "pypi:gone", "installing")
        listener.passed()
        listener.ended(RESULTS[0])
        listener.ended(RESULTS[1])


def test_a_log_has_a_line_for_each_phase_and_the_counts() -> None:
    out = io.StringIO()
    told(make_console(out))
    lines = [re.sub(r"^\d\d:\d\d:\d\d ", "", line) for line in out.getvalue().splitlines()]
    assert lines[:3] == [
        "[1/3] npm:liar: installing",
        "[1/3] npm:liar: starting",
        "[1/3] npm:liar: running, 2 tools",
    ]
    assert lines[-3].startswith("2 of 3 done · 1 contradicted · 1 failed · 1 running · about ")
    assert lines[-2] == "[2/3] pypi:gone: does-not-install: 1 min 5 s, No such version."
    assert lines[-1] == "3 of 3 done · 1 contradicted · 2 failed · 0 running"


def test_on_a_terminal_there_is_a_table_that_is_always_current() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, markup=False, highlight=False)
    told(console)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", out.getvalue())
    assert "installing" in text
    assert "contradicted" in text
    assert "\u202e" not in text


def test_the_time_that_is_left_comes_from_what_the_others_took() -> None:
    board = Board(10, (), 2)
    assert board.remaining_s() is None
    for index in range(4):
        board.began(index, "s", "starting")
        board.ended(TargetResult(index, "s", ServerClass.VERIFIED, 0, seconds=20.0))
    assert board.remaining_s() == pytest.approx(60.0)
    board.began(4, "s", "starting")
    assert board.remaining_s() == pytest.approx(60.0, abs=0.5)
