"""Run a function under the filter, observed by its parent as in a box: test -> observer -> target, each a fork."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass

from sandbox.linux.eventlog import EventLog
from sandbox.linux.numbers import MACHINES
from sandbox.linux.observer import observe
from sandbox.linux.seccomp import install
from sandbox.linux.syscalls import pidfd_getfd
from sandbox.model import SyscallEvent

NUMBERS = MACHINES[os.uname().machine].numbers
PATIENCE_S = 60
UNOPENABLE_PORT = 666
"""A port for which the open_listener of a watched function fails."""

libc = ctypes.CDLL(None, use_errno=True)


def system_call(name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Make a raw system call; its result, or the errno as a negative number."""
    words = [ctypes.c_ulong(a & (1 << 64) - 1) if isinstance(a, int) else a for a in arguments]
    ctypes.set_errno(0)
    result: int = libc.syscall(ctypes.c_long(NUMBERS[name]), *words)
    return -ctypes.get_errno() if result == -1 else result


@dataclass(frozen=True)
class Outcome:
    """What a watched function left: its events, the listeners asked for (ip, port, last recorded address),
    the ends of both."""

    events: tuple[SyscallEvent, ...]
    overflowed: bool
    listeners: tuple[list[str | int], ...]
    status: int | None
    observer_status: int
    pid: int

    def named(self, name: str) -> list[SyscallEvent]:
        """The events of one call."""
        return [event for event in self.events if event.name == name]


class Watched:
    """A target under observation. Owns the log; the target may look at what is recorded of itself there."""

    def __init__(self, target: Callable[[], object], log: int | None = None) -> None:
        self.log = os.memfd_create("events") if log is None else log
        self._notes = os.memfd_create("listeners")
        stop, self._stop = os.pipe()
        self._report, report = os.pipe()
        self.observer = os.fork()
        if self.observer == 0:
            os.close(self._stop)
            become(lambda: self._observe(target, stop, report))
        os.close(stop)
        os.close(report)
        self.target = int(self._next_report())

    def stop(self) -> None:
        """Tell the observer to end."""
        os.close(self._stop)
        self._stop = -1

    def wait_until_observer_ended(self) -> None:
        """Wait until observe() returned; the target may still run."""
        assert self._next_report() == "ended"

    def wait(self) -> Outcome:
        """The end of target and observer; kills both when they take too long."""
        pidfd = os.pidfd_open(self.observer)
        if not _readable(pidfd):
            for pid in (self.target, self.observer):
                os.kill(pid, signal.SIGKILL)
        os.close(pidfd)
        _, status = os.waitpid(self.observer, 0)
        reports = list(iter(self._next_report, ""))
        log = EventLog(self.log)
        outcome = Outcome(
            events=tuple(log.read_new()),
            overflowed=log.overflowed,
            listeners=tuple(json.loads(line) for line in os.pread(self._notes, 1 << 20, 0).splitlines()),
            status=int(reports[-1]) if reports[-1:] not in ([], ["ended"]) else None,
            observer_status=os.waitstatus_to_exitcode(status),
            pid=self.target,
        )
        log.close()
        os.close(self._notes)
        os.close(self._report)
        if self._stop >= 0:
            self.stop()
        return outcome

    def _next_report(self) -> str:
        """The next line from the observer's process; "" when there will be none."""
        line = b""
        while not line.endswith(b"\n"):
            assert _readable(self._report)
            if not (byte := os.read(self._report, 1)):
                break
            line += byte
        return line.decode().strip()

    def _observe(self, target: Callable[[], object], stop: int, report: int) -> None:
        number, number_end = os.pipe()
        go, go_end = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(go_end)

            def run_under_filter() -> None:
                listener = install()
                os.write(number_end, str(listener).encode())
                os.read(go, 1)
                os.close(listener)
                target()

            become(run_under_filter)
        pidfd = os.pidfd_open(pid)
        listener = pidfd_getfd(pidfd, int(os.read(number, 16)))
        os.write(report, f"{pid}\n".encode())
        os.close(go_end)
        observe(listener, self.log, os.open("/proc", os.O_PATH), self._note, stop)
        os.write(report, b"ended\n")
        os.close(listener)
        _, status = os.waitpid(pid, 0)
        os.write(report, f"{os.waitstatus_to_exitcode(status)}\n".encode())

    def _note(self, ip: str, port: int) -> None:
        events = EventLog(os.dup(self.log))
        recorded = [event.address for event in events.read_new()]
        events.close()
        os.write(self._notes, json.dumps([ip, port, recorded[-1]]).encode() + b"\n")
        if port == UNOPENABLE_PORT:
            raise OSError("no listener")


def watch(target: Callable[[], object]) -> Outcome:
    """Run a function under observation to its end. It fails the test when target or observer fail."""
    outcome = Watched(target).wait()
    assert (outcome.observer_status, outcome.status) == (0, 0)
    return outcome


def become(body: Callable[[], object]) -> None:
    """End the forked process with what the body did; a failure is printed."""
    status = 1
    try:
        body()
        status = 0
    except BaseException:  # noqa: BLE001 (a fork of the test runner must never return into it)
        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(status)


def _readable(descriptor: int) -> bool:
    return bool(select.select([descriptor], [], [], PATIENCE_S)[0])
