"""What a finding carries beside its verdict, and what the evidence supports."""

from __future__ import annotations

from dataclasses import replace

import pytest
from trialbuilders import (
    APPENDED,
    CREATED,
    OVERWRITTEN,
    ROW_DELETED,
    call,
    confirm,
    contact,
    effect,
    evidence,
    first_use,
    prepare,
    probe,
    repeat,
    request,
    settle,
    tool,
    twice,
)

from sandbox.judge import judge, propose, report_tool
from sandbox.model import (
    Confidence,
    Effect,
    EffectKind,
    Finding,
    Hint,
    Json,
    Outcome,
    Severity,
    ToolEvidence,
    Trial,
    Verdict,
    Weight,
)

SAFE = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}
PERMISSIVE = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}


def on(hint: Hint, facts: ToolEvidence) -> Finding:
    return judge(facts)[list(Hint).index(hint)]


def lie(*effects: Effect, **arguments: Json) -> Finding:
    facts = evidence(tool(read_only=True), *twice(call(*effects, args=arguments or None)))
    return on(Hint.READ_ONLY, facts)


def test_a_contradiction_names_the_probe_trial_the_step_the_call_and_the_deciding_effects() -> None:
    finding = lie(effect(EffectKind.PROCESS_SPAWNED, "sh"), CREATED, path="a.txt")
    (proof,) = finding.evidence
    assert (proof.trial, proof.step) == ("p1", 0)
    assert proof.call is not None
    assert proof.call.arguments == {"path": "a.txt"}
    assert [shown.kind for shown in proof.effects] == [EffectKind.FILE_CREATED]


def test_the_smallest_arguments_come_first_and_each_set_once() -> None:
    facts = evidence(
        tool(read_only=True),
        probe(call(CREATED, args={"a": "much longer"}), call(CREATED, args={"a": "x"})),
        confirm(call(CREATED, args={"a": "much longer"}), call(CREATED, args={"a": "x"})),
    )
    calls = [proof.call.arguments for proof in on(Hint.READ_ONLY, facts).evidence if proof.call]
    assert calls == [{"a": "x"}, {"a": "much longer"}]


def test_a_step_with_the_same_arguments_is_shown_where_it_adds_another_kind_of_effect() -> None:
    left = effect(EffectKind.PROCESS_LEFT, "sleep")
    facts = evidence(tool(read_only=True), *twice(call(left), repeat(left), settle(CREATED)))
    shown = [(proof.trial, proof.step) for proof in on(Hint.READ_ONLY, facts).evidence]
    assert shown == [("p1", 0), ("p1", 2)]


def test_a_suspicion_lists_every_trial_that_may_be_tried_again() -> None:
    facts = evidence(
        tool(read_only=True),
        probe(call(CREATED, args={"a": 1}), name="p1"),
        confirm(call(args={"a": 1}), of="p1"),
        probe(call(OVERWRITTEN, args={"a": 22}), name="p2"),
    )
    finding = on(Hint.READ_ONLY, facts)
    assert finding.reason == "observed-once"
    assert [proof.trial for proof in finding.evidence] == ["p1", "p2"]


def test_equal_runs_give_equal_ids_whatever_their_trials_are_called() -> None:
    one = evidence(tool(read_only=True), probe(call(CREATED), name="x"), confirm(call(CREATED), of="x"))
    other = evidence(tool(read_only=True), *twice(call(CREATED)))
    assert [finding.id for finding in judge(one)] == [finding.id for finding in judge(other)]


@pytest.mark.parametrize("hint", list(Hint))
def test_an_id_is_ten_hex_digits_and_differs_between_hints(hint: Hint) -> None:
    findings = judge(evidence(tool(), probe(call())))
    mine = findings[list(Hint).index(hint)].id
    assert len(mine) == 10
    assert int(mine, 16) >= 0
    assert [finding.id for finding in findings].count(mine) == 1


def test_other_arguments_give_another_id() -> None:
    assert lie(CREATED, x=1).id != lie(CREATED, x=2).id


def test_the_replay_command_is_given_where_a_claim_is_at_stake_and_only_there() -> None:
    finding = lie(CREATED)
    assert finding.replay == f"hintproof replay {finding.id}"
    assert on(Hint.READ_ONLY, evidence(tool(read_only=True), probe(call()))).replay == ""
    assert on(Hint.READ_ONLY, evidence(tool(read_only=False), probe(call(CREATED)))).replay == ""


