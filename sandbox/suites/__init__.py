"""Scenarios: servers with expected verdicts, and what a run over them found."""

from sandbox.suites.compare import Comparison, compare
from sandbox.suites.load import find_scenarios, load_scenario
from sandbox.suites.run import Runner, ScenarioResult, exit_code, run_scenarios, story
from sandbox.suites.scenario import Expectation, Scenario

__all__ = [
    "Comparison",
    "Expectation",
    "Runner",
    "Scenario",
    "ScenarioResult",
    "compare",
    "exit_code",
    "find_scenarios",
    "load_scenario",
    "run_scenarios",
    "story",
]
