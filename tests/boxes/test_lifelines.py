"""Killing any one of our processes at any moment leaves no process, mount or file behind."""

from __future__ import annotations

import contextlib
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from waiting import wait_until

ENGINE = Path(__file__).with_name("engine_under_fire.py")
LONGEST_DELAY_S = 0.15


class Fire:
    """An engine and all that belongs to it: its daemon's session, and the servers by a number that only they
    sleep for."""

    def __init__(self, folder: Path) -> None:
        self.token = f"{random.randrange(10**6, 10**7)}.5"
        self.engine = subprocess.Popen(
            [sys.executable, str(ENGINE), self.token],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(folder), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        assert self.engine.stdout is not None
        line = self.engine.stdout.readline()
        assert line, self.engine.stderr and self.engine.stderr.read().decode()
        told = json.loads(line)
        self.daemon = psutil.Process(told["daemon"])

    def any_warden(self) -> psutil.Process:
        """The warden of a running box, or of one that comes or goes."""
        return random.choice(_patiently(self.daemon.children))

    def any_init(self) -> psutil.Process:
        """The init of a box that has one."""
        return random.choice(_patiently(self._inits))

    def any_server(self) -> psutil.Process:
        """Any process of a box but its init."""
        return random.choice(
            _patiently(lambda: [server for init in self._inits() for server in _children(init)])
        )

    def _inits(self) -> list[psutil.Process]:
        return [init for warden in _children(self.daemon) for init in _children(warden)]

    def left(self) -> list[psutil.Process]:
        """Every process that still runs and belongs to it, the engine itself left out."""
        found = []
        for process in psutil.process_iter():
            try:
                ours = os.getsid(process.pid) == self.daemon.pid or self.token in process.cmdline()
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
            except (psutil.NoSuchProcess, ProcessLookupError):
                continue
        return [process for process in found if process.pid != self.engine.pid]

    def end(self) -> None:
        """End the engine, in order if it still runs."""
        with self.engine as engine:
            if engine.stdin and engine.poll() is None:
                engine.stdin.close()
                engine.stdin = None
            engine.wait(20)


@pytest.fixture
def fire(tmp_path: Path) -> Iterator[Callable[[], Fire]]:
    fires: list[Fire] = []

    def start() -> Fire:
        fires.append(Fire(tmp_path))
        return fires[-1]

    yield start
    for started in fires:
        started.engine.kill()
        started.end()


@pytest.mark.parametrize("victim", ["engine", "daemon"])
def test_when_engine_or_daemon_is_killed_everything_goes(
    victim: str, fire: Callable[[], Fire], tmp_path: Path
) -> None:
    for _ in range(3):
        burning = fire()
        time.sleep(random.uniform(0, LONGEST_DELAY_S))  # the random moment is the test
        (burning.engine if victim == "engine" else burning.daemon).kill()

        wait_until(lambda burning=burning: burning.left() == [])
        burning.end()
    assert mounts() == set()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("victim", ["any_warden", "any_init"])
def test_when_a_box_loses_a_process_all_of_that_box_goes(
    victim: str, fire: Callable[[], Fire], tmp_path: Path
) -> None:
    burning = fire()
    for _ in range(8):
        time.sleep(random.uniform(0, LONGEST_DELAY_S))
        doomed = getattr(burning, victim)()
        family = [doomed, *_children(doomed, recursive=True)]
        _kill(doomed)
        wait_until(lambda family=family: not any(_alive(process) for process in family))
    burning.end()

    wait_until(lambda: burning.left() == [])
    assert mounts() == set()
    assert list(tmp_path.iterdir()) == []


def test_when_servers_are_killed_nothing_is_left_after_the_engine(
    fire: Callable[[], Fire], tmp_path: Path
) -> None:
    burning = fire()
    for _ in range(5):
        time.sleep(random.uniform(0, LONGEST_DELAY_S))
        _kill(burning.any_server())
    burning.end()

    wait_until(lambda: burning.left() == [])
    assert mounts() == set()
    assert list(tmp_path.iterdir()) == []


def mounts() -> set[str]:
    """Mount points of this mount namespace that could be ours."""
    points = {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()}
    return {
        point
        for point in points
        if point.startswith(("/sys/box", "/sys/skeleton", "/sys/layers", "/sys/dev/"))
    }


def _patiently(find: Callable[[], list[psutil.Process]]) -> list[psutil.Process]:
    found: list[psutil.Process] = []

    def look() -> bool:
        found[:] = find()
        return bool(found)

    wait_until(look)
    return found


def _children(process: psutil.Process, *, recursive: bool = False) -> list[psutil.Process]:
    try:
        return process.children(recursive=recursive)
    except psutil.NoSuchProcess:
        return []


def _kill(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process.kill()


def _alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
