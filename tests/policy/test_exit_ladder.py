"""From a report to the exit code: the ladder, severity, coverage, and several targets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sandbox.errors import ExitCode
from sandbox.model import (
    Confidence,
    Declared,
    FailOn,
    Finding,
    Hint,
    Report,
    ServerFacts,
    Severity,
    Tool,
    ToolReport,
    Verdict,
)
from sandbox.policy import coverage, exit_code, worst

PLAIN = Finding(
    "0" * 10,
    "act",
    Hint.READ_ONLY,
    Declared.TRUE,
    Verdict.CONSISTENT,
    "",
    "",
    Severity.LOW,
    Confidence.LIKELY,
)
LIE = replace(PLAIN, verdict=Verdict.CONTRADICTED, severity=Severity.MEDIUM, confidence=Confidence.CERTAIN)
LIKELY_LIE = replace(LIE, confidence=Confidence.LIKELY)
ONCE = replace(LIE, verdict=Verdict.INCONCLUSIVE, reason="observed-once", confidence=Confidence.POSSIBLE)
OPEN = replace(PLAIN, verdict=Verdict.INCONCLUSIVE, reason="no-effect-seen")
CAUTIOUS = replace(PLAIN, verdict=Verdict.OVERCAUTIOUS)
UNDECLARED = replace(PLAIN, verdict=Verdict.UNDECLARED)
MOOT = replace(PLAIN, verdict=Verdict.MOOT)


def tool(*findings: Finding, accepted: int = 3) -> ToolReport:
    return ToolReport(Tool.read({"name": "act"}), findings, 4, accepted, (), (), (), {})


def report(*tools: ToolReport, listed: int = 0) -> Report:
    server = ServerFacts("server", "1", "2025-11-25", "legacy", tool_count=listed)
    return Report("run", "t", (), (), server, 0, "spec", "", 0.0, (), (), tools)


@pytest.mark.parametrize(
    ("finding", "fails_from"),
    [
        (LIE, FailOn.CONTRADICTED),
        (LIKELY_LIE, FailOn.CONTRADICTED),
        (ONCE, FailOn.CONTRADICTED),
        (replace(LIE, confidence=Confidence.POSSIBLE), None),
        (OPEN, FailOn.INCONCLUSIVE),
        (CAUTIOUS, FailOn.OVERCAUTIOUS),
        (PLAIN, None),
        (UNDECLARED, None),
        (MOOT, None),
    ],
)
@pytest.mark.parametrize("fail_on", list(FailOn))
def test_each_rung_of_the_ladder_fails_on_its_verdict_and_on_those_above(
    finding: Finding, fails_from: FailOn | None, fail_on: FailOn
) -> None:
    ladder = [FailOn.CONTRADICTED, FailOn.INCONCLUSIVE, FailOn.OVERCAUTIOUS]
    fails = fail_on in ladder and fails_from is not None and ladder.index(fail_on) >= ladder.index(fails_from)
    expected = ExitCode.CONTRADICTED if fails else ExitCode.OK
    assert exit_code(report(tool(finding)), fail_on) is expected


@pytest.mark.parametrize("floor", list(Severity))
@pytest.mark.parametrize("severity", list(Severity))
@pytest.mark.parametrize("finding", [LIE, ONCE])
def test_a_finding_below_the_least_severity_does_not_fail(
    finding: Finding, severity: Severity, floor: Severity
) -> None:
    order = [Severity.LOW, Severity.MEDIUM, Severity.HIGH]
    expected = ExitCode.CONTRADICTED if order.index(severity) >= order.index(floor) else ExitCode.OK
    assert exit_code(report(tool(replace(finding, severity=severity))), min_severity=floor) is expected


def test_a_run_without_an_accepted_call_verified_nothing() -> None:
    assert exit_code(report(tool(OPEN, accepted=0))) is ExitCode.NOTHING_VERIFIED
    assert exit_code(report()) is ExitCode.NOTHING_VERIFIED


def test_a_refused_call_that_wrote_fails_although_nothing_was_accepted() -> None:
    assert exit_code(report(tool(LIE, accepted=0))) is ExitCode.CONTRADICTED


@pytest.mark.parametrize(
    ("least", "expected"), [(50.0, ExitCode.OK), (51.0, ExitCode.CONTRADICTED), (0.0, ExitCode.OK)]
)
def test_a_run_below_the_least_coverage_fails(least: float, expected: ExitCode) -> None:
    half = report(tool(PLAIN), tool(OPEN, accepted=0))
    assert exit_code(half, min_coverage=least) is expected
    assert exit_code(half, FailOn.NEVER, min_coverage=least) is expected


def test_coverage_is_of_the_tools_that_were_asked_for() -> None:
    assert coverage(report(tool(PLAIN), tool(OPEN, accepted=0), listed=9)) == 50.0
    assert coverage(report()) == 0.0


@pytest.mark.parametrize(
    ("codes", "expected"),
    [
        ([], ExitCode.OK),
        ([ExitCode.OK, ExitCode.NOTHING_VERIFIED], ExitCode.NOTHING_VERIFIED),
        ([ExitCode.NOTHING_VERIFIED, ExitCode.SERVER_UNREACHABLE], ExitCode.SERVER_UNREACHABLE),
        ([ExitCode.SERVER_UNREACHABLE, ExitCode.CONTRADICTED], ExitCode.CONTRADICTED),
        ([ExitCode.CONTRADICTED, ExitCode.NO_SANDBOX], ExitCode.NO_SANDBOX),
        ([ExitCode.NO_SANDBOX, ExitCode.OUR_FAULT], ExitCode.OUR_FAULT),
    ],
)
def test_several_targets_end_with_the_worst_of_theirs(codes: list[ExitCode], expected: ExitCode) -> None:
    assert worst(codes) is expected
    assert worst(list(reversed(codes))) is expected


def test_every_exit_code_has_a_place_in_the_order() -> None:
    assert {worst([code]) for code in ExitCode} == set(ExitCode)
