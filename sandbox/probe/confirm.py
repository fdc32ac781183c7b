"""Contradictions again, in fresh boxes: with smaller arguments, with the same prefix, and after another call.

A contradiction counts only when it is reproduced (design, section 3, rule 1). What to confirm is asked of the
judge, so that exactly what would count is confirmed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sandbox.arguments import shrink
from sandbox.judge import judge
from sandbox.model import (
    Call,
    Evidence,
    Finding,
    Purpose,
    Step,
    StepKind,
    Tool,
    Trial,
)
from sandbox.policy import Profile
from sandbox.probe.boxes import BoxKeeper
from sandbox.probe.dossier import Dossier

_ROUNDS = 4
"""How many candidates of one tool are tried again before the first that is reproduced."""


class Confirmer:
    """Repeats what the judge would count, and records the outcome as further trials."""

    def __init__(
        self,
        keeper: BoxKeeper,
        profiles: Iterable[Profile],
        closed_world: tuple[str, ...],
        unrelated: Callable[[Tool], tuple[Tool, Call] | None],
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
            if finding.reason not in ("unconfirmed", "observed-once"):
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
                trial = await self._run(dossier.tool, _trial(dossier, evidence.trial), call, Purpose.PROBE)
                if kinds <= {effect.kind for step in trial.steps for effect in step.effects}:
                    dossier.trials.append(trial)
                    best, improved = call, True
                    break

    async def _repeat(self, dossier: Dossier, trial: Trial, evidence: Evidence) -> None:
        assert evidence.call is not None
        again = await self._run(dossier.tool, trial, evidence.call, Purpose.CONFIRM, confirms=trial.id)
        dossier.trials.append(again)
        other = self._unrelated(dossier.tool)
        if other is None or any(effect.loses for effect in evidence.effects):
            return
        dossier.trials.append(
            await self._run(
                dossier.tool, trial, evidence.call, Purpose.FIRST_USE, confirms=trial.id, first=other
            )
        )

    async def _run(
        self,
        tool: Tool,
        trial: Trial,
        call: Call,
        purpose: Purpose,
        *,
        confirms: str = "",
        first: tuple[Tool, Call] | None = None,
    ) -> Trial:
        """The steps of ``trial`` in a fresh box, with ``call`` in place of its call."""
        settings = self._keeper.settings
        box = await self._keeper.fresh(settings.confirm_idle_ms)
        steps: list[Step] = []
        try:
            if first is not None:
                await box.call(StepKind.PREPARE, *first, settings.call_timeout_ms)
            for step in trial.steps:
                if not box.session.alive:
                    break
                if step.kind is StepKind.PREPARE and step.call is not None and first is None:
                    await box.call(
                        StepKind.PREPARE, _tool_of(step.call, tool), step.call, settings.call_timeout_ms
                    )
                elif step.kind in (StepKind.CALL, StepKind.REPEAT):
                    steps.append(await box.call(step.kind, tool, call, settings.call_timeout_ms))
                elif step.kind is StepKind.SETTLE:
                    steps.append(await box.idle(StepKind.SETTLE, step.duration_ms))
            return box.trial(tool, purpose, steps, confirms, number=self._keeper.number())
        finally:
            await self._keeper.discard(box)


def _tool_of(call: Call, tool: Tool) -> Tool:
    """A tool to send a prepared call with: only its name and its way of being called matter."""
    return tool if call.tool == tool.name else Tool.read({"name": call.tool})


def _trial(dossier: Dossier, trial_id: str) -> Trial:
    return next(trial for trial in dossier.trials if trial.id == trial_id)
