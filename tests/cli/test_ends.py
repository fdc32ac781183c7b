"""Runs that end before their time: what had finished is kept, and nothing else is left."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from commands import HERE, PATIENCE_S, USER_ADMIN, Hintproof, environment, rogue, server

from sandbox.linux.base import BASE


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.02)


def finished_tools(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(".hintproof/runs/*/tools/*.json"))


@contextmanager
def half_way(folder: Path) -> Iterator[tuple[subprocess.Popen[str], list[psutil.Process]]]:
    """A verification in which one tool has finished and the next one hangs, and all its processes."""
    (folder / "tmp").mkdir()
    with subprocess.Popen(
        [sys.executable, "-m", "sandbox", "verify", "--timeout", "call=600", *rogue("patient")],
        cwd=folder,
        env=environment(TMPDIR=str(folder / "tmp")),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as engine:
        try:
            wait_until(lambda: finished_tools(folder) or engine.poll() is not None)
            assert finished_tools(folder) == ["000-add_note.json"]
            others = psutil.Process(engine.pid).children(recursive=True)
            assert len(others) >= 4  # daemon, gateway, and a box's warden, init and server
            yield engine, others
        finally:
            engine.kill()


def mounts(folder: Path) -> list[str]:
    """The mounts that could be ours: what else runs on the machine makes others at any time."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [point for point in points if point == BASE or point.startswith((f"{BASE}/", str(folder)))]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A run in the background ignores interrupts, and what it starts inherits that; a handler is not inherited."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_keeps_the_finished_tools_and_says_so(hintproof: Hintproof, tmp_path: Path) -> None:
    with half_way(tmp_path) as (engine, others):
        engine.send_signal(signal.SIGINT)
        _, said = engine.communicate(timeout=PATIENCE_S)
        assert engine.returncode == 130, said
        # What only the end of the engine ends (the daemon's last word, a parent's reaping) may come after it.
        wait_until(lambda: not [each for each in others if each.is_running()])
    assert "Traceback" not in said
    assert "Interrupted." in said
    assert "1 finished tools are kept: hintproof judge " in said
    assert list((tmp_path / "tmp").iterdir()) == []

    judged = hintproof("judge")
    assert "add_note" in judged.out
    assert "the run was stopped before its end" in judged.out


def test_a_killed_engine_leaves_the_finished_tools_and_nothing_else(
    hintproof: Hintproof, tmp_path: Path
) -> None:
    before = mounts(tmp_path)
    with half_way(tmp_path) as (engine, others):
        engine.send_signal(signal.SIGKILL)
        engine.communicate(timeout=PATIENCE_S)
        assert engine.returncode == -signal.SIGKILL
        wait_until(lambda: not [each for each in others if each.is_running()])
    assert list((tmp_path / "tmp").iterdir()) == []
    assert mounts(tmp_path) == before
    assert finished_tools(tmp_path) == ["000-add_note.json"]
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".tmp")]
    assert "add_note" in hintproof("judge").out


def test_a_full_disk_ends_the_run_with_what_to_do(hintproof: Hintproof, tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    place = (sys.executable, str(HERE / "in_a_bare_place.py"), "full", str(tmp_path / "small"))
    done = hintproof("verify", "--runs", "small/runs", *server(USER_ADMIN / "lying/server.py"), before=place)
    assert done.code == 70, done.err
    assert "No space left on device. Free some space or choose another folder with --runs DIR." in done.err
    assert "Traceback" not in done.err