@pytest.mark.parametrize(
    ("effects", "severity"),
    [
        ((ROW_DELETED,), Severity.HIGH),
        ((effect(EffectKind.PROCESS_LEFT, "sleep"),), Severity.HIGH),
        ((replace(ROW_DELETED, own=True),), Severity.MEDIUM),
        ((CREATED,), Severity.MEDIUM),
        ((effect(EffectKind.FILE_METADATA),), Severity.LOW),
        ((effect(EffectKind.INDEX_CHANGED),), Severity.LOW),
        ((effect(EffectKind.FILE_METADATA), CREATED), Severity.MEDIUM),
    ],
)
def test_severity_follows_the_worst_deciding_effect(effects: tuple[Effect, ...], severity: Severity) -> None:
    assert lie(*effects).severity is severity


@pytest.mark.parametrize(("read_at", "severity"), [(1.0, Severity.HIGH), (9.0, Severity.MEDIUM)])
def test_a_request_after_a_secret_was_read_is_of_high_severity(read_at: float, severity: Severity) -> None:
    read = effect(EffectKind.SECRET_READ, "/home/user/.aws/credentials", at_ms=read_at)
    sent = replace(request("GET"), at_ms=5.0)
    facts = evidence(tool(open_world=False), *twice(call(read, sent)))
    assert on(Hint.OPEN_WORLD, facts).severity is severity


def test_a_lie_about_reading_that_lost_something_says_so() -> None:
    finding = lie(OVERWRITTEN)
    assert "what existed before is lost" in finding.why
    assert finding.severity is Severity.HIGH


def test_a_suspicion_is_as_severe_as_the_contradiction_would_be() -> None:
    facts = evidence(tool(read_only=True), probe(call(OVERWRITTEN)), confirm(call()))
    assert on(Hint.READ_ONLY, facts).severity is Severity.HIGH


def test_what_contradicts_nothing_is_of_low_severity() -> None:
    facts = evidence(tool(read_only=False, destructive=True), probe(call(OVERWRITTEN)))
    assert {finding.severity for finding in judge(facts)} == {Severity.LOW}


@pytest.mark.parametrize(
    ("again", "confidence"),
    [
        (effect(EffectKind.FILE_CREATED, "/tmp/b", fingerprint="same"), Confidence.CERTAIN),
        (effect(EffectKind.FILE_CREATED, "/tmp/a", fingerprint="other"), Confidence.CERTAIN),
        (effect(EffectKind.FILE_CREATED, "/tmp/b", fingerprint="other"), Confidence.LIKELY),
        (effect(EffectKind.FILE_MODIFIED, "/tmp/a", fingerprint="other"), Confidence.LIKELY),
    ],
)
def test_a_contradiction_is_certain_when_kind_and_subject_or_content_come_back(
    again: Effect, confidence: Confidence
) -> None:
    first = effect(EffectKind.FILE_CREATED, "/tmp/a", fingerprint="same")
    facts = evidence(tool(read_only=True), probe(call(first)), confirm(call(again)))
    finding = on(Hint.READ_ONLY, facts)
    assert (finding.verdict, finding.confidence) == (Verdict.CONTRADICTED, confidence)


def test_an_effect_that_is_only_likely_makes_a_likely_contradiction() -> None:
    assert lie(replace(CREATED, confidence=Confidence.LIKELY)).confidence is Confidence.LIKELY


def test_of_two_effects_the_one_without_a_partner_is_not_certain() -> None:
    facts = evidence(
        tool(read_only=True),
        probe(call(effect(EffectKind.FILE_CREATED, "/tmp/a"), effect(EffectKind.FILE_CREATED, "/tmp/b"))),
        confirm(call(effect(EffectKind.FILE_CREATED, "/tmp/b"))),
    )
    (proof,) = on(Hint.READ_ONLY, facts).evidence
    assert [shown.subject for shown in proof.effects] == ["/tmp/b"]


def test_a_flood_of_effects_is_judged() -> None:
    flood = [
        effect(EffectKind.FILE_CREATED, f"/tmp/{number}", fingerprint=str(number)) for number in range(3000)
    ]
    moved = [replace(made, subject=f"{made.subject}x", fingerprint=f"{made.fingerprint}x") for made in flood]
    facts = evidence(tool(read_only=True), probe(call(*flood)), confirm(call(*moved)))
    assert on(Hint.READ_ONLY, facts).confidence is Confidence.LIKELY


@pytest.mark.parametrize("hint", [Hint.READ_ONLY, Hint.DESTRUCTIVE, Hint.IDEMPOTENT])
def test_consistent_says_that_memory_was_not_visible(hint: Hint) -> None:
    facts = {
        Hint.READ_ONLY: evidence(tool(read_only=True), probe(call())),
        Hint.DESTRUCTIVE: evidence(tool(destructive=False), probe(call(APPENDED))),
        Hint.IDEMPOTENT: evidence(tool(idempotent=True), probe(call(CREATED), repeat())),
    }[hint]
    finding = on(hint, facts)
    assert finding.verdict is Verdict.CONSISTENT
    assert "memory was not visible" in finding.why


