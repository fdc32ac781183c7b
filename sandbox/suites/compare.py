"""What was expected beside what was found, hint by hint."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.model import Finding, Hint, Report, Verdict
from sandbox.policy import fails
from sandbox.suites.scenario import Expectation, Scenario


@dataclass(frozen=True, slots=True)
class Comparison:
    """One hint of one tool: the expectation, or None where the file has none; the finding, or None where
    there is none."""

    tool: str
    hint: Hint
    expected: Expectation | None
    found: Finding | None

    @property
    def met(self) -> bool:
        """Whether the finding is the expected one. Without an expectation, whether it may pass unmentioned."""
        if self.expected is None:
            return self.found is None or not fails(self.found)
        return (
            self.found is not None
            and self.found.verdict is self.expected.verdict
            and self.expected.reason in {"", self.found.reason}
        )

    def sentence(self) -> str:
        """One line for people: what was expected, what was found and why."""
        found = "no such finding"
        if self.found is not None:
            found = _named(self.found.verdict, self.found.reason)
        if self.expected is None:
            wanted = "nothing expected of it"
        else:
            wanted = f"expected {_named(self.expected.verdict, self.expected.reason)}"
        why = f" ({self.found.why})" if self.found is not None and self.found.why and not self.met else ""
        return f"{self.tool} {self.hint.value}: {wanted}, found {found}{why}"


def compare(scenario: Scenario, report: Report) -> tuple[Comparison, ...]:
    """Every expectation with its finding, in the order of the file, then the findings that fail and nobody expected."""
    findings = {(finding.tool, finding.hint): finding for tool in report.tools for finding in tool.findings}
    expected = {(each.tool, each.hint) for each in scenario.expect}
    asked = [
        Comparison(each.tool, each.hint, each, findings.get((each.tool, each.hint)))
        for each in scenario.expect
    ]
    further = [
        Comparison(tool, hint, None, finding)
        for (tool, hint), finding in findings.items()
        if (tool, hint) not in expected and fails(finding)
    ]
    return (*asked, *further)


def _named(verdict: Verdict, reason: str) -> str:
    return f"{verdict.value}: {reason}" if reason else verdict.value
