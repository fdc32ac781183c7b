"""The engine of the container, run without one: what it tells, in which order, and when it falls silent."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from standin import HONEST, LYING, PATIENCE_S, ROGUE, ROOT, StandIn, job

import sandbox
from sandbox.errors import (
    EngineFaultError,
    ImageMissingError,
    NothingVerifiedError,
    ServerStartError,
    TargetNotFoundError,
    UsageError,
)
from sandbox.events import CallFinished, Event, FindingMade, RunFinished, RunStarted, ToolFinished
from sandbox.evidence.runs import RunFolder, load_evidence
from sandbox.hosts import local
from sandbox.hosts.job import Job, Task
from sandbox.hosts.stream import hear, write_job
from sandbox.model import Finding, Investigation, Listing, Replay, Report, SavedFinding, Verdict

TOKEN = 'tok-"93€ [x]'


def perform(
    engine: StandIn, asked: Job, folder: RunFolder | None, listener: Callable[[Event], None] = lambda _: None
) -> object:
    engine.send(write_job(asked))
    return hear(engine.lines(), asked, folder, listener)


def verdicts(report: Report) -> list[tuple[str, str, str, str]]:
    return [(each.tool, each.hint, each.verdict, each.reason) for each in findings(report)]


def findings(report: Report) -> list[Finding]:
    return [finding for tool in report.tools for finding in tool.findings]


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.02)


def test_a_verification_gives_the_verdicts_the_events_and_the_files_of_the_local_host(
    standin: StandIn, folder: RunFolder, tmp_path: Path
) -> None:
    heard: list[Event] = []
    asked = job(LYING)
    report = perform(standin, asked, folder, heard.append)
    assert isinstance(report, Report)
    assert standin.wait() == 0
    with RunFolder(tmp_path / "runs", "run-2") as beside:
        here = local.perform(asked, beside, lambda _: None)
    assert isinstance(here, Report)
    assert verdicts(report) == verdicts(here)
    assert [finding.id for finding in findings(report)] == [finding.id for finding in findings(here)]
    assert {type(event) for event in heard} >= {RunStarted, CallFinished, FindingMade, ToolFinished}
    assert heard[-1] == RunFinished(report)
    assert relative_files(folder) == relative_files(beside)
    assert [one.tool.name for one in load_evidence(folder.path)] == ["list_users", "get_user", "delete_user"]
    assert folder.saved_tools == 3
    assert list(standin.scratch.iterdir()) == []


def relative_files(folder: RunFolder) -> set[str]:
    files = (path for path in folder.path.rglob("*") if path.is_file())
    # Content is named by digests, of which two runs do not have the same: a database holds its own times.
    return {str(path.relative_to(folder.path)) for path in files if path.parent.name != "content"}


def test_a_tool_is_on_the_clients_disk_before_its_end_is_told(standin: StandIn, folder: RunFolder) -> None:
    kept: list[tuple[str, set[str]]] = []

    def listener(event: Event) -> None:
        if isinstance(event, ToolFinished):
            kept.append(
                (event.report.tool.name, {path.name[4:-5] for path in (folder.path / "tools").iterdir()})
            )

    perform(standin, job(HONEST), folder, listener)
    finished = [name for name, _ in kept]
    assert sorted(finished) == ["delete_user", "get_user", "list_users"]
    assert [files for _, files in kept] == [set(finished[: count + 1]) for count in range(3)]


def test_investigate_list_arguments_and_replay(tmp_path: Path, folder: RunFolder) -> None:
    def fresh(name: str) -> StandIn:
        (tmp_path / name).mkdir()
        return StandIn(tmp_path / name)

    with fresh("investigate") as engine:
        asked = job(LYING, task=Task.INVESTIGATE, tool="delete_user", arguments={"user_id": 1})
        found = perform(engine, asked, folder)
    assert isinstance(found, Investigation)
    (accused,) = [one for one in findings(found.report) if one.verdict is Verdict.CONTRADICTED]
    assert accused.tool == "delete_user"

    with fresh("list") as engine:
        listing = perform(engine, job(LYING, task=Task.LIST), None)
    assert isinstance(listing, Listing)
    assert [tool.name for tool in listing.tools] == ["list_users", "get_user", "delete_user"]
    assert listing.proposals == {}

    with fresh("arguments") as engine:
        listing = perform(engine, job(LYING, task=Task.LIST, proposals=True), None)
    assert isinstance(listing, Listing)
    assert listing.proposals["delete_user"][0].arguments == {"user_id": 1}

    trials = {trial.id: trial for trial in found.evidence.trials}
    saved = SavedFinding(accused.id, accused.hint, found.evidence, trials[accused.evidence[0].trial])
    with fresh("replay") as engine:
        replayed = perform(engine, job(LYING, task=Task.REPLAY, finding=saved), None)
    assert isinstance(replayed, Replay)
    assert replayed.again


@pytest.mark.parametrize(
    ("asked", "kind", "said"),
    [
        (job(str(ROGUE), "dies"), ServerStartError, "cannot start: no token"),
        (job(str(ROGUE), "no_tools"), NothingVerifiedError, "lists no tools"),
        (job("nowhere.py"), TargetNotFoundError, "there is no such file"),
        (job(LYING, task=Task.INVESTIGATE, tool="delete_usr"), UsageError, "Did you mean: delete_user"),
    ],
    ids=["server", "nothing", "target", "usage"],
)
def test_an_error_arrives_as_the_same_error(
    standin: StandIn, folder: RunFolder, asked: Job, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said) as raised:
        perform(standin, asked, folder)
    assert type(raised.value) is kind
    assert standin.wait() == 0


def test_what_nobody_foresaw_arrives_with_its_traceback(standin: StandIn) -> None:
    with pytest.raises(EngineFaultError, match="ValueError: there is no finding to replay") as raised:
        perform(standin, job(LYING, task=Task.REPLAY), None)
    assert "Traceback" in str(raised.value)
    assert "a fault of hintproof, not of the server" in str(raised.value)
    assert raised.value.exit_code == 70


def test_a_client_of_another_version_is_told_what_to_do(standin: StandIn) -> None:
    message = json.loads(write_job(job(LYING)))
    standin.send(json.dumps({**message, "version": "0.0.0"}).encode() + b"\n")
    with pytest.raises(ImageMissingError, match="hintproof doctor --build"):
        hear(standin.lines(), job(LYING), None, lambda _: None)


NO_JOB = json.dumps({"version": sandbox.__version__, "job": 3}).encode() + b"\n"


@pytest.mark.parametrize("sent", [b"", b"{", b"{}\n", b"[]\n", b"\xff\n", NO_JOB])
def test_without_a_job_it_fails_and_says_so(standin: StandIn, sent: bytes) -> None:
    standin.send(sent)
    standin.hang_up()
    told = [json.loads(line) for line in standin.lines()]
    assert [set(message) for message in told] == [{"error", "message"}]
    assert standin.wait() == 0


def test_nothing_but_the_stream_is_on_stdout(folder: RunFolder, tmp_path: Path) -> None:
    """A library that prints, and one that writes to the descriptor itself."""
    noisy = tmp_path / "noisy"
    noisy.mkdir()
    (noisy / "sitecustomize.py").write_text(
        "import threading, os, time\n"
        "def noise():\n"
        "    while True:\n"
        "        print('noise', flush=True); time.sleep(0.01)\n"
        "def start():\n"
        "    threading.Thread(target=noise, daemon=True).start(); os.system('echo noise of a child')\n"
        "import sandbox.hosts.stream as stream\n"
        "was = stream.read_job\n"
        "stream.read_job = lambda line: (start(), was(line))[1]\n"
    )
    with StandIn(tmp_path, PYTHONPATH=f"{noisy}:{ROOT}") as engine:
        report = perform(engine, job(LYING), folder)
        assert isinstance(report, Report)
        engine.wait()
        assert "noise of a child" in engine.stderr_tail()


def test_when_the_client_is_gone_all_of_it_ends_at_once(standin: StandIn) -> None:
    asked = job(str(ROGUE), "patient")
    standin.send(write_job(asked))
    lines = standin.lines()
    while b'"file":"tools/000-add_note.json"' not in next(lines):
        pass  # one tool has finished, and the next one waits for ten minutes
    engine = psutil.Process(standin.process.pid)
    wait_until(lambda: len(engine.children(recursive=True)) >= 4)
    everyone = [engine, *engine.children(recursive=True)]
    standin.hang_up()
    standin.wait()
    wait_until(lambda: not [each for each in everyone if each.is_running() and each.status() != "zombie"])
    assert list(standin.scratch.iterdir()) == []


def test_values_of_e_are_in_no_file_and_in_no_environment(standin: StandIn, folder: RunFolder) -> None:
    perform(standin, job(str(ROGUE), "leaks", env={"TOKEN": TOKEN}), folder)
    written = [path.read_bytes() for path in folder.path.rglob("*") if path.is_file()]
    forms = (TOKEN.encode(), json.dumps(TOKEN)[1:-1].encode())
    assert len(written) > 3
    assert not [content for content in written if any(form in content for form in forms)]


def test_a_long_file_comes_in_pieces_and_whole(folder: RunFolder, tmp_path: Path) -> None:
    from sandbox.hosts.stream import Teller

    content = os.urandom(20 << 20)
    (tmp_path / "content").mkdir()
    path = tmp_path / "content" / ("0" * 32)
    path.write_bytes(content)
    lines: list[bytes] = []
    Teller(lines.append).file(tmp_path, path)
    assert len(lines) == 3
    assert hear(lines, job(LYING), folder, lambda _: None) is None
    assert (folder.path / "content" / ("0" * 32)).read_bytes() == content
    assert base64.b64decode(json.loads(lines[0])["data"]) == content[: 8 << 20]
