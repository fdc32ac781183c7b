"""Findings of earlier runs, found again by their ids."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from sandbox.errors import EvidenceError, RunNotFoundError
from sandbox.evidence.runs import load_evidence, load_record, load_report, records_of
from sandbox.judge import judge
from sandbox.model import Hint, SavedFinding
from sandbox.policy import SPEC, profile_named


def find_saved(root: Path, finding_id: str) -> tuple[Path, SavedFinding]:
    """The newest finding whose id begins with ``finding_id``, of the runs in ``root`` and of the batches beside it,
    and its run's folder.

    Runs that were stopped before their end, and those of ``investigate``, are looked through as well.

    Raises:
        RunNotFoundError: no run holds such a finding, or it rests on no call.
        EvidenceError: the only runs that may hold it are damaged.
    """
    damaged: EvidenceError | None = None
    for record in reversed(records_of(root)):
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
