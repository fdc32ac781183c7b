"""What happens after the last call of a shared box, or in the call of another tool: whose doing is it?

A box that several tools shared ends with one long idle. An effect that shows only there is looked for again
in fresh boxes: with no call at all (then nobody did it), then with half of the calls, and so on down to one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from sandbox.model import Call, Effect, EffectKind, Purpose, Step, StepKind, Tool, Trial
from sandbox.probe.boxes import BoxKeeper
from sandbox.probe.live import telling

Mark = tuple[EffectKind, str]
"""A kind of effect with its subject or with its fingerprint: what two boxes show of one effect shares one of them."""


def marks(effects: Iterable[Effect]) -> set[Mark]:
    """Both marks of each effect."""
    found = {(effect.kind, name) for effect in effects for name in (effect.subject, effect.fingerprint)}
    return {mark for mark in found if mark[1]}


def among(effects: Iterable[Effect], known: set[Mark]) -> tuple[Effect, ...]:
    """The effects that have a mark of ``known``."""
    return tuple(effect for effect in effects if marks([effect]) & known)


def shown_by(trial: Trial) -> tuple[Effect, ...]:
    """What the calls of a trial and its settle showed that some claim could rest on."""
    own = (step for step in trial.steps if step.kind not in (StepKind.IDLE, StepKind.PREPARE))
    return telling(tuple(effect for step in own for effect in step.effects))


class LateSearch:
    """Bisects the calls of a box over effects that were seen in it and that came late."""

    def __init__(self, keeper: BoxKeeper, seen: Iterable[Effect]) -> None:
        self.background: tuple[Effect, ...] = ()
        self._keeper = keeper
        self._wanted = tuple(seen)
        self._budget = 12

    async def search(self, calls: Sequence[tuple[Tool, Call]]) -> list[tuple[Tool, Trial]]:
        """The single calls after which such an effect shows, each with the trial that shows it."""
        control = await self._run([])
        self.background = telling(control.steps[-1].effects)
        known = marks(self.background)
        self._wanted = tuple(effect for effect in self._wanted if not among([effect], known))
        return await self._among(_distinct(calls)) if self._wanted else []

    async def _among(self, calls: list[tuple[Tool, Call]]) -> list[tuple[Tool, Trial]]:
        if not calls or self._budget == 0:
            return []
        self._budget -= 1
        trial = await self._run(calls)
        # What one call does late may come during another one, which takes its time.
        if not among(self._wanted, marks(shown_by(trial))):
            return []
        if len(calls) == 1:
            return [(calls[0][0], dataclasses.replace(trial, purpose=Purpose.LATE))]
        middle = len(calls) // 2
        return [*await self._among(calls[:middle]), *await self._among(calls[middle:])]

    async def _run(self, calls: list[tuple[Tool, Call]]) -> Trial:
        settings = self._keeper.settings
        box = await self._keeper.fresh()
        steps: list[Step] = []
        try:
            for tool, call in calls:
                if box.session.alive:
                    steps.append(await box.call(StepKind.CALL, tool, call, settings.call_timeout_ms))
            steps.append(await box.idle(StepKind.SETTLE, settings.settle_ms))
            subject = calls[0][0] if calls else Tool.read({"name": ""})
            return box.trial(subject, Purpose.PROBE, steps, number=self._keeper.number())
        finally:
            await self._keeper.discard(box)


def _distinct(calls: Sequence[tuple[Tool, Call]]) -> list[tuple[Tool, Call]]:
    """Repeats left out: the same call twice tells nothing more about who acts late."""
    distinct: list[tuple[Tool, Call]] = []
    for tool, call in calls:
        if not any(call == known for _, known in distinct):
            distinct.append((tool, call))
    return distinct
