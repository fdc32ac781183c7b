"""A scenario passes when every expectation is met and nothing else is contradicted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sandbox.errors import ConfigError, ExitCode, HintproofError, NoSandboxError, ServerStartError
from sandbox.model import Confidence, Declared, Finding, Hint, Report, Severity, Tool, ToolReport, Verdict
from sandbox.suites import Scenario, exit_code, run_scenarios, story


def finding(
    verdict: Verdict,
    *,
    hint: Hint = Hint.READ_ONLY,
    reason: str = "",
    confidence: Confidence = Confidence.CERTAIN,
) -> Finding:
    return Finding(
        "f-1", "save", hint, Declared.TRUE, verdict, reason, "it wrote a file", Severity.MEDIUM, confidence
    )


def report(*findings: Finding, code: int = 0) -> Report:
    tool = ToolReport(Tool.read({"name": "save"}), findings, 1, 1, (), (), (), {})
    return Report(
        run="r",
        target="t",
        command=(),
        invocation=(),
        server=None,
        seed=0,
        profile="spec",
        started_at="",
        duration_ms=0,
        instruments=(),
        missing=(),
        tools=(tool,),
        exit_code=code,
    )


def scenario_file(folder: Path, expect: str = "{}") -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "x.hintproof.yaml"
    file.write_text(f"hintproof: 0\ntarget: server\nexpect: {expect}\n")
    return file


EXPECT_LIE = "{save: {readOnlyHint: contradicted}}"
EXPECT_ONCE = "{save: {readOnlyHint: {verdict: inconclusive, reason: observed-once}}}"


@pytest.mark.parametrize(
    ("expect", "found", "code", "told"),
    [
        (EXPECT_LIE, report(finding(Verdict.CONTRADICTED), code=1), 0, "as expected (1 expectations)"),
        (
            EXPECT_LIE,
            report(finding(Verdict.CONSISTENT)),
            1,
            "expected contradicted, found consistent (it wrote a file)",
        ),
        (EXPECT_LIE, report(), 1, "found no such finding"),
        (
            EXPECT_ONCE,
            report(finding(Verdict.INCONCLUSIVE, reason="observed-once"), code=1),
            0,
            "as expected",
        ),
        (
            EXPECT_ONCE,
            report(finding(Verdict.INCONCLUSIVE, reason="idle-writes")),
            1,
            "found inconclusive: idle-writes",
        ),
        (
            "{}",
            report(finding(Verdict.CONTRADICTED), code=1),
            1,
            "nothing expected of it, found contradicted",
        ),
        (
            "{}",
            report(finding(Verdict.INCONCLUSIVE, reason="observed-once"), code=1),
            1,
            "found inconclusive: observed-once",
        ),
        ("{}", report(finding(Verdict.CONTRADICTED, confidence=Confidence.POSSIBLE)), 0, "as expected"),
        ("{}", report(finding(Verdict.INCONCLUSIVE, reason="never-accepted")), 0, "as expected"),
        ("{}", report(code=5), 5, "as expected"),
    ],
)
def test_expectations_decide(tmp_path: Path, expect: str, found: Report, code: int, told: str) -> None:
    (result,) = run_scenarios([scenario_file(tmp_path, expect)], lambda _: found)
    assert result.exit_code == code
    assert told in "\n".join(story(result))


def test_a_scenario_that_cannot_run_does_not_stop_the_others(tmp_path: Path) -> None:
    scenario_file(tmp_path / "a", EXPECT_LIE)
    scenario_file(tmp_path / "b", EXPECT_LIE)
    scenario_file(tmp_path / "c")

    def runner(scenario: Scenario) -> Report:
        if scenario.folder.name == "a":
            raise ServerStartError("it exited")
        return report(finding(Verdict.CONTRADICTED), code=1)

    results = list(run_scenarios([tmp_path], runner))
    assert [result.exit_code for result in results] == [3, 0, 1]
    assert "not run: it exited" in story(results[0])[0]
    assert exit_code(results) == ExitCode.CONTRADICTED


@pytest.mark.parametrize(
    ("errors", "code"),
    [
        ({}, 0),
        ({"a": ServerStartError("x")}, 3),
        ({"a": ServerStartError("x"), "b": NoSandboxError("x")}, 4),
        ({"a": HintproofError("x"), "b": NoSandboxError("x")}, 70),
    ],
)
def test_the_worst_scenario_gives_the_exit_code(
    tmp_path: Path, errors: Mapping[str, HintproofError], code: int
) -> None:
    for name in ("a", "b"):
        scenario_file(tmp_path / name)

    def runner(scenario: Scenario) -> Report:
        if scenario.folder.name in errors:
            raise errors[scenario.folder.name]
        return report()

    assert exit_code(list(run_scenarios([tmp_path], runner))) == code


def test_a_wrong_file_is_an_error_before_anything_runs(tmp_path: Path) -> None:
    scenario_file(tmp_path / "a")
    scenario_file(tmp_path / "b", "[wrong]")
    with pytest.raises(ConfigError):
        run_scenarios([tmp_path], lambda _: pytest.fail("nothing may run"))
