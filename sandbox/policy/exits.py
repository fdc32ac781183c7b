"""From a report to the exit code: the fail-on ladder (design, section 6)."""

from __future__ import annotations

from collections.abc import Iterable

from sandbox.errors import ExitCode
from sandbox.model import Confidence, FailOn, Finding, Report, Severity, Verdict
from sandbox.policy.reasons import Reason

_SERIOUSNESS = {Severity.LOW: 0, Severity.MEDIUM: 1, Severity.HIGH: 2}

_WORST_FIRST = (
    ExitCode.INTERRUPTED,
    ExitCode.OUR_FAULT,
    ExitCode.NO_SANDBOX,
    ExitCode.USAGE,
    ExitCode.CONTRADICTED,
    ExitCode.SERVER_UNREACHABLE,
    ExitCode.NOTHING_VERIFIED,
    ExitCode.OK,
)


def exit_code(
    report: Report,
    fail_on: FailOn = FailOn.CONTRADICTED,
    min_severity: Severity = Severity.LOW,
    min_coverage: float = 0.0,
) -> ExitCode:
    """What a run with this report exits with: OK, CONTRADICTED or NOTHING_VERIFIED.

    ``min_coverage`` is a percentage of the tools asked for that must have been accepted at least once; below
    it the run fails whatever ``fail_on`` says. A run in which no call was accepted verified nothing, but a
    contradiction that it found all the same (a refused call that wrote) comes first.
    """
    findings = (finding for tool in report.tools for finding in tool.findings)
    if any(fails(finding, fail_on, min_severity) for finding in findings):
        return ExitCode.CONTRADICTED
    if not any(tool.accepted for tool in report.tools):
        return ExitCode.NOTHING_VERIFIED
    return ExitCode.CONTRADICTED if coverage(report) < min_coverage else ExitCode.OK


def coverage(report: Report) -> float:
    """The percentage of the tools asked for that were accepted at least once; 0 where there is none."""
    accepted = sum(1 for tool in report.tools if tool.accepted)
    return 100.0 * accepted / len(report.tools) if report.tools else 0.0


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """The exit code of several targets together: the worst of theirs; OK where there are none."""
    return min(codes, key=_WORST_FIRST.index, default=ExitCode.OK)


def fails(
    finding: Finding, fail_on: FailOn = FailOn.CONTRADICTED, min_severity: Severity = Severity.LOW
) -> bool:
    """Whether one finding fails its run; by default a contradiction that is at least likely, or an act seen once."""
    if _SERIOUSNESS[finding.severity] < _SERIOUSNESS[min_severity]:
        return False
    match finding.verdict:
        case Verdict.CONTRADICTED:
            return fail_on is not FailOn.NEVER and finding.confidence is not Confidence.POSSIBLE
        case Verdict.INCONCLUSIVE:
            if finding.reason == Reason.OBSERVED_ONCE:
                return fail_on is not FailOn.NEVER
            return fail_on in (FailOn.INCONCLUSIVE, FailOn.OVERCAUTIOUS)
        case Verdict.OVERCAUTIOUS:
            return fail_on is FailOn.OVERCAUTIOUS
        case Verdict.CONSISTENT | Verdict.UNDECLARED | Verdict.MOOT:
            return False
