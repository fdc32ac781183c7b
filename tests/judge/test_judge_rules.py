"""Every rule of the judge, from the table of cases, and that no word of the policy is out of its reach."""

from __future__ import annotations

import pytest
from judgecases import CASES, Case

from sandbox.judge import judge
from sandbox.model import Finding, Hint, Verdict
from sandbox.policy import REASONS, Reason

PRODUCED_LATER = {
    Reason.CONCURRENT: "the hazard that sends one call twice at once",
    Reason.RETRY: "the hazard that loses an answer and calls again",
}


def finding_on(case: Case) -> Finding:
    return next(finding for finding in judge(case.evidence) if finding.hint is case.hint)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.hint.value}: {case.name}")
def test_the_verdict_and_its_reason_are_as_the_rule_says(case: Case) -> None:
    finding = finding_on(case)
    assert (finding.verdict, finding.reason) == (case.verdict, case.reason.value if case.reason else ""), (
        finding.why
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.hint.value}: {case.name}")
def test_the_four_hints_are_always_judged_in_wire_order(case: Case) -> None:
    assert [finding.hint for finding in judge(case.evidence)] == list(Hint)


def test_every_reason_code_is_produced_by_a_case_or_named_as_later_work() -> None:
    produced = {case.reason for case in CASES if case.reason}
    assert produced.isdisjoint(PRODUCED_LATER)
    assert produced | set(PRODUCED_LATER) == set(Reason)


def test_every_verdict_is_produced_by_a_case() -> None:
    assert {case.verdict for case in CASES} == set(Verdict)


def test_reasons_stand_only_beside_the_verdicts_that_the_policy_lists() -> None:
    beside = {
        (finding.verdict, Reason(finding.reason))
        for case in CASES
        for finding in judge(case.evidence)
        if finding.reason
    }
    assert all(verdict in REASONS[reason].verdicts for verdict, reason in beside)


def test_an_inconclusive_finding_always_has_a_reason_and_everyone_says_why() -> None:
    findings = [finding for case in CASES for finding in judge(case.evidence)]
    assert all(finding.reason for finding in findings if finding.verdict is Verdict.INCONCLUSIVE)
    assert all(finding.why for finding in findings)
