"""The verdict on each declared value, and the annotations that the evidence supports (design, section 3)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from sandbox.judge.assessment import CLAIM, Assessment, State, assess, claims
from sandbox.judge.findings import finding_id, grouped_evidence, severity_of
from sandbox.judge.sightings import sightings
from sandbox.model import (
    Confidence,
    Declared,
    Effect,
    EffectKind,
    Finding,
    Hint,
    Severity,
    ToolEvidence,
    ToolReport,
    Verdict,
    Weight,
)
from sandbox.policy import SPEC, Profile, Reason

_MEANINGLESS_BESIDE_READ_ONLY = (Hint.DESTRUCTIVE, Hint.IDEMPOTENT)


def judge(evidence: ToolEvidence, profile: Profile = SPEC) -> tuple[Finding, ...]:
    """The four findings on one tool, one per hint in wire order. Pure: the same evidence, the same findings."""
    return _findings(evidence, assess(evidence, profile))


def propose(evidence: ToolEvidence, profile: Profile = SPEC) -> Mapping[str, bool]:
    """The four annotations that the evidence supports, by wire name.

    A safety claim is proposed only where it was shown: where the run was blind, the permissive value.
    """
    return _proposed(evidence, assess(evidence, profile))


def report_tool(evidence: ToolEvidence, profile: Profile = SPEC) -> ToolReport:
    """Everything that a report says of one tool."""
    assessed = assess(evidence, profile)
    return ToolReport(
        tool=evidence.tool,
        findings=_findings(evidence, assessed),
        tried=evidence.tried,
        accepted=evidence.accepted,
        space=evidence.space,
        space_missed=evidence.space_missed,
        refusals=evidence.refusals,
        proposed=_proposed(evidence, assessed),
        listed=_listed(evidence),
    )


@dataclasses.dataclass(frozen=True, slots=True)
class _Ruling:
    """A verdict before it becomes a finding."""

    verdict: Verdict
    reason: Reason | None
    why: str
    confidence: Confidence
    supports: bool | None = None
    rests_on_evidence: bool = False


def _findings(evidence: ToolEvidence, assessed: Mapping[Hint, Assessment]) -> tuple[Finding, ...]:
    return tuple(_finding(hint, evidence, assessed) for hint in Hint)


def _finding(hint: Hint, evidence: ToolEvidence, assessed: Mapping[Hint, Assessment]) -> Finding:
    tool, declared = evidence.tool, evidence.tool.hints.of(hint)
    ruling = _with_unstable_definition(_ruling(hint, evidence, assessed), evidence)
    rests_on = grouped_evidence(assessed[hint].decided_by) if ruling.rests_on_evidence else ()
    at_stake = bool(rests_on) and ruling.verdict in (Verdict.CONTRADICTED, Verdict.INCONCLUSIVE)
    reason = ruling.reason.value if ruling.reason else ""
    identity = finding_id(
        tool.name,
        hint,
        declared=declared,
        verdict=ruling.verdict,
        reason=reason,
        call=rests_on[0].call if rests_on else None,
    )
    return Finding(
        id=identity,
        tool=tool.name,
        hint=hint,
        declared=declared,
        verdict=ruling.verdict,
        reason=reason,
        why=ruling.why,
        severity=severity_of(assessed[hint].decided_by) if at_stake else Severity.LOW,
        confidence=ruling.confidence,
        evidence=rests_on,
        supports=ruling.supports,
        replay=f"hintproof replay {identity}" if at_stake else "",
    )


def _ruling(hint: Hint, evidence: ToolEvidence, assessed: Mapping[Hint, Assessment]) -> _Ruling:
    declared, hints, supports = evidence.tool.hints.of(hint), evidence.tool.hints, _supported(hint, assessed)
    if declared is Declared.MALFORMED:
        why = f"the value sent is not a JSON boolean; {_support_in_words(supports)}"
        return _Ruling(Verdict.UNDECLARED, Reason.MALFORMED, why, Confidence.CERTAIN, supports)
    if hints.read_only is Declared.TRUE and hint in _MEANINGLESS_BESIDE_READ_ONLY:
        return _Ruling(
            Verdict.MOOT, None, "says nothing beside readOnlyHint true", Confidence.CERTAIN, supports
        )
    if declared is Declared.ABSENT:
        why = f"not sent; {_support_in_words(supports)}"
        return _Ruling(Verdict.UNDECLARED, None, why, Confidence.CERTAIN, supports)
    if claims(hint, declared):
        return _claim(assessed[hint], supports)
    return _permission(assessed[hint], supports)


def _claim(assessment: Assessment, supports: bool | None) -> _Ruling:
    verdict = {
        State.BROKEN: Verdict.CONTRADICTED,
        State.SUSPECTED: Verdict.INCONCLUSIVE,
        State.UNKNOWN: Verdict.INCONCLUSIVE,
        State.HELD: Verdict.CONSISTENT,
    }[assessment.state]
    return _Ruling(
        verdict,
        assessment.reason,
        assessment.why,
        assessment.confidence,
        supports,
        rests_on_evidence=assessment.state in (State.BROKEN, State.SUSPECTED),
    )


def _permission(assessment: Assessment, supports: bool | None) -> _Ruling:
    """A permissive value cannot be contradicted; one sighting is enough to show that it is needed."""
    match assessment.state:
        case State.BROKEN | State.SUSPECTED:
            sure = Confidence.CERTAIN if assessment.state is State.BROKEN else Confidence.LIKELY
            first = assessment.decided_by[0].effect.summary
            return _Ruling(
                Verdict.CONSISTENT, None, f"needed: {first}", sure, supports, rests_on_evidence=True
            )
        case State.UNKNOWN:
            return _Ruling(
                Verdict.INCONCLUSIVE, assessment.reason, assessment.why, assessment.confidence, supports
            )
        case State.HELD if assessment.confidence is Confidence.POSSIBLE:
            first = assessment.decided_by[0].effect.summary
            return _Ruling(Verdict.CONSISTENT, None, f"may be needed: {first}", Confidence.POSSIBLE, supports)
        case State.HELD:
            return _Ruling(
                Verdict.OVERCAUTIOUS,
                None,
                f"nothing needed it: {assessment.why}",
                Confidence.LIKELY,
                supports,
            )


def _with_unstable_definition(ruling: _Ruling, evidence: ToolEvidence) -> _Ruling:
    notes = dict(evidence.notes)
    judged = ruling.verdict in (Verdict.CONTRADICTED, Verdict.CONSISTENT, Verdict.OVERCAUTIOUS)
    if ruling.reason is not None or not judged or Reason.UNSTABLE_DEFINITION not in notes:
        return ruling
    why = f"{ruling.why}; {notes[Reason.UNSTABLE_DEFINITION]}"
    return dataclasses.replace(ruling, reason=Reason.UNSTABLE_DEFINITION, why=why)


def _supported(hint: Hint, assessed: Mapping[Hint, Assessment]) -> bool | None:
    """The value of a hint that the evidence supports; None where it supports none."""
    assessment = assessed[hint]
    if assessment.state in (State.BROKEN, State.SUSPECTED):
        return not CLAIM[hint]
    if _shown(assessment):
        return CLAIM[hint]
    # A tool that changes nothing at all loses nothing, and changes nothing again.
    changes_nothing = hint in _MEANINGLESS_BESIDE_READ_ONLY and _shown(assessed[Hint.READ_ONLY])
    return CLAIM[hint] if changes_nothing else None


def _shown(assessment: Assessment) -> bool:
    return assessment.state is State.HELD and assessment.confidence is not Confidence.POSSIBLE


def _support_in_words(supports: bool | None) -> str:
    return (
        "the evidence supports no value"
        if supports is None
        else f"the evidence supports {str(supports).lower()}"
    )


def _proposed(evidence: ToolEvidence, assessed: Mapping[Hint, Assessment]) -> Mapping[str, bool]:
    proposed = {}
    for hint in Hint:
        supports = _supported(hint, assessed)
        claimed = claims(hint, evidence.tool.hints.of(hint))
        if supports is None and claimed and assessed[hint].state is State.HELD:
            # Judged consistent, if only possibly so: no reason to propose a change.
            supports = CLAIM[hint]
        proposed[hint.value] = not CLAIM[hint] if supports is None else supports
    return proposed


_ALWAYS_LISTED = frozenset({EffectKind.SECRET_READ, EffectKind.PROCESS_LEFT, EffectKind.NET_LISTEN})


def _listed(evidence: ToolEvidence) -> tuple[Effect, ...]:
    """Effects worth showing that may contradict nothing, each once."""
    listed: dict[tuple[EffectKind, str], Effect] = {}
    for sighting in sightings(evidence):
        effect = sighting.effect
        doubtful = effect.confidence is Confidence.POSSIBLE and effect.weight is Weight.MATERIAL
        tolerated = effect.weight in (Weight.INCIDENTAL, Weight.FIRST_USE)
        if effect.kind in _ALWAYS_LISTED or tolerated or doubtful:
            listed.setdefault((effect.kind, effect.subject), effect)
    return tuple(listed.values())
