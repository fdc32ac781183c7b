"""What keeps a claim from being called consistent although nothing contradicts it (design, section 3, rules 2 to 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sandbox.judge.counting import (
    NEEDED,
    is_contact,
    lasts,
    loses,
    may_write_elsewhere,
    touches_existing,
)
from sandbox.judge.sightings import Sighting, accepted
from sandbox.model import (
    Confidence,
    Effect,
    EffectKind,
    Hint,
    Outcome,
    Purpose,
    Step,
    StepKind,
    ToolEvidence,
    Trial,
    Weight,
)
from sandbox.policy import Reason

_SOCKET_CALLS = frozenset({"socket", "socketpair", "connect", "bind", "sendto", "sendmsg", "sendmmsg"})


def first_blind_spot(
    hint: Hint, evidence: ToolEvidence, seen: Sequence[Sighting]
) -> tuple[Reason, str] | None:
    """The weightiest reason why the claim of ``hint`` cannot be called consistent, with a sentence; None if
    there is none."""
    return next(_blind_spots(hint, evidence, seen), None)


def _blind_spots(
    hint: Hint, evidence: ToolEvidence, seen: Sequence[Sighting]
) -> Iterator[tuple[Reason, str]]:
    notes = dict(evidence.notes)
    if not evidence.accepted:
        yield _nothing_accepted(evidence, notes)
    missing = [
        instrument.value
        for instrument in NEEDED[hint]
        if any(
            instrument not in trial.instruments for trial in evidence.trials if trial.purpose is Purpose.PROBE
        )
    ]
    if missing:
        yield (
            Reason.MISSING_INSTRUMENT,
            f"without {' and '.join(missing)} a contradiction could not have been seen",
        )
    yield from _prevented(hint, evidence)
    if Reason.UNATTRIBUTED_LATE_EFFECT in notes:
        yield Reason.UNATTRIBUTED_LATE_EFFECT, notes[Reason.UNATTRIBUTED_LATE_EFFECT]
    idle = _idle_action(hint, evidence)
    if idle is not None:
        yield Reason.IDLE_WRITES, f"the server does this while nothing is called: {idle.summary}"
    elif Reason.IDLE_WRITES in notes and hint is not Hint.OPEN_WORLD:
        yield Reason.IDLE_WRITES, notes[Reason.IDLE_WRITES]
    elif (like_idle := _like_idle(hint, seen)) is not None:
        yield Reason.IDLE_WRITES, f"the server does the like while nothing is called: {like_idle.summary}"
    if hint is not Hint.OPEN_WORLD:
        for sighting in seen:
            if may_write_elsewhere(sighting.effect):
                yield (
                    Reason.REMOTE_UNCLASSIFIED,
                    f"may have changed something elsewhere: {sighting.effect.summary}",
                )
    if hint is Hint.DESTRUCTIVE and not any(had_effect(step) for step in own_calls(evidence)):
        yield Reason.NO_EFFECT_SEEN, "no accepted call changed anything that lasts"
    if hint is Hint.IDEMPOTENT and not repeats(evidence):
        yield _nothing_repeated(evidence, notes)


def own_calls(evidence: ToolEvidence) -> Iterator[Step]:
    """The steps in which the probe called the tool for the first time with some arguments."""
    for trial in evidence.trials:
        if trial.purpose is Purpose.PROBE:
            yield from (step for step in trial.steps if step.kind is StepKind.CALL)


def had_effect(step: Step) -> bool:
    """Whether an accepted call changed something that lasts."""
    return accepted(step) and any(
        lasts(effect) and effect.weight is Weight.MATERIAL for effect in step.effects
    )


def repeats(evidence: ToolEvidence) -> tuple[Step, ...]:
    """The second identical calls that were answered, after an accepted first call that had an effect."""
    return tuple(
        repeat
        for first, repeat in _repeated(evidence)
        if had_effect(first) and repeat.reply is not None and repeat.reply.outcome in _ANSWERED
    )


_ANSWERED = (Outcome.ACCEPTED, Outcome.REFUSED)


def _repeated(evidence: ToolEvidence) -> Iterator[tuple[Step, Step]]:
    for trial in evidence.trials:
        first = None
        for step in trial.steps:
            if step.kind is StepKind.CALL:
                first = step
            elif step.kind is StepKind.REPEAT and first is not None:
                yield first, step


def _nothing_accepted(evidence: ToolEvidence, notes: dict[str, str]) -> tuple[Reason, str]:
    if not evidence.tried:
        reason = Reason.BUDGET_SPENT if Reason.BUDGET_SPENT in notes else Reason.NEVER_ACCEPTED
        return reason, notes.get(reason, "no call of the tool was made")
    outcomes = {step.reply.outcome for step in own_calls(evidence) if step.reply is not None}
    limits = [
        sentence
        for step in own_calls(evidence)
        for code, sentence in step.unreached
        if code == Reason.BOX_LIMIT
    ]
    if limits:
        return Reason.BOX_LIMIT, limits[0]
    if outcomes == {Outcome.CRASHED}:
        return Reason.CRASHED, f"the server died in each of {_count(evidence.tried, 'call')}"
    if outcomes == {Outcome.TIMED_OUT}:
        return Reason.TIMED_OUT, f"none of {_count(evidence.tried, 'call')} was answered in time"
    last = f"; the last refusal: {evidence.refusals[-1]}" if evidence.refusals else ""
    return Reason.NEVER_ACCEPTED, f"none of {_count(evidence.tried, 'call')} was accepted{last}"


def _nothing_repeated(evidence: ToolEvidence, notes: dict[str, str]) -> tuple[Reason, str]:
    if not any(had_effect(step) for step in own_calls(evidence)):
        return Reason.NO_EFFECT_SEEN, "no accepted call changed anything that lasts"
    outcomes = {
        repeat.reply.outcome for first, repeat in _repeated(evidence) if had_effect(first) and repeat.reply
    }
    if Outcome.CRASHED in outcomes:
        return Reason.CRASHED, "the server died in the second identical call"
    if Outcome.TIMED_OUT in outcomes:
        return Reason.TIMED_OUT, "the second identical call was not answered in time"
    if Reason.BUDGET_SPENT in notes:
        return Reason.BUDGET_SPENT, notes[Reason.BUDGET_SPENT]
    return Reason.UNCONFIRMED, "no call that had an effect was made a second time"


def _prevented(hint: Hint, evidence: ToolEvidence) -> Iterator[tuple[Reason, str]]:
    """What the box or the world prevented during the tool's calls, the box's limits first."""
    told: dict[str, str] = {}
    for trial in evidence.trials:
        for step in trial.steps:
            if step.kind not in (StepKind.CALL, StepKind.REPEAT):
                continue
            refused = [effect for effect in step.effects if effect.kind is EffectKind.REFUSED]
            for effect in refused:
                if _refusal_bears_on(hint, effect):
                    told.setdefault(Reason.REFUSED_BY_BOX, effect.summary)
            for code, sentence in step.unreached:
                # What was refused is told more exactly by the effects, where there are any.
                exact = code == Reason.REFUSED_BY_BOX and refused
                if hint in _PREVENTED_BY.get(code, ()) and not exact:
                    told.setdefault(code, sentence)
    for code in _PREVENTED_BY:
        if code in told:
            yield Reason(code), told[code]


_LOCAL_HINTS = frozenset({Hint.READ_ONLY, Hint.DESTRUCTIVE, Hint.IDEMPOTENT})
# An unanswered contact is contact all the same, and a denied write says nothing about contact.
_PREVENTED_BY: dict[str, frozenset[Hint]] = {
    Reason.BOX_LIMIT: frozenset(Hint),
    Reason.REFUSED_BY_BOX: _LOCAL_HINTS,
    Reason.WORLD_UNREACHABLE: _LOCAL_HINTS,
}


def _refusal_bears_on(hint: Hint, effect: Effect) -> bool:
    if effect.weight is not Weight.MATERIAL or effect.confidence is Confidence.POSSIBLE:
        return False
    is_socket = str(effect.detail.get("syscall", "")) in _SOCKET_CALLS
    return is_socket if hint is Hint.OPEN_WORLD else not is_socket


def _idle_action(hint: Hint, evidence: ToolEvidence) -> Effect | None:
    """What the server did to existing content (or, for openWorldHint, whom it contacted) while it was idle."""
    for trial in evidence.trials:
        for step in trial.steps:
            if step.kind is not StepKind.IDLE:
                continue
            for effect in step.effects:
                if effect.weight is Weight.TRANSIENT and hint is not Hint.OPEN_WORLD:
                    continue
                if (
                    is_contact(effect, evidence.closed_world)
                    if hint is Hint.OPEN_WORLD
                    else touches_existing(effect)
                ):
                    return effect
    return None


def _like_idle(hint: Hint, seen: Sequence[Sighting]) -> Effect | None:
    """What a call left that the idle control showed the like of, at another place: the tool's own doing can
    hide there.

    Background is told by a mask (one temporary name is like another), and only the very same place is beyond
    doubt.
    """
    for sighting in seen:
        effect = sighting.effect
        if effect.weight is not Weight.BACKGROUND or effect.subject in _idle_subjects(sighting.trial):
            continue
        if loses(effect) if hint is Hint.DESTRUCTIVE else hint is not Hint.OPEN_WORLD and lasts(effect):
            return effect
    return None


def _idle_subjects(trial: Trial) -> set[str]:
    return {effect.subject for step in trial.steps if step.kind is StepKind.IDLE for effect in step.effects}


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
