"""Running scenarios one after the other, and the one exit code of them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import ExitCode, HintproofError
from sandbox.model import Report
from sandbox.policy import worst
from sandbox.suites.compare import Comparison, compare
from sandbox.suites.load import find_scenarios, load_scenario
from sandbox.suites.scenario import Scenario

Runner = Callable[[Scenario], Report]
"""Verifies the server of one scenario. Raises HintproofError where that was not possible."""


@dataclass(frozen=True, slots=True)
class ScenarioResult:
    """One scenario after its run: the report and the comparisons, or the error that kept it from running."""

    scenario: Scenario
    report: Report | None = None
    comparisons: tuple[Comparison, ...] = ()
    error: HintproofError | None = None

    @property
    def unmet(self) -> tuple[Comparison, ...]:
        """The comparisons that fail the scenario."""
        return tuple(each for each in self.comparisons if not each.met)

    @property
    def exit_code(self) -> ExitCode:
        """0 when everything was as expected, 1 when not; the run's own code when it ended without verdicts."""
        if self.error is not None:
            return ExitCode(self.error.exit_code)
        if self.unmet:
            return ExitCode.CONTRADICTED
        ended = ExitCode(self.report.exit_code) if self.report is not None else ExitCode.OK
        return ExitCode.OK if ended is ExitCode.CONTRADICTED else ended  # contradictions were expected ones


def run_scenarios(paths: Iterable[Path], runner: Runner) -> Iterator[ScenarioResult]:
    """Run every scenario that the paths name, and give each result as soon as it is there.

    All files are read before the first one runs: a wrong file (ConfigError, UsageError) costs no run. A
    scenario whose server cannot be verified is a result with its error, and the others still run.
    """
    scenarios = [load_scenario(path) for path in find_scenarios(paths)]
    return (_run(scenario, runner) for scenario in scenarios)


def exit_code(results: Sequence[ScenarioResult]) -> ExitCode:
    """The worst of the scenarios' codes."""
    return worst(result.exit_code for result in results)


def story(result: ScenarioResult) -> tuple[str, ...]:
    """A scenario's result in lines for people: the outcome, then what was not as expected. Server text is not escaped."""
    name = result.scenario.name
    if result.error is not None:
        return (f"{name}: not run: {result.error}",)
    expected = sum(each.expected is not None for each in result.comparisons)
    if not result.unmet:
        return (f"{name}: as expected ({expected} expectations)",)
    return (f"{name}: not as expected", *(f"  {each.sentence()}" for each in result.unmet))


def _run(scenario: Scenario, runner: Runner) -> ScenarioResult:
    try:
        report = runner(scenario)
    except HintproofError as error:
        return ScenarioResult(scenario, error=error)
    return ScenarioResult(scenario, report, compare(scenario, report))
