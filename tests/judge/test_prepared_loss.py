"""What a remover takes away was made for it: no contradiction, but no claim of harmlessness is proposed either."""

import dataclasses

from sandbox.judge import report_tool
from sandbox.model import (
    Call,
    Confidence,
    Effect,
    EffectKind,
    Hint,
    Instrument,
    Json,
    Outcome,
    Purpose,
    Reply,
    Step,
    StepKind,
    Tool,
    ToolEvidence,
    ToolReport,
    Trial,
    Verdict,
)

REPLY = Reply(Outcome.ACCEPTED, {}, "", 1.0)
REMOVED = Effect(
    EffectKind.RECORD_DELETED, "/d.json#a", "deleted the record a", loses=True, own=True, fingerprint="a"
)


def report(declared: bool, *, prepared: bool) -> ToolReport:
    call = Call("delete", {"name": "a"})
    steps = (Step(StepKind.CALL, call, REPLY, (REMOVED,), 1.0, 1.0),)
    if prepared:
        made = dataclasses.replace(REMOVED, kind=EffectKind.RECORD_ADDED, loses=False)
        steps = (Step(StepKind.PREPARE, Call("create", {}), REPLY, (made,), 0.0, 1.0), *steps)
    hints: dict[str, Json] = {"readOnlyHint": False, "destructiveHint": declared}
    tool = Tool.read({"name": "delete", "annotations": hints})
    trial = Trial("1", "delete", Purpose.PROBE, "box", steps, frozenset(Instrument))
    return report_tool(ToolEvidence(tool, (trial,), 1, 1))


def destructive(found: ToolReport) -> tuple[Verdict, Confidence]:
    finding = next(each for each in found.findings if each.hint is Hint.DESTRUCTIVE)
    return finding.verdict, finding.confidence


def test_a_removal_of_prepared_data_may_need_the_permission_to_destroy() -> None:
    found = report(declared=True, prepared=True)
    assert destructive(found) == (Verdict.CONSISTENT, Confidence.POSSIBLE)
    assert found.proposed["destructiveHint"] is True


def test_a_removal_of_prepared_data_makes_the_opposite_claim_less_sure() -> None:
    assert destructive(report(declared=False, prepared=True)) == (Verdict.CONSISTENT, Confidence.POSSIBLE)


def test_a_tool_that_replaces_what_it_made_itself_keeps_its_claim() -> None:
    assert destructive(report(declared=False, prepared=False)) == (Verdict.CONSISTENT, Confidence.LIKELY)
    assert destructive(report(declared=True, prepared=False))[0] is Verdict.OVERCAUTIOUS
