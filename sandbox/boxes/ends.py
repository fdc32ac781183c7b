"""The engine's ends of one box: every descriptor that stands for a part of it."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass

from sandbox.boxes.answers import Answers, is_readable
from sandbox.linux.eventlog import EventLog
from sandbox.linux.order import GO

_END_S = 5.0
"""Bound on the wait for killed processes, in seconds; they are gone within a few milliseconds."""


@dataclass(slots=True)
class Ends:
    """Descriptors of a box, all owned.

    ``init`` and ``server`` are pidfds (``server`` is -1 until :meth:`go`); ``stdin``, ``stdout`` and
    ``stderr`` the engine's ends of the server's pipes; ``events`` the system calls; ``tap`` the packet tap;
    ``root``, ``proc`` and ``shared_memory`` folders of the box; ``uppers`` hold what the server changed and
    ``lowers`` what lies below, the root's first.
    """

    answers: Answers
    init_pid: int
    init: int
    stdin: int
    stdout: int
    stderr: int
    events: EventLog
    tap: int
    root: int
    proc: int
    shared_memory: int
    uppers: tuple[int, ...]
    lowers: tuple[int, ...]
    server: int = -1

    def go(self) -> None:
        """Let the server be executed, and wait until it is under observation. Raises StepError and BoxLostError."""
        self.answers.send(GO)
        (self.server,) = self.answers.expect("started").descriptors

    def kill(self) -> None:
        """Kill everything in the box and wait for the end."""
        kill(self.init)

    def close(self, dispose: Callable[[int], None] = os.close) -> None:
        """Kill the box and release all descriptors.

        ``dispose`` closes the tap, sooner or later: a packet socket waits for the kernel's readers (packet(7)
        has no word of it; 5 to 13 ms, measured), more than all the rest takes.
        """
        self.kill()
        self.answers.wait_for_end(_END_S)
        self.answers.close()
        self.events.close()
        dispose(self.tap)
        descriptors = (
            *(self.init, self.server, self.stdin, self.stdout, self.stderr),
            *(self.root, self.proc, self.shared_memory, *self.uppers, *self.lowers),
        )
        for descriptor in descriptors:
            if descriptor >= 0:
                os.close(descriptor)


def kill(pidfd: int) -> None:
    """Kill a process and wait for its end; nothing happens to one that has ended."""
    try:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except ProcessLookupError:
        return
    is_readable(pidfd, _END_S)


def open_pipes() -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Make the server's three pipes: its own ends (stdin, stdout, stderr), then the engine's."""
    stdin, to_server = os.pipe2(os.O_CLOEXEC)
    from_server, stdout = os.pipe2(os.O_CLOEXEC)
    errors, stderr = os.pipe2(os.O_CLOEXEC)
    return (stdin, stdout, stderr), (to_server, from_server, errors)


def new_socket_pair() -> tuple[socket.socket, socket.socket]:
    """A pair of sockets that keep message boundaries."""
    return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
