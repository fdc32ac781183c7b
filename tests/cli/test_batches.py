"""Several servers in one command: every one accounted for, and stopped and resumed at any moment."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from commands import HERE, PATIENCE_S, Hintproof, environment

SERVERS = HERE.parent / "servers"
ROGUE = HERE / "rogue_server.py"


def line(script: Path, *words: str, options: str = "") -> str:
    return f"{options} -- {sys.executable} {script} {' '.join(words)}\n"


LYING, HONEST = line(SERVERS / "one_value.py"), line(SERVERS / "one_value.py", "honest")
WAITS = line(ROGUE, "patient", options="--timeout call=600")
SOME = "".join(
    [
        "# servers of all kinds\n\n",
        LYING,
        line(ROGUE, "dies", options="-e TOKEN=swordfish"),
        "./nowhere.json#server\n",
        HONEST,
        line(ROGUE, "refuses"),
        f"-- {sys.executable} -c 'raise SystemExit(\"connect ECONNREFUSED 127.0.0.1:6379\")'\n",
    ]
)


def batch(folder: Path) -> Path:
    (found,) = (folder / ".hintproof/batches").iterdir()
    return found


def done_files(folder: Path) -> dict[str, tuple[int, int]]:
    files = (folder / ".hintproof/batches").glob("*/servers/*.json")
    return {path.name: (path.stat().st_ino, path.stat().st_mtime_ns) for path in files}


def test_every_server_has_its_class_in_the_order_of_the_file(hintproof: Hintproof, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(SOME)
    done = hintproof("verify", "--targets", "list", "--jobs", "3", "--json")
    report: dict[str, Any] = json.loads(done.out)
    assert [target["class"] for target in report["targets"]] == [
        "contradicted",
        "does-not-start",
        "not-found",
        "verified",
        "nothing-verified",
        "needs-service",
    ]
    assert (done.code, report["exit_code"], report["complete"]) == (1, 1, True)
    assert [target["report"] is not None for target in report["targets"]] == [
        True,
        False,
        False,
        True,
        True,
        False,
    ]
    assert "swordfish" not in done.out + done.err
    kept = [
        path.read_text() for path in batch(tmp_path).rglob("*") if path.is_file() and path.suffix != ".lock"
    ]
    assert not [text for text in kept if "swordfish" in text]
    assert "6 of 6 done" in done.err

    judged = hintproof("judge", report["targets"][0]["run"])
    assert judged.code == 1
    again = hintproof("verify", "--resume", "last", "-q", "-e", "TOKEN=swordfish")
    assert (again.code, again.err) == (1, "")
    assert "6 servers: " in again.out
    (replayed,) = [line for line in judged.out.splitlines() if "hintproof replay" in line][:1]
    assert hintproof("replay", replayed.split()[-1]).code == 1


def test_one_target_is_no_batch_and_a_file_with_one_is(hintproof: Hintproof, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(HONEST)
    one = hintproof("verify", "--json", "-q", "--", sys.executable, str(SERVERS / "one_value.py"), "honest")
    assert json.loads(one.out)["schema"] == "hintproof.report/1"
    assert not (tmp_path / ".hintproof/batches").exists()
    listed = hintproof("verify", "--json", "-q", "--targets", "list")
    assert json.loads(listed.out)["schema"] == "hintproof.batch/1"
    assert (one.code, listed.code) == (0, 0)


def hanging(command: int) -> list[psutil.Process]:
    """The servers below a command that will never end by themselves."""
    found = []
    for process in psutil.Process(command).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if process.cmdline()[-1:] == ["patient"]:
                found.append(process)
    return found


@contextmanager
def at_work(
    folder: Path, *words: str, finished: int
) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A batch of which so many servers are done and the next hangs, and all its processes."""
    with subprocess.Popen(
        [sys.executable, "-m", "sandbox", "verify", *words],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as command:
        try:
            deadline = time.monotonic() + PATIENCE_S
            while len(done_files(folder)) < finished or not hanging(command.pid):
                assert command.poll() is None, command.communicate()
                assert time.monotonic() < deadline
                time.sleep(0.05)
            yield command, psutil.Process(command.pid).children(recursive=True)
        finally:
            command.kill()


def gone(processes: list[psutil.Process]) -> bool:
    deadline = time.monotonic() + PATIENCE_S
    while any(each.is_running() for each in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_a_batch_that_was_killed_is_resumed_and_nothing_is_done_twice_or_lost(
    hintproof: Hintproof, tmp_path: Path
) -> None:
    (tmp_path / "list").write_text(LYING + HONEST + WAITS + HONEST)
    with at_work(tmp_path, "--targets", "list", "--jobs", "2", finished=3) as (command, others):
        refused = hintproof("verify", "--resume", "last")
        assert (refused.code, "is being worked on by another hintproof" in refused.err) == (2, True)
        command.send_signal(signal.SIGKILL)
        command.communicate(timeout=PATIENCE_S)
        assert gone(others)
    before = done_files(tmp_path)
    assert sorted(before) == ["001.json", "002.json", "004.json"]

    # The last result is damaged, as by a disk that was full; its run's report is whole, so that it is not run again.
    damaged = batch(tmp_path) / "servers/004.json"
    damaged.write_bytes(damaged.read_bytes()[:40])
    reports = {path: path.stat().st_mtime_ns for path in batch(tmp_path).glob("runs/*/report.json")}
    (tmp_path / "list").write_text((tmp_path / "list").read_text().replace("call=600", "call=1"))
    changed = hintproof("verify", "--resume", "last")
    assert changed.code == 2
    assert "is not what it was when the batch was begun" in changed.err
    (tmp_path / "list").write_text(LYING + HONEST + WAITS + HONEST)

    with at_work(tmp_path, "--resume", "last", finished=3) as (_, others):
        assert others
        assert {
            path: path.stat().st_mtime_ns for path in batch(tmp_path).glob("runs/*/report.json")
        } == reports
    assert json.loads(damaged.read_text())["server_class"] == "verified"
    after = done_files(tmp_path)
    assert {name: after[name] for name in ("001.json", "002.json")} == {
        name: before[name] for name in ("001.json", "002.json")
    }


def test_an_engine_that_is_killed_takes_no_other_server_along(tmp_path: Path) -> None:
    (tmp_path / "list").write_text(WAITS + HONEST)
    with at_work(tmp_path, "--targets", "list", "--json", finished=0) as (command, others):
        (engine,) = psutil.Process(command.pid).children()
        engine.kill()
        out, said = command.communicate(timeout=PATIENCE_S)
        assert gone(others)
    report = json.loads(out)
    assert [each["class"] for each in report["targets"]] == ["our-fault", "verified"], said
    assert "was ended by signal 9" in report["targets"][0]["error"]
    assert command.returncode == report["exit_code"] == 70


def test_a_batch_can_be_finished_by_another_command(hintproof: Hintproof, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(HONEST + LYING)
    first = hintproof("verify", "--targets", "list", "--json", "-q")
    for path in batch(tmp_path).glob("servers/002.json"):
        path.unlink()
    (report,) = batch(tmp_path).glob("runs/*-002/report.json")
    report.unlink()
    second = hintproof("verify", "--resume", batch(tmp_path).name, "--json", "-q")
    assert first.code == second.code == 1
    one, other = json.loads(first.out), json.loads(second.out)
    assert [each["class"] for each in one["targets"]] == [each["class"] for each in other["targets"]]
    assert one["targets"][0]["report"] == other["targets"][0]["report"]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A run in the background ignores interrupts, and what it starts inherits that; a handler is not inherited."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_ends_all_of_it_and_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "list").write_text(HONEST + WAITS + WAITS)
    with at_work(tmp_path, "--targets", "list", "--jobs", "2", finished=1) as (command, others):
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=PATIENCE_S)
        assert command.returncode == 130
        assert gone(others)
    assert "Traceback" not in said
    assert (
        f"1 of 3 servers are done and kept. To go on: hintproof verify --resume {batch(tmp_path).name}"
        in said
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "names no target"),
        ("# nothing\n", "names no target"),
        ("\n-- 'unclosed\n", "list:2: No closing quotation"),
        ("\n\nhttps://\x00 -- x\n", "list:3: "),
        ("--seed x -- server\n", "list:1: --seed: "),
        ("--runs other -- server\n", "list:1: --runs holds for all targets"),
        ("--frobnicate -- server\n", "list:1: No such option"),
        ("--help\n", "list:1: a line names a target"),
        ("\udcff", "is not a text in UTF-8"),
        ("-- server\n" * 1000, "at most 999"),
    ],
)
def test_a_file_that_is_wrong_costs_no_run_and_is_told_by_its_line(
    hintproof: Hintproof, tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "list").write_bytes(text.encode("utf-8", "surrogateescape"))
    done = hintproof("verify", "--targets", "list")
    assert (done.code, "Traceback" in done.err) == (2, False)
    assert said in done.err
    assert not (tmp_path / ".hintproof").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--targets", "nowhere"), "No such file"),
        (("--jobs", "0", "--", "server"), "from 1 to 64"),
        (("--jobs", "many", "--", "server"), "from 1 to 64"),
        (("npm:a", "npm:b", "--", "x"), "are arguments of one server"),
        (("--resume", "1999"), "there is no such batch"),
        (("--resume", "last", "--seed", "3"), "leave out --seed"),
        (("--resume", "last", "npm:a"), "leave out the target"),
    ],
)
def test_what_cannot_be_meant_is_refused(hintproof: Hintproof, words: tuple[str, ...], said: str) -> None:
    done = hintproof("verify", *words)
    assert (done.code, "Traceback" in done.err) == (2, False)
    assert said in done.err


def test_several_servers_are_listed_in_their_order_and_each_failure_in_its_place(
    hintproof: Hintproof, tmp_path: Path
) -> None:
    (tmp_path / "list").write_text(
        line(ROGUE, "dies", options="-e TOKEN=swordfish") + line(SERVERS / "one_value.py")
    )
    done = hintproof("list", "--targets", "list", "--jobs", "2")
    assert done.code == 3
    assert done.out.index("does-not-start") < done.out.index("plan")
    data = json.loads(hintproof("list", "--targets", "list", "--json").out)
    assert [(each["class"], each["tools"] is None) for each in data["servers"]] == [
        ("does-not-start", True),
        ("listed", False),
    ]
    assert "swordfish" not in done.out + done.err + json.dumps(data)
    assert not (tmp_path / ".hintproof").exists()
