"""Many tasks at once: all are dealt with, whatever becomes of one, and nothing runs on when nobody listens."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from sandbox.config import Settings
from sandbox.errors import CancelledError, DiskFullError, HintproofError, ServerStartError
from sandbox.events import Listener, Progress
from sandbox.hosts.job import Answer, Job
from sandbox.hosts.job import Task as JobTask
from sandbox.model import Listing, ServerFacts
from sandbox.suites.batch import Begun, Ended, Heard, Task, run_batch

ANSWER = Listing(ServerFacts("s", "1", "2025-11-25", "legacy"), (), (), {})


def tasks(count: int) -> list[Task]:
    job = Job(JobTask.LIST, ("server",), "/", Settings())
    return [Task(index, f"server {index}", job) for index in range(count)]


class Stub:
    """A worker that does what it is told, and counts how many do so at once."""

    now = most = 0
    lock = threading.Lock()

    def __init__(self, deed: Callable[[Stub, Listener], Answer]) -> None:
        self._deed = deed
        self.cancelled = threading.Event()
        self.closed = False

    def run(self, listener: Listener) -> Answer:
        with Stub.lock:
            Stub.now += 1
            Stub.most = max(Stub.most, Stub.now)
        try:
            return self._deed(self, listener)
        finally:
            with Stub.lock:
                Stub.now -= 1

    def cancel(self) -> None:
        self.cancelled.set()

    def __enter__(self) -> Stub:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed = True


@pytest.fixture(autouse=True)
def _nothing_running() -> None:
    Stub.now = Stub.most = 0


def quick(_: Stub, listener: Listener) -> Answer:
    listener(Progress("busy"))
    time.sleep(0.02)
    return ANSWER


def fails(error: Exception) -> Callable[[Stub, Listener], Answer]:
    def deed(_: Stub, __: Listener) -> Answer:
        raise error

    return deed


def until_cancelled(stub: Stub, _: Listener) -> Answer:
    assert stub.cancelled.wait(60)
    raise CancelledError("ended")


def ends(count: int, jobs: int, deed_of: Callable[[Task], Callable[[Stub, Listener], Answer]]) -> list[Ended]:
    happenings = run_batch(tasks(count), jobs, lambda task: Stub(deed_of(task)))  # type: ignore[arg-type, return-value]
    return [each for each in happenings if isinstance(each, Ended)]


@pytest.mark.parametrize(("count", "jobs"), [(7, 1), (7, 3), (2, 64), (0, 2)])
def test_every_task_is_dealt_with_once_and_no_more_than_so_many_at_once(count: int, jobs: int) -> None:
    done = ends(count, jobs, lambda _: quick)
    assert sorted(each.task.index for each in done) == list(range(count))
    assert Stub.most <= min(jobs, count)


def test_what_happens_to_a_task_is_told_in_its_order() -> None:
    told = [each for each in run_batch(tasks(1), 1, lambda _: Stub(quick)) if each is not None]  # type: ignore[arg-type, return-value]
    assert [type(each) for each in told] == [Begun, Heard, Ended]


@pytest.mark.parametrize(
    "error",
    [ServerStartError("no"), CancelledError("an installation was ended"), KeyError("ours"), RecursionError()],
)
def test_one_failure_never_stops_the_others(error: Exception) -> None:
    done = ends(5, 2, lambda task: fails(error) if task.index == 1 else quick)
    assert len(done) == 5
    (failed,) = [each for each in done if isinstance(each.answer, HintproofError)]
    assert failed.task.index == 1


def test_a_process_that_cannot_be_started_is_a_result() -> None:
    def start(task: Task) -> Stub:
        if task.index == 0:
            raise BlockingIOError(11, "Resource temporarily unavailable")
        return Stub(quick)

    done = [each for each in run_batch(tasks(3), 1, start) if isinstance(each, Ended)]  # type: ignore[arg-type]
    assert [isinstance(each.answer, HintproofError) for each in done] == [True, False, False]


def test_a_full_disk_stops_all_of_it() -> None:
    with pytest.raises(DiskFullError):
        ends(50, 2, lambda task: fails(DiskFullError("full")) if task.index == 1 else quick)


def test_whoever_stops_listening_ends_what_runs() -> None:
    stubs = [Stub(until_cancelled) for _ in range(3)]
    happenings = run_batch(tasks(3), 2, lambda task: stubs[task.index])  # type: ignore[arg-type, return-value]
    begun = [next(happenings), next(happenings)]
    assert [type(each) for each in begun] == [Begun, Begun]
    happenings.close()  # type: ignore[attr-defined]
    assert [stub.closed for stub in stubs] == [True, True, False]
    assert Stub.now == 0


def test_more_events_than_are_taken_do_not_hold_up_the_end() -> None:
    def talks(stub: Stub, listener: Listener) -> Answer:
        while not stub.cancelled.is_set():
            listener(Progress("on and on"))
        raise CancelledError("ended")

    happenings = run_batch(tasks(2), 2, lambda _: Stub(talks))  # type: ignore[arg-type, return-value]
    next(happenings)
    time.sleep(0.1)
    happenings.close()  # type: ignore[attr-defined]
    assert Stub.now == 0