def test_consistent_names_the_accepted_calls_and_the_space_they_covered() -> None:
    facts = evidence(tool(open_world=False), probe(call(), call()), space=("minimal", "mode=append"))
    assert on(Hint.OPEN_WORLD, facts).why == "2 accepted calls (minimal, mode=append) made no contact"


def test_never_accepted_shows_the_last_refusal() -> None:
    facts = evidence(
        tool(read_only=True), probe(call(outcome=Outcome.REFUSED)), refusals=("old", "no such file")
    )
    assert on(Hint.READ_ONLY, facts).why.endswith("the last refusal: no such file")


def test_what_only_possibly_goes_against_a_claim_makes_it_possibly_consistent() -> None:
    moved = effect(EffectKind.FILE_MOVED, loses=True, confidence=Confidence.POSSIBLE)
    finding = on(Hint.DESTRUCTIVE, evidence(tool(destructive=False), probe(call(moved))))
    assert (finding.verdict, finding.confidence) == (Verdict.CONSISTENT, Confidence.POSSIBLE)
    assert "possibly against it" in finding.why


@pytest.mark.parametrize(
    ("trials", "supports"),
    [
        ((probe(call()),), SAFE),
        ((probe(call(APPENDED), repeat()),), {**SAFE, "readOnlyHint": False}),
        ((probe(call(ROW_DELETED), repeat()),), {**SAFE, "readOnlyHint": False, "destructiveHint": True}),
        (
            (probe(call(APPENDED), repeat(APPENDED)),),
            {**SAFE, "readOnlyHint": False, "idempotentHint": False},
        ),
        ((probe(call(contact("example.com"))),), {**SAFE, "openWorldHint": True}),
    ],
)
def test_an_undeclared_hint_says_which_value_the_evidence_supports(
    trials: tuple[Trial, ...], supports: dict[str, bool]
) -> None:
    facts = evidence(tool(), *trials)
    assert {finding.hint.value: finding.supports for finding in judge(facts)} == supports
    assert propose(facts) == supports


def test_nothing_is_supported_and_nothing_safe_proposed_where_no_call_was_accepted() -> None:
    facts = evidence(tool(read_only=True, open_world=False), probe(call(outcome=Outcome.REFUSED)))
    assert {finding.supports for finding in judge(facts)} == {None}
    assert propose(facts) == PERMISSIVE


def test_nothing_safe_is_proposed_by_a_blind_run() -> None:
    assert propose(evidence(tool(), probe(call(), instruments=frozenset()))) == PERMISSIVE


def test_a_safe_value_that_was_not_shown_is_not_proposed_although_it_was_declared() -> None:
    facts = evidence(tool(destructive=False, idempotent=True), probe(call(request("POST"))))
    assert propose(facts) == PERMISSIVE


def test_a_possible_loss_leaves_a_declared_value_alone_and_proposes_no_new_one() -> None:
    moved = effect(EffectKind.FILE_MOVED, loses=True, confidence=Confidence.POSSIBLE)
    assert propose(evidence(tool(destructive=False), probe(call(moved))))["destructiveHint"] is False
    assert propose(evidence(tool(), probe(call(moved))))["destructiveHint"] is True


def test_the_lie_of_a_deleting_tool_is_answered_with_honest_annotations() -> None:
    facts = evidence(tool(read_only=True), *twice(call(ROW_DELETED), repeat(outcome=Outcome.REFUSED)))
    assert propose(facts) == {**SAFE, "readOnlyHint": False, "destructiveHint": True}


def test_what_contradicts_nothing_is_listed_once_with_its_weight() -> None:
    log = effect(EffectKind.FILE_CREATED, "/home/user/.cache/log", weight=Weight.INCIDENTAL)
    secret = effect(EffectKind.SECRET_READ, "/home/user/.ssh/id_ed25519")
    facts = evidence(
        tool(read_only=True),
        probe(call(log, secret, CREATED), repeat(log)),
        confirm(call(log, secret, CREATED)),
        first_use(call(log, secret)),
    )
    listed = report_tool(facts).listed
    assert [(shown.kind, shown.weight) for shown in listed] == [
        (EffectKind.FILE_CREATED, Weight.INCIDENTAL),
        (EffectKind.SECRET_READ, Weight.MATERIAL),
    ]


def test_what_was_made_on_first_use_is_listed_as_such() -> None:
    facts = evidence(tool(read_only=True), *twice(call(CREATED)), first_use(prepare(), call()))
    assert [shown.weight for shown in report_tool(facts).listed] == [Weight.FIRST_USE]


def test_the_report_of_a_tool_carries_its_counts_and_refusals() -> None:
    facts = evidence(tool(), probe(call(), call(outcome=Outcome.REFUSED)), refusals=("no",))
    report = report_tool(facts)
    assert (report.tried, report.accepted, report.refusals, report.space) == (2, 1, ("no",), ("minimal",))
