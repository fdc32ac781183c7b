"""A job in a process of its own: its answer, its errors, its end."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from sandbox.config import Settings
from sandbox.errors import CancelledError, EngineFaultError, ServerStartError, TargetNotFoundError
from sandbox.events import Event, Progress, ServerListed
from sandbox.evidence.runs import RunRecord
from sandbox.hosts import apart
from sandbox.hosts.apart import Worker
from sandbox.hosts.job import Job, Task
from sandbox.model import Listing, Report

SERVERS = Path(__file__).parents[1] / "servers"
PATIENCE_S = 120


def job(*command: str, task: Task = Task.LIST, cwd: str = "/") -> Job:
    return Job(task, command, cwd, Settings())


def ignore(_: Event) -> None:
    """Nobody listens."""


def test_a_listing_comes_back_whole() -> None:
    with Worker(job(sys.executable, str(SERVERS / "writes.py"))) as worker:
        listing = worker.run(ignore)
    assert isinstance(listing, Listing)
    assert "write_in_home" in {tool.name for tool in listing.tools}


def test_a_run_is_kept_where_it_belongs_and_its_report_comes_without_its_tools(tmp_path: Path) -> None:
    record = RunRecord("run-1", "server", ("server",), (), 0, "now")
    heard: list[Event] = []
    todo = job(sys.executable, str(SERVERS / "one_value.py"), task=Task.VERIFY, cwd=str(tmp_path))
    with Worker(todo, tmp_path / "runs", record) as worker:
        report = worker.run(heard.append)
    assert isinstance(report, Report)
    assert report.tools == ()
    assert (tmp_path / "runs/run-1/report.json").is_file()
    assert any(isinstance(event, ServerListed) for event in heard)


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (("/nowhere/server",), TargetNotFoundError),
        ((sys.executable, "-c", "raise SystemExit('no token')"), ServerStartError),
    ],
)
def test_an_error_comes_back_as_what_it_is_and_leaves_no_run(
    tmp_path: Path, command: tuple[str, ...], error: type[Exception]
) -> None:
    record = RunRecord("run-1", "server", command, (), 0, "now")
    with Worker(job(*command, task=Task.VERIFY), tmp_path / "runs", record) as worker, pytest.raises(error):
        worker.run(ignore)
    assert list((tmp_path / "runs").iterdir()) == []


def process_of(worker: Worker) -> psutil.Process:
    (found,) = [
        child
        for child in psutil.Process().children()
        if child.pid == worker._process.pid  # noqa: SLF001
    ]
    return found


def hanging() -> Job:
    return job(sys.executable, "-c", "import time; time.sleep(600)")


def in_the_background(worker: Worker) -> tuple[threading.Thread, list[BaseException]]:
    raised: list[BaseException] = []

    def run() -> None:
        try:
            worker.run(ignore)
        except BaseException as error:  # noqa: BLE001 - looked at by the test
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, raised


def with_helpers(process: psutil.Process) -> list[psutil.Process]:
    deadline = time.monotonic() + PATIENCE_S
    while len(found := process.children(recursive=True)) < 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return [process, *found]


def gone(processes: list[psutil.Process]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while any(each.is_running() and each.status() != psutil.STATUS_ZOMBIE for each in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_a_process_that_is_killed_is_a_fault_that_is_told_and_leaves_nothing() -> None:
    with Worker(hanging()) as worker:
        thread, raised = in_the_background(worker)
        family = with_helpers(process_of(worker))
        family[0].send_signal(signal.SIGKILL)
        thread.join(PATIENCE_S)
        assert isinstance(raised[0], EngineFaultError)
        assert "ended by signal 9" in str(raised[0])
        assert gone(family)


def test_a_job_that_is_cancelled_ends_at_once_with_all_that_it_started() -> None:
    with Worker(hanging()) as worker:
        thread, raised = in_the_background(worker)
        family = with_helpers(process_of(worker))
        worker.cancel()
        thread.join(PATIENCE_S)
        assert isinstance(raised[0], CancelledError)
    assert gone(family)


def test_a_process_that_falls_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "_SILENCE_S", 0.5)
    with Worker(hanging()) as worker, pytest.raises(EngineFaultError, match="said nothing"):
        worker.run(ignore)


def test_no_descriptor_is_left(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        with Worker(job("/nowhere/server", cwd=str(tmp_path))) as worker, pytest.raises(TargetNotFoundError):
            worker.run(ignore)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_worker_runs_nothing_of_the_folder_that_it_is_started_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('taken in')")
    (tmp_path / "sandbox").mkdir()
    (tmp_path / "sandbox/__init__.py").write_text("raise SystemExit('taken in')")
    monkeypatch.chdir(tmp_path)
    heard: list[Event] = []
    with Worker(job("/nowhere/server", cwd=str(tmp_path))) as worker, pytest.raises(TargetNotFoundError):
        worker.run(heard.append)
    assert not [event for event in heard if not isinstance(event, Progress)]
