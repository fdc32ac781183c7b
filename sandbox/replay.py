"""One finding of an earlier run again: the same call in a fresh box, judged against the saved evidence."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import EvidenceError, RunNotFoundError
from sandbox.evidence.runs import load_evidence, load_record, load_report
from sandbox.judge import judge
from sandbox.model import Hint, Purpose, StepKind, ToolEvidence, Trial, Verdict
from sandbox.policy import SPEC, Profile, profile_named
from sandbox.probe.again import again
from sandbox.probe.boxes import BoxKeeper
from sandbox.probe.settings import ProbeSettings
from sandbox.probe.stage import StageSettings, staged
from sandbox.targets import Launch


@dataclass(frozen=True, slots=True)
class SavedFinding:
    """A finding of an earlier run: its id and hint, the evidence of its tool, and the deciding trial."""

    id: str
    hint: Hint
    evidence: ToolEvidence
    trial: Trial


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of it: the new trial, whether the contradiction was seen again, and the two trials as evidence."""

    trial: Trial
    again: bool
    evidence: ToolEvidence


def find_saved(root: Path, finding_id: str) -> tuple[Path, SavedFinding]:
    """The newest finding below ``root``, a folder of runs, whose id begins with ``finding_id``, and its run's
    folder.

    Runs that were stopped before their end, and those of ``investigate``, are looked through as well.

    Raises:
        RunNotFoundError: no run holds such a finding, or it rests on no call.
        EvidenceError: the only runs that may hold it are damaged.
    """
    damaged: EvidenceError | None = None
    for record in sorted(root.glob("*/run.json"), reverse=True):
        try:
            for id_, tool, hint, trials in _findings(record.parent):
                if id_.startswith(finding_id):
                    return record.parent, _with_trial(record.parent, id_, tool, hint, trials)
        except EvidenceError as error:
            damaged = damaged or error
    if damaged is not None:
        raise damaged
    raise RunNotFoundError(
        f"No run in {root} holds a finding {finding_id!r}. The id stands beside `replay` in the report of `hintproof verify`."
    )


def _findings(folder: Path) -> Iterator[tuple[str, str, Hint, list[str]]]:
    """Id, tool, hint and deciding trials of every finding: as reported, or, without a report, as judged now."""
    if (folder / "report.json").is_file():
        for tool in load_report(folder).get("tools", ()):
            for finding in tool["findings"]:
                trials = [entry["trial"] for entry in finding["evidence"]]
                yield finding["id"], tool["name"], Hint(finding["hint"]), trials
        return
    profile = profile_named(str(load_record(folder).launch.get("profile") or SPEC.name))
    for evidence in load_evidence(folder):
        for judged in judge(evidence, profile):
            yield judged.id, judged.tool, judged.hint, [entry.trial for entry in judged.evidence]


def _with_trial(folder: Path, id_: str, tool: str, hint: Hint, trials: list[str]) -> SavedFinding:
    evidence = [item for item in load_evidence(folder) if item.tool.name == tool][-1]
    known = {trial.id: trial for trial in evidence.trials}
    for trial in trials:
        if trial in known:
            return SavedFinding(id_, hint, evidence, known[trial])
    raise RunNotFoundError(f"Finding {id_} rests on no single call, so there is nothing to replay.")


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
