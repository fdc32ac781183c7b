"""Many servers at once: each job in a process of its own, so many at a time, every one accounted for."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from sandbox.errors import DiskFullError, EngineFaultError, HintproofError
from sandbox.events import Event
from sandbox.evidence.runs import RunRecord
from sandbox.hosts.apart import Worker
from sandbox.hosts.job import Answer, Job

MOST_JOBS = 64
"""Servers at once: each takes three descriptors and a thread of this process."""

_HEARD_AHEAD = 1000
"""Events that wait to be shown; whoever tells more waits."""

_ROOM_PART, _ROOM_MOST = 8, 1 << 30
"""A further server is started only where this part of the machine's memory is free, and at most so many bytes."""

_LOOK_S = 1.0


@dataclass(frozen=True, slots=True)
class Task:
    """One server of a batch: its place in the order, its name for people, the job, and what its run is kept as.

    ``runs`` and ``record`` are None where nothing is kept.
    """

    index: int
    name: str
    job: Job
    runs: Path | None = None
    record: RunRecord | None = None


@dataclass(frozen=True, slots=True)
class Begun:
    """A server's turn has come."""

    task: Task


@dataclass(frozen=True, slots=True)
class Heard:
    """Something happened to a server that is being dealt with."""

    task: Task
    event: Event


@dataclass(frozen=True, slots=True)
class Ended:
    """A server was dealt with: its answer, or the error that took its place. ``seconds`` are of wall time."""

    task: Task
    answer: Answer | HintproofError
    seconds: float


Happening = Begun | Heard | Ended
"""What :func:`run_batch` tells, in the order in which it happens."""


def run_batch(
    tasks: Sequence[Task], jobs: int, start: Callable[[Task], Worker] | None = None
) -> Iterator[Happening | None]:
    """Do all tasks, at most ``jobs`` at once, in their order, and tell what happens as it does; None about once a second.

    One task's failure, whatever it is, never stops the others, but a full disk does: every later one would fail of it.
    Whoever stops listening (an exception, an interrupt, ``close()``) ends those that run, and what they started with them.
    ``start`` makes a worker of a task.

    Raises:
        DiskFullError: the runs can no longer be kept.
    """
    crew = _Crew(tasks, min(jobs, len(tasks)), start or _start)
    try:
        yield from crew.happenings()
    finally:
        crew.end()


def _start(task: Task) -> Worker:
    return Worker(task.job, task.runs, task.record)


class _Crew:
    """Threads, each of which takes the next task when its last one is done."""

    def __init__(self, tasks: Sequence[Task], jobs: int, start: Callable[[Task], Worker]) -> None:
        self._waiting = deque(tasks)
        self._left = len(tasks)
        self._start = start
        self._told: queue.Queue[Happening | BaseException] = queue.Queue(_HEARD_AHEAD)
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._workers: set[Worker] = set()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(jobs)]
        for thread in self._threads:
            thread.start()

    def happenings(self) -> Iterator[Happening | None]:
        while self._left:
            try:
                told = self._told.get(timeout=_LOOK_S)
            except queue.Empty:
                yield None
                continue
            if isinstance(told, BaseException):
                raise told
            self._left -= isinstance(told, Ended)
            yield told

    def end(self) -> None:
        """End what runs; returns when nothing of it is left."""
        self._ending.set()
        with self._lock:
            workers = list(self._workers)
        for worker in workers:
            worker.cancel()
        while any(thread.is_alive() for thread in self._threads):
            with contextlib.suppress(queue.Empty):  # a thread may be waiting to tell something
                self._told.get(timeout=0.05)

    def _work(self) -> None:
        try:
            while (task := self._next()) is not None:
                self._told.put(Begun(task))
                self._told.put(self._do(task))
        except BaseException as error:  # noqa: BLE001 - raised where the happenings are heard
            self._told.put(error)

    def _next(self) -> Task | None:
        while not self._ending.is_set():
            with self._lock:
                if not self._waiting:
                    return None
                if not self._workers or _has_room():
                    return self._waiting.popleft()
            self._ending.wait(_LOOK_S)
        return None

    def _do(self, task: Task) -> Ended:
        started = time.monotonic()
        try:
            worker = self._start(task)
        except OSError as error:
            return Ended(task, EngineFaultError(f"no process could be started: {error.strerror}."), 0.0)
        answer: Answer | HintproofError
        with worker:
            with self._lock:
                self._workers.add(worker)
            try:
                if self._ending.is_set():
                    worker.cancel()
                answer = worker.run(lambda event: self._told.put(Heard(task, event)))
            except HintproofError as error:
                if isinstance(error, DiskFullError) or self._ending.is_set():
                    raise
                answer = error
            except Exception:  # noqa: BLE001 - a fault of ours with this one must not stop the others
                answer = EngineFaultError(traceback.format_exc())
            finally:
                with self._lock:
                    self._workers.discard(worker)
        return Ended(task, answer, time.monotonic() - started)


def _has_room() -> bool:
    memory = psutil.virtual_memory()
    return bool(memory.available >= min(memory.total // _ROOM_PART, _ROOM_MOST))
