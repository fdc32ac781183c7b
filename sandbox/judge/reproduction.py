"""What became of each sighting that goes against a claim: seen again in another box, or not (design, section
3, rule 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from sandbox.judge.counting import counts_against
from sandbox.judge.likeness import Likeness, pair_off
from sandbox.judge.sightings import OWN_STEPS, Sighting, canonical, family
from sandbox.model import Confidence, EffectKind, Hint, Purpose, StepKind, ToolEvidence, Trial
from sandbox.policy import Profile


class Standing(IntEnum):
    """How a sighting stands, the strongest first."""

    CERTAIN = 0
    LIKELY = 1
    ONCE = 2
    """The confirming call did not show it, and the kernel attributes it to the server."""
    ANSWER_ONCE = 3
    """The confirming call did not show it, and it was only another tool's answer that changed."""
    UNATTRIBUTED = 4
    """It came late, and no call was tried alone."""
    UNCONFIRMED = 5
    """No confirming call was made."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A sighting that goes against a claim, and how it stands."""

    sighting: Sighting
    standing: Standing


DECIDING_STEPS: dict[Hint, frozenset[StepKind]] = {
    Hint.READ_ONLY: OWN_STEPS,
    Hint.DESTRUCTIVE: OWN_STEPS,
    Hint.IDEMPOTENT: frozenset({StepKind.REPEAT}),
    Hint.OPEN_WORLD: OWN_STEPS,
}
"""The steps whose effects meet each claim: an idempotent one is met by what the second identical call adds."""


def candidates(
    hint: Hint, seen: Sequence[Sighting], evidence: ToolEvidence, profile: Profile
) -> tuple[Candidate, ...]:
    """Every sighting that goes against the claim of ``hint``.

    The strongest standing comes first; among equals probe trials before the ones that confirm them, and the
    smallest arguments first. A control after an unrelated call confirms nothing: what the other tool does late
    may show in it.
    """
    confirming = [trial for trial in evidence.trials if trial.purpose is not Purpose.FIRST_USE]
    against = [
        sighting
        for sighting in seen
        if sighting.step.kind in DECIDING_STEPS[hint]
        and counts_against(hint, sighting.effect, profile, evidence.closed_world)
    ]
    found = []
    for trial in evidence.trials:
        mine = [sighting for sighting in against if sighting.trial is trial]
        relatives = (
            [other for other in confirming if other is not trial and family(other) == family(trial)]
            if trial.purpose is not Purpose.FIRST_USE
            else []
        )
        best = [Likeness.NONE] * len(mine)
        for relative in relatives:
            theirs = [sighting.effect for sighting in against if sighting.trial is relative]
            alike = pair_off([sighting.effect for sighting in mine], theirs)
            best = [max(pair) for pair in zip(best, alike, strict=True)]
        for sighting, likeness in zip(mine, best, strict=True):
            standing = _standing(sighting, likeness, relatives)
            if standing is not None:
                found.append(Candidate(sighting, standing))
    return tuple(sorted(found, key=_rank))


def _rank(candidate: Candidate) -> tuple[int, bool, bool, int, str]:
    sighting = candidate.sighting
    arguments = canonical(sighting.call)
    confirms = sighting.trial.purpose is not Purpose.PROBE
    return candidate.standing, confirms, sighting.call is None, len(arguments), arguments


def _standing(sighting: Sighting, likeness: Likeness, relatives: Sequence[Trial]) -> Standing | None:
    """How a sighting stands by its best partner in another box; None where another tool of its box is to blame."""
    if likeness is Likeness.SAME and sighting.effect.confidence is Confidence.CERTAIN:
        return Standing.CERTAIN
    if likeness is not Likeness.NONE:
        return Standing.LIKELY
    if sighting.trial.purpose is Purpose.PROBE:
        if sighting.step.kind is StepKind.SETTLE:
            if any(relative.purpose is Purpose.LATE for relative in relatives):
                return None
            if sighting.call is None:
                return Standing.UNATTRIBUTED
        if not any(_tries_again(relative, sighting) for relative in relatives):
            return Standing.UNCONFIRMED
    return Standing.ANSWER_ONCE if sighting.effect.kind is EffectKind.STATE_CHANGED else Standing.ONCE


def _tries_again(relative: Trial, sighting: Sighting) -> bool:
    """Whether a trial confirms this very call, or a smaller one that took its place."""
    if relative.purpose is not Purpose.CONFIRM:
        return False
    if not any(step.kind is sighting.step.kind for step in relative.steps):
        return False
    made, probed = _calls(relative), _calls(sighting.trial)
    return canonical(sighting.call) in made or not made & probed


def _calls(trial: Trial) -> set[str]:
    return {canonical(step.call) for step in trial.steps if step.kind in (StepKind.CALL, StepKind.REPEAT)}
