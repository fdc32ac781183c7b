"""One finding of an earlier run again: the same call in a fresh box, judged against the saved evidence."""

from __future__ import annotations

import dataclasses

from sandbox.judge import judge
from sandbox.model import Purpose, Replay, SavedFinding, StepKind, Verdict
from sandbox.policy import Profile
from sandbox.probe.again import again
from sandbox.probe.boxes import BoxKeeper
from sandbox.probe.settings import ProbeSettings
from sandbox.probe.stage import StageSettings, staged
from sandbox.targets.launch import Launch


async def replay(
    launch: Launch, saved: SavedFinding, profile: Profile, probe: ProbeSettings, settings: StageSettings
) -> Replay:
    """Run the finding's trial again in a fresh box.

    Raises:
        NoSandboxError, ServerStartError: as for ``verify``.
    """
    tool = saved.evidence.tool
    original = saved.trial
    call = next(s.call for s in original.steps if s.kind is StepKind.CALL and s.call is not None)
    async with staged(launch, settings, spares=0) as stage:
        keeper = BoxKeeper(stage.pool, stage.collector, probe, lambda *_: None)
        trial = await again(keeper, tool, original, call, Purpose.CONFIRM, confirms=original.id)
    evidence = dataclasses.replace(saved.evidence, trials=(original, trial))
    finding = next(item for item in judge(evidence, profile) if item.hint is saved.hint)
    return Replay(trial, finding.verdict is Verdict.CONTRADICTED, evidence)
