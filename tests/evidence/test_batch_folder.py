"""The folder of a batch: whole results, one process at a time, and nothing of another version."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from sandbox.errors import EvidenceError, RunNotFoundError, UsageError
from sandbox.evidence.batches import KEPT_BATCHES, BatchRecord, new_batch, open_batch
from sandbox.evidence.runs import RunFolder, RunRecord, find_run
from sandbox.policy import ServerClass, TargetResult

RESULT = TargetResult(1, "npm:x", ServerClass.DOES_NOT_START, 3, why="no", error="no\nreally", seconds=1.5)


def record(batch: str = "20261130-120000-aaaa") -> BatchRecord:
    return BatchRecord(batch, "/work", ("npm:x",), (), {"seed": "3"}, ("npm:x", "npm:y"), ("k1", "k2"), "now")


def test_what_is_saved_is_there_for_the_next_process(tmp_path: Path) -> None:
    with new_batch(tmp_path / "runs", record()) as folder:
        folder.save(RESULT)
    with open_batch(tmp_path / "runs", "last") as folder:
        assert folder.record == record()
        assert folder.results() == [RESULT]
        assert folder.path.parent == tmp_path / "batches"


@pytest.mark.parametrize(
    "damage", [b"", b'{"index": 1, "name', b"[]", b"\xff\xfe", b'{"index": 0}', b"[" * 100_000]
)
def test_a_damaged_result_counts_as_not_there(tmp_path: Path, damage: bytes) -> None:
    with new_batch(tmp_path / "runs", record()) as folder:
        folder.save(RESULT)
        (folder.path / "servers/002.json").write_bytes(damage)
        assert folder.results() == []


def test_a_result_of_another_server_is_not_taken(tmp_path: Path) -> None:
    with new_batch(tmp_path / "runs", record()) as folder:
        folder.save(RESULT)
        (folder.path / "servers/002.json").rename(folder.path / "servers/001.json")
        assert folder.results() == []


def test_a_batch_belongs_to_one_process_at_a_time(tmp_path: Path) -> None:
    with new_batch(tmp_path / "runs", record()), pytest.raises(UsageError, match="by another hintproof"):
        open_batch(tmp_path / "runs", "last")
    with open_batch(tmp_path / "runs", "2026"):
        pass


def test_a_batch_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    new_batch(tmp_path / "runs", record()).close()
    with pytest.raises(RunNotFoundError, match="20261130-120000-aaaa"):
        open_batch(tmp_path / "runs", "1999")
    with pytest.raises(RunNotFoundError, match="none"):
        open_batch(tmp_path / "elsewhere/runs", "last")


@pytest.mark.parametrize("change", [{"format": "other/9"}, {"version": "0.0.0"}, {"names": 3}])
def test_the_record_of_another_version_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    with new_batch(tmp_path / "runs", record()) as folder:
        path = folder.path / "batch.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(EvidenceError):
        open_batch(tmp_path / "runs", "last")
    path.write_text("{")
    with pytest.raises(EvidenceError, match="cannot be read"):
        open_batch(tmp_path / "runs", "last")


def test_old_batches_go_but_none_that_is_being_worked_on(tmp_path: Path) -> None:
    oldest = new_batch(tmp_path / "runs", record("20260101-000000-0000"))
    for number in range(1, KEPT_BATCHES + 2):
        new_batch(tmp_path / "runs", record(f"20260101-000000-{number:04d}")).close()
    kept = sorted(path.name for path in (tmp_path / "batches").iterdir())
    assert len(kept) == KEPT_BATCHES + 1
    assert oldest.path.name in kept
    oldest.close()
    assert oldest.path.name not in {path.name for path in (tmp_path / "batches").iterdir()}


def test_runs_of_a_batch_are_found_as_others_are(tmp_path: Path) -> None:
    def run(root: Path, name: str) -> None:
        with RunFolder(root, name, kept=None) as folder:
            folder.save_record(dataclasses.replace(RunRecord(name, "x", ("x",), (), 0, "now")))

    with new_batch(tmp_path / "runs", record()) as batch:
        run(batch.runs, batch.run_id(0))
        run(batch.runs, batch.run_id(1))
    run(tmp_path / "runs", "20261130-110000-bbbb")
    assert find_run(tmp_path / "runs", "20261130-120000-aaaa-001").name == "20261130-120000-aaaa-001"
    assert find_run(tmp_path / "runs", "last").name == "20261130-120000-aaaa-002"
    with pytest.raises(RunNotFoundError, match="more than one"):
        find_run(tmp_path / "runs", "20261130-12")
