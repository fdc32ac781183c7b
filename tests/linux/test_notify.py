"""The supervisor's end of a listener, when callers die at the worst moments."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from watched import NUMBERS, PATIENCE_S, become, system_call

from sandbox.linux.notify import Listener
from sandbox.linux.seccomp import install
from sandbox.linux.syscalls import pidfd_getfd


@dataclass(frozen=True)
class _Target:
    pid: int
    listener: Listener
    descriptor: int

    def wait_for_call(self) -> None:
        assert select.select([self.descriptor], [], [], PATIENCE_S)[0]

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)


def _call_for_ever(number: int, go: int) -> None:
    os.write(number, str(install()).encode())
    os.read(go, 1)
    while True:
        system_call("unlinkat", 7, 0, 3)


@pytest.fixture
def target() -> Iterator[_Target]:
    """A child under the filter that makes one watched call again and again."""
    number, number_end = os.pipe()
    go, go_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go_end)
        become(lambda: _call_for_ever(number_end, go))
    pidfd = os.pidfd_open(pid)
    descriptor = pidfd_getfd(pidfd, int(os.read(number, 16)))
    for end in (number, number_end, go, go_end, pidfd):
        os.close(end)
    yield _Target(pid, Listener(descriptor), descriptor)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(descriptor)


def test_a_held_call_is_told_and_goes_on(target: _Target) -> None:
    for _ in range(3):
        target.wait_for_call()
        call = target.listener.receive()
        assert call is not None
        assert (call.tid, call.number, call.arguments[:3]) == (target.pid, NUMBERS["unlinkat"], (7, 0, 3))
        assert target.listener.holds(call)
        target.listener.proceed(call)
        assert not target.listener.holds(call)


def test_a_caller_that_died_before_it_was_looked_at_is_nobody(target: _Target) -> None:
    target.wait_for_call()
    target.kill()
    assert target.listener.receive() is None


def test_a_caller_that_died_while_it_was_looked_at_needs_no_answer(target: _Target) -> None:
    target.wait_for_call()
    call = target.listener.receive()
    assert call is not None
    target.kill()
    assert not target.listener.holds(call)
    target.listener.proceed(call)
    target.listener.refuse(call, 1)
