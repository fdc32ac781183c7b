"""What the user accepts with a reason does not count, is told, and counts again after the rule's last day."""

from datetime import date

import pytest

from sandbox.config import AllowRule
from sandbox.judge import allow, report_tool
from sandbox.model import (
    Call,
    Effect,
    EffectKind,
    Hint,
    Instrument,
    Outcome,
    Purpose,
    Reply,
    Step,
    StepKind,
    Tool,
    ToolEvidence,
    Trial,
    Verdict,
)

TODAY = date(2026, 6, 1)


def evidence(effect: Effect) -> ToolEvidence:
    call = Call("look", {})
    step = Step(StepKind.CALL, call, Reply(Outcome.ACCEPTED, {}, "", 1.0), (effect,), 0.0, 1.0)
    trials = tuple(
        Trial(number, "look", purpose, number, (step,), frozenset(Instrument), confirms)
        for number, purpose, confirms in (("1", Purpose.PROBE, ""), ("2", Purpose.CONFIRM, "1"))
    )
    hints = {"readOnlyHint": True, "openWorldHint": False}
    return ToolEvidence(Tool.read({"name": "look", "annotations": hints}), trials, 1, 1)


WRITE = Effect(EffectKind.FILE_CREATED, "/home/user/.stats/today", "created a file", fingerprint="w")
LOOKUP = Effect(
    EffectKind.NET_LOOKUP,
    "api.vendor.example",
    "looked up",
    detail={"host": "api.vendor.example"},
    fingerprint="l",
)


@pytest.mark.parametrize(
    ("effect", "hint", "rule"),
    [
        (WRITE, Hint.READ_ONLY, AllowRule("counts runs", path="/home/user/.stats/*", where="x.toml:3")),
        (
            LOOKUP,
            Hint.OPEN_WORLD,
            AllowRule("its vendor", host="*.vendor.example", tool="lo*", where="x.toml:7"),
        ),
    ],
    ids=["path", "host"],
)
def test_an_accepted_effect_does_not_contradict_and_is_told_with_its_rule(
    effect: Effect, hint: Hint, rule: AllowRule
) -> None:
    before = evidence(effect)
    assert _verdict(before, hint) is Verdict.CONTRADICTED
    after, remarks = allow(before, [rule], TODAY)
    assert _verdict(after, hint) is Verdict.CONSISTENT
    (remark,) = remarks
    assert (remark.code, remark.tool) == ("allowed", "look")
    assert rule.where in remark.text
    assert rule.reason in remark.text


@pytest.mark.parametrize(
    "rule",
    [
        AllowRule("expired", path="/home/user/*", expires=date(2026, 5, 31)),
        AllowRule("another tool", path="/home/user/*", tool="write_*"),
        AllowRule("another path", path="/tmp/*"),
        AllowRule("a host rule", host="*"),
    ],
    ids=lambda rule: rule.reason,
)
def test_a_rule_that_does_not_fit_changes_nothing(rule: AllowRule) -> None:
    before = evidence(WRITE)
    assert allow(before, [rule], TODAY) == (before, ())


def test_a_rule_counts_on_its_last_day() -> None:
    rule = AllowRule("until today", path="/home/user/*", expires=TODAY)
    after, _ = allow(evidence(WRITE), [rule], TODAY)
    assert _verdict(after, Hint.READ_ONLY) is Verdict.CONSISTENT


def _verdict(found: ToolEvidence, hint: Hint) -> Verdict:
    return next(finding.verdict for finding in report_tool(found).findings if finding.hint is hint)
