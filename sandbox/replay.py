"""One finding of an earlier run again: the same call in a fresh box, judged against the saved evidence."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.errors import RunNotFoundError
from sandbox.evidence.runs import load_evidence, load_report
from sandbox.judge import judge
from sandbox.model import Finding, Purpose, StepKind, ToolEvidence, Trial, Verdict
from sandbox.policy import Profile
from sandbox.probe.again import again
from sandbox.probe.boxes import BoxKeeper
from sandbox.probe.settings import ProbeSettings
from sandbox.probe.stage import StageSettings, staged
from sandbox.targets import Launch


@dataclass(frozen=True, slots=True)
class SavedFinding:
    """A finding of an earlier run: its report entry, the evidence of its tool, and the deciding trial."""

    finding: dict[str, Any]
    evidence: ToolEvidence
    trial: Trial


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of it: the new trial, whether the contradiction was seen again, and the new finding."""

    trial: Trial
    again: bool
    finding: Finding
    evidence: ToolEvidence


def find_saved(folders: list[Path], finding_id: str) -> tuple[Path, SavedFinding]:
    """The newest saved finding whose id begins with ``finding_id``.

    Raises:
        RunNotFoundError: no finished run in the folders holds such a finding, or it rests on no call.
        EvidenceError: the saved evidence is damaged.
    """
    for folder in sorted(folders, reverse=True):
        if not (folder / "report.json").is_file():
            continue
        for tool in load_report(folder).get("tools", []):
            for finding in tool.get("findings", []):
                if str(finding.get("id", "")).startswith(finding_id):
                    return folder, _with_trial(folder, tool["name"], finding)
    raise RunNotFoundError(
        f"No finished run holds a finding {finding_id!r}. `hintproof verify` prints the ids of its findings; "
        "runs are looked for in .hintproof/runs of this folder (or --runs DIR)."
    )


def _with_trial(folder: Path, tool: str, finding: dict[str, Any]) -> SavedFinding:
    evidence = [item for item in load_evidence(folder) if item.tool.name == tool][-1]
    trials = {trial.id: trial for trial in evidence.trials}
    for entry in finding.get("evidence", []):
        if entry.get("trial") in trials:
            return SavedFinding(finding, evidence, trials[entry["trial"]])
    raise RunNotFoundError(
        f"Finding {finding['id']} ({finding['verdict']}) rests on no single call, so there is nothing to replay."
    )


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
    hint = saved.finding["hint"]
    finding = next(item for item in judge(evidence, profile) if item.hint.value == hint)
    return Replay(trial, finding.verdict is Verdict.CONTRADICTED, finding, evidence)
