"""What the evidence says of one hint's claim, whatever was declared (design, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from sandbox.judge.blindness import first_blind_spot, repeats
from sandbox.judge.contacts import contact_reason, host_of, words_of
from sandbox.judge.counting import bears_on, loses
from sandbox.judge.reproduction import DECIDING_STEPS, Candidate, Standing, candidates
from sandbox.judge.sightings import Sighting, sightings
from sandbox.model import Confidence, Declared, Hint, ToolEvidence
from sandbox.policy import Profile, Reason

CLAIM: dict[Hint, bool] = {
    Hint.READ_ONLY: True,
    Hint.DESTRUCTIVE: False,
    Hint.IDEMPOTENT: True,
    Hint.OPEN_WORLD: False,
}
"""The value of each hint that claims something; the other one only permits."""


def claims(hint: Hint, declared: Declared) -> bool:
    """Whether a declared value is the one of its hint that behaviour can contradict."""
    return declared is (Declared.TRUE if CLAIM[hint] else Declared.FALSE)


_MEMORY = "state kept only in the server's memory was not visible"


class State(Enum):
    """Where a claim stands."""

    BROKEN = "broken"
    SUSPECTED = "suspected"
    UNKNOWN = "unknown"
    HELD = "held"


@dataclass(frozen=True, slots=True)
class Assessment:
    """What is known of one claim: its state, the reason code for it, a sentence, how sure, and what decided."""

    state: State
    reason: Reason | None
    why: str
    confidence: Confidence
    decided_by: tuple[Sighting, ...] = ()


_SUSPICION: dict[Standing, tuple[Reason, str]] = {
    Standing.ONCE: (Reason.OBSERVED_ONCE, "and not again in a fresh box"),
    Standing.ANSWER_ONCE: (Reason.NOT_REPRODUCED, "and not again in a fresh box"),
    Standing.UNATTRIBUTED: (Reason.UNATTRIBUTED_LATE_EFFECT, "after the last of several calls"),
    Standing.UNCONFIRMED: (Reason.UNCONFIRMED, "and not tried again in a fresh box"),
}


def assess(evidence: ToolEvidence, profile: Profile) -> dict[Hint, Assessment]:
    """The assessment of each hint's claim, in wire order."""
    seen = sightings(evidence)
    return {hint: _assess(hint, evidence, seen, profile) for hint in Hint}


def _assess(hint: Hint, evidence: ToolEvidence, seen: Sequence[Sighting], profile: Profile) -> Assessment:
    found = candidates(hint, seen, evidence, profile)
    proven = [item for item in found if item.standing in (Standing.CERTAIN, Standing.LIKELY)]
    if proven:
        return _broken(hint, proven)
    if found:
        reason, how = _SUSPICION[found[0].standing]
        decided = tuple(item.sighting for item in found)
        return Assessment(
            State.SUSPECTED, reason, f"seen once, {how}: {_told(decided)}", Confidence.POSSIBLE, decided
        )
    blind = first_blind_spot(hint, evidence, seen)
    if blind is not None:
        return Assessment(State.UNKNOWN, blind[0], blind[1], Confidence.POSSIBLE)
    return _held(hint, evidence, seen, profile)


def _broken(hint: Hint, proven: Sequence[Candidate]) -> Assessment:
    certain = proven[0].standing is Standing.CERTAIN
    decided = tuple(item.sighting for item in proven if item.standing is proven[0].standing)
    reason = _contact_reason(decided) if hint is Hint.OPEN_WORLD else None
    lost = hint is Hint.READ_ONLY and any(loses(sighting.effect) for sighting in decided)
    again = "seen again in a fresh box" if certain else "the like was seen again in a fresh box"
    why = f"{_told(decided)}{'; what existed before is lost' if lost else ''}; {again}"
    return Assessment(
        State.BROKEN, reason, why, Confidence.CERTAIN if certain else Confidence.LIKELY, decided
    )


def _held(hint: Hint, evidence: ToolEvidence, seen: Sequence[Sighting], profile: Profile) -> Assessment:
    """Nothing counts against the claim and nothing was in the way; what is only possible makes it less sure."""
    doubts = [
        item
        for item in seen
        if item.effect.confidence is Confidence.POSSIBLE
        and item.step.kind in DECIDING_STEPS[hint]
        and bears_on(hint, item.effect, profile, evidence.closed_world)
    ]
    parts = [_basis(hint, evidence)]
    if doubts:
        parts.append(f"possibly against it: {_told(doubts)}")
    if hint is not Hint.OPEN_WORLD:
        parts.append(_MEMORY)
    confidence = Confidence.POSSIBLE if doubts else Confidence.LIKELY
    return Assessment(State.HELD, None, "; ".join(parts), confidence, tuple(doubts))


def _basis(hint: Hint, evidence: ToolEvidence) -> str:
    calls = f"{evidence.accepted} accepted call{'' if evidence.accepted == 1 else 's'}"
    space = f" ({', '.join(evidence.space)})" if evidence.space else ""
    match hint:
        case Hint.READ_ONLY:
            return f"{calls}{space} left nothing that lasts"
        case Hint.DESTRUCTIVE:
            return f"{calls}{space} lost nothing that existed"
        case Hint.IDEMPOTENT:
            again = len(repeats(evidence))
            return f"{again} second call{'' if again == 1 else 's'} of {calls}{space} added nothing"
        case Hint.OPEN_WORLD:
            return f"{calls}{space} made no contact"


def _told(decided: Sequence[Sighting]) -> str:
    """The first effect in words, and how many different ones there are beside it."""
    summaries = list(dict.fromkeys(sighting.effect.summary for sighting in decided))
    more = f" (and {len(summaries) - 1} more)" if len(summaries) > 1 else ""
    return summaries[0] + more


def _contact_reason(decided: Sequence[Sighting]) -> Reason | None:
    return contact_reason(
        (host_of(sighting.effect), words_of(dict(sighting.call.arguments)) if sighting.call else "")
        for sighting in decided
    )
