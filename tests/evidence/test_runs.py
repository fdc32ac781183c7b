"""The run folder keeps finished tools whatever happens, and never forgets a run that is being written."""

import json
import os
from pathlib import Path

import pytest

from sandbox.errors import DiskFullError, EvidenceError, RunNotFoundError
from sandbox.evidence.runs import (
    KEPT_RUNS,
    RunFolder,
    RunRecord,
    find_run,
    load_evidence,
    load_record,
    load_report,
    new_run_id,
    write_atomically,
)
from sandbox.model import Tool, ToolEvidence


def record(run: str) -> RunRecord:
    return RunRecord(run, "server.py", ("python", "server.py"), ("hintproof",), 7, "2026-01-01T00:00:00Z")


def tool(name: str) -> ToolEvidence:
    return ToolEvidence(Tool.read({"name": name}), (), 1, 0)


def test_a_run_that_stops_half_way_has_its_finished_tools_on_disk(tmp_path: Path) -> None:
    with RunFolder(tmp_path, "r1") as folder:
        folder.save_record(record("r1"))
        folder.save_tool(tool("first"))
        folder.save_tool(tool("../../escape\n"))
    path = find_run(tmp_path, "r1")
    assert [item.tool.name for item in load_evidence(path)] == ["first", "../../escape\n"]
    assert load_record(path) == record("r1")
    with pytest.raises(EvidenceError, match="stopped before"):
        load_report(path)
    assert {entry.name for entry in tmp_path.iterdir()} == {"r1"}


def test_only_the_newest_runs_are_kept_but_one_that_is_open_is_never_removed(tmp_path: Path) -> None:
    oldest = RunFolder(tmp_path, "00")
    for number in range(1, KEPT_RUNS + 5):
        with RunFolder(tmp_path, f"{number:02d}") as folder:
            folder.save_record(record(f"{number:02d}"))
    kept = sorted(path.name for path in tmp_path.iterdir())
    oldest.close()
    assert "00" in kept
    assert len(kept) == KEPT_RUNS + 1
    assert len(list(tmp_path.iterdir())) == KEPT_RUNS


def test_a_run_is_found_by_a_unique_beginning_by_path_and_as_the_last(tmp_path: Path) -> None:
    for name in ("20260101-a", "20260102-b"):
        with RunFolder(tmp_path, name) as folder:
            folder.save_record(record(name))
    assert find_run(tmp_path, "20260102") == tmp_path / "20260102-b"
    assert find_run(tmp_path, "last") == tmp_path / "20260102-b"
    assert find_run(tmp_path, str(tmp_path / "20260101-a")) == tmp_path / "20260101-a"
    with pytest.raises(RunNotFoundError, match="more than one"):
        find_run(tmp_path, "202601")
    with pytest.raises(RunNotFoundError, match="20260102-b"):
        find_run(tmp_path, "nosuch")


def test_another_format_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps({"format": "hintproof.run/99"}))
    with pytest.raises(EvidenceError, match="another version"):
        load_record(tmp_path)


def test_a_full_disk_is_told_with_what_to_do_and_leaves_no_draft(tmp_path: Path) -> None:
    draft = tmp_path / f".report.json.{os.getpid()}.tmp"
    draft.symlink_to("/dev/full")  # every write to it fails as on a full disk
    with pytest.raises(DiskFullError, match="Free some space"):
        write_atomically(tmp_path / "report.json", "text")
    assert list(tmp_path.iterdir()) == []


def test_run_ids_sort_by_time_and_differ() -> None:
    assert len({new_run_id() for _ in range(50)}) == 50
