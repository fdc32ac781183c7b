"""Contradictions again, in fresh boxes: with smaller arguments, with the same prefix, and after another call.

A contradiction counts only when it is reproduced (design, section 3, rule 1). What to confirm is asked of the
judge, so that exactly what would count is confirmed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence

from sandbox.arguments import shrink
from sandbox.judge import judge
from sandbox.model import (
    Call,
    Effect,
    EffectKind,
    Evidence,
    Finding,
    Purpose,
    Tool,
    Trial,
)
from sandbox.policy import Profile, Reason
from sandbox.probe.again import again
from sandbox.probe.boxes import BoxKeeper
from sandbox.probe.dossier import Dossier
from sandbox.probe.order import looks_like_read

_ROUNDS = 4
"""How many candidates of one tool are tried again before the first that is reproduced."""


class Confirmer:
    """Repeats what the judge would count, and records the outcome as further trials."""

    def __init__(
        self,
        keeper: BoxKeeper,
        profiles: Iterable[Profile],
        closed_world: tuple[str, ...],
        unrelated: Callable[[Tool, tuple[Effect, ...]], tuple[Tool, Call] | None],
    ) -> None:
        self._keeper = keeper
        self._profiles = tuple(profiles)
        self._closed_world = closed_world
        self._unrelated = unrelated

    async def confirm(self, dossier: Dossier) -> None:
        """Shrink and repeat every candidate contradiction of one tool."""
        for attempt in range(_ROUNDS):
            wanted = self._wanted(dossier)
            if not wanted:
                return
            if attempt == 0:
                for evidence in wanted:
                    await self._shrink(dossier, evidence)
                wanted = self._wanted(dossier)
            for evidence in wanted:
                await self._repeat(dossier, _trial(dossier, evidence.trial), evidence)

    def _wanted(self, dossier: Dossier) -> list[Evidence]:
        """The smallest evidence of each candidate that has not been tried again yet, once per trial."""
        tried = {trial.confirms for trial in dossier.trials if trial.purpose is Purpose.CONFIRM}
        wanted: dict[str, Evidence] = {}
        for finding in self._findings(dossier):
            if finding.reason not in (Reason.UNCONFIRMED, Reason.OBSERVED_ONCE):
                continue
            fresh = [evidence for evidence in finding.evidence if evidence.trial not in tried]
            if fresh and fresh[0].call is not None:
                wanted.setdefault(fresh[0].trial, fresh[0])
        return list(wanted.values())

    def _findings(self, dossier: Dossier) -> list[Finding]:
        evidence = dossier.evidence(self._closed_world)
        return [finding for profile in self._profiles for finding in judge(evidence, profile)]

    async def _shrink(self, dossier: Dossier, evidence: Evidence) -> None:
        """Look for smaller arguments with an effect of the same kinds; what is found becomes a probe trial."""
        assert evidence.call is not None
        kinds = {effect.kind for effect in evidence.effects}
        best, budget = evidence.call, self._keeper.settings.shrinks
        improved = True
        while improved and budget > 0:
            improved = False
            for arguments in shrink(best.arguments, dossier.tool.input_schema):
                if budget == 0:
                    break
                budget -= 1
                call = Call(best.tool, arguments, "made smaller")
                trial = await again(
                    self._keeper, dossier.tool, _trial(dossier, evidence.trial), call, Purpose.PROBE
                )
                if kinds <= {effect.kind for step in trial.steps for effect in step.effects}:
                    dossier.trials.append(trial)
                    best, improved = call, True
                    break

    async def _repeat(self, dossier: Dossier, trial: Trial, evidence: Evidence) -> None:
        assert evidence.call is not None
        dossier.trials.append(
            await again(self._keeper, dossier.tool, trial, evidence.call, Purpose.CONFIRM, confirms=trial.id)
        )
        other = self._unrelated(dossier.tool, evidence.effects)
        if other is None or any(effect.loses for effect in evidence.effects):
            return
        dossier.trials.append(
            await again(
                self._keeper,
                dossier.tool,
                trial,
                evidence.call,
                Purpose.FIRST_USE,
                confirms=trial.id,
                first=other,
                # What a writer saves in a moment must not come in the call of this tool.
                rest_ms=0 if looks_like_read(other[0]) else self._keeper.settings.dirty_settle_ms,
            )
        )


def made_anyway(call: Call, left: Sequence[Effect], effects: Sequence[Effect]) -> bool:
    """Whether another tool's call left nothing but new files that ``effects`` show too.

    Files that its arguments name are another matter: those it made because it was told to.
    """
    shown = {effect.subject for effect in effects if effect.kind is EffectKind.FILE_CREATED}
    if any(effect.kind is not EffectKind.FILE_CREATED or effect.subject not in shown for effect in left):
        return False
    said = re.findall(r"\w+", json.dumps(call.arguments).lower())
    names = [effect.subject.rpartition("/")[2].lower() for effect in left]
    return not any(word in name for word in said for name in names)


def _trial(dossier: Dossier, trial_id: str) -> Trial:
    return next(trial for trial in dossier.trials if trial.id == trial_id)
