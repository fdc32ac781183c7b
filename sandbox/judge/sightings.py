"""Every effect of a tool's trials, one by one, with the call it belongs to and what first use explains."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sandbox.judge.counting import alters
from sandbox.judge.likeness import Likeness, pair_off
from sandbox.model import (
    Call,
    Effect,
    EffectKind,
    Outcome,
    Purpose,
    Step,
    StepKind,
    ToolEvidence,
    Trial,
    Weight,
)

OWN_STEPS = frozenset({StepKind.CALL, StepKind.REPEAT, StepKind.SETTLE})
"""The steps whose effects may be the tool's; an idle control is the server's and a preparation another tool's."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """One effect in one step of one trial. ``call`` is the call it belongs to, None where several could be."""

    trial: Trial
    index: int
    call: Call | None
    effect: Effect

    @property
    def step(self) -> Step:
        """The step in which the effect was seen."""
        return self.trial.steps[self.index]


def family(trial: Trial) -> str:
    """The id of the probe trial that this trial belongs to: its own, or the one that it confirms."""
    return trial.confirms or trial.id


def canonical(call: Call | None) -> str:
    """The arguments of a call as canonical JSON, to compare and to measure them; "" where there is no call."""
    if call is None:
        return ""
    return json.dumps(call.arguments, sort_keys=True, separators=(",", ":"), default=dict)


def accepted(step: Step) -> bool:
    """Whether the step's call was accepted."""
    return step.reply is not None and step.reply.outcome is Outcome.ACCEPTED


def sightings(evidence: ToolEvidence) -> tuple[Sighting, ...]:
    """Every effect that may be the tool's, in the order of the trials; what first use explains carries that weight."""
    seen = [sighting for trial in evidence.trials for sighting in _of_trial(trial)]
    for control in evidence.trials:
        if control.purpose is Purpose.FIRST_USE and _is_fair(control):
            seen = list(_without_first_use(seen, control))
    return tuple(_without_the_same(seen))


def _of_trial(trial: Trial) -> Iterator[Sighting]:
    calls = {canonical(step.call): step.call for step in trial.steps if step.kind is StepKind.CALL}
    only = next(iter(calls.values())) if len(calls) == 1 else None
    for index, step in enumerate(trial.steps):
        if step.kind in OWN_STEPS:
            for effect in step.effects:
                yield Sighting(trial, index, only if step.kind is StepKind.SETTLE else step.call, effect)


def _is_fair(control: Trial) -> bool:
    """Whether an unrelated call was accepted before the tool's own was: only then an absence says something."""
    kinds = [step.kind for step in control.steps if accepted(step)]
    return StepKind.PREPARE in kinds and StepKind.CALL in kinds[kinds.index(StepKind.PREPARE) :]


def _without_first_use(seen: list[Sighting], control: Trial) -> Iterator[Sighting]:
    shown = [effect for step in control.steps if step.kind in OWN_STEPS for effect in step.effects]
    others = {
        effect.subject: effect
        for step in control.steps
        if step.kind is StepKind.PREPARE
        for effect in step.effects
        if effect.kind is EffectKind.FILE_CREATED
    }
    lazy: set[int] = set()
    for trial in {id(sighting.trial): sighting.trial for sighting in seen}.values():
        if trial is control or family(trial) != family(control):
            continue
        mine = [index for index, sighting in enumerate(seen) if sighting.trial is trial]
        likeness = pair_off([seen[index].effect for index in mine], shown)
        lazy.update(
            index
            for index, alike in zip(mine, likeness, strict=True)
            if alike is Likeness.NONE
            and _could_be_lazy(seen[index])
            and _is_the_same(seen[index].effect, others.get(seen[index].effect.subject))
        )
    for index, sighting in enumerate(seen):
        yield (
            replace(sighting, effect=replace(sighting.effect, weight=Weight.FIRST_USE))
            if index in lazy
            else sighting
        )


def _without_the_same(seen: list[Sighting]) -> Iterator[Sighting]:
    """The very file that was made on first use once is no other matter where other arguments came first."""
    excused = {
        (sighting.effect.subject, sighting.effect.after)
        for sighting in seen
        if sighting.effect.weight is Weight.FIRST_USE and _is_new_file(sighting.effect)
    }
    for sighting in seen:
        effect = sighting.effect
        same = _is_new_file(effect) and (effect.subject, effect.after) in excused
        lazy = same and _could_be_lazy(sighting)
        yield replace(sighting, effect=replace(effect, weight=Weight.FIRST_USE)) if lazy else sighting


def _is_new_file(effect: Effect) -> bool:
    return effect.kind is EffectKind.FILE_CREATED and bool(effect.after)


def _is_the_same(effect: Effect, other: Effect | None) -> bool:
    """Whether what another tool had made already, if anything, is the same: not another content under one name."""
    if other is None or (effect.detail.get("empty") and other.detail.get("empty")):
        return True
    # A text with another time in it has the same fingerprint; that of other files knows their size alone.
    same_text = bool(effect.diff) and effect.fingerprint == other.fingerprint
    return same_text or (bool(effect.after) and effect.after == other.after)


def _could_be_lazy(sighting: Sighting) -> bool:
    """What appears after an accepted call of the tool itself, or alters what existed, is not made on first use.

    Neither is what carries something: a file among the user's own that is more than an empty store, one that
    something else will read or run, or one that is made when a planted secret was read. Two tools that lie
    about the same file would excuse each other.
    """
    effect = sighting.effect
    if effect.weight is not Weight.MATERIAL or alters(effect) or not _carries_nothing(effect):
        return False
    until_then = sighting.trial.steps[: sighting.index + 1]
    if any(seen.kind is EffectKind.SECRET_READ for step in until_then for seen in step.effects):
        return False
    calls = (step for step in until_then[:-1] if step.kind in (StepKind.CALL, StepKind.REPEAT))
    return not any(accepted(step) for step in calls)


def _carries_nothing(effect: Effect) -> bool:
    match effect.detail.get("place"):
        case "started" | "secret":
            return False
        case "workspace":
            return bool(effect.detail.get("empty"))
        case _:
            return True
