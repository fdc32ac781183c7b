"""The first process of a box's pid namespace: builds the root, starts the server, reaps, and dies with its
lifelines.

When it dies, for whatever reason, the kernel kills every process of the box. It outlives the server, so that
what a server leaves behind can still be seen.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket

from sandbox.linux import syscalls
from sandbox.linux.assignment import Assignment
from sandbox.linux.forking import fork
from sandbox.linux.root import build
from sandbox.linux.server import become_server


def run_init(assignment: Assignment, box: socket.socket, handover: socket.socket) -> int:
    """Be the box's init; returns its exit status. Raises StepError when the box cannot be built.

    ``handover`` is the end of the socket to the warden that the server will use. Lifelines: the warden by its
    death signal, the engine by ``box`` hanging up.
    """
    syscalls.set_process_name("box-init")
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    # The death signal tells nothing of a warden that was gone before it was asked for; its end of the socket
    # does.
    if _hung_up(handover):
        return 1
    lowers = [lower.descriptor for lower in assignment.sources.lowers]
    ours = [0, 1, 2, box.fileno(), handover.fileno(), *assignment.stdio]
    syscalls.close_all_but([*ours, *lowers, *assignment.sources.files])
    root = build(assignment)
    socket.send_fds(box, [json.dumps({"built": len(lowers)}).encode()], [*root.descriptors, *lowers])
    wakeups = _catch_child_signals()
    server = fork(lambda: become_server(assignment, box, handover), box)
    syscalls.close_all_but([0, 1, 2, box.fileno(), *wakeups])
    _reap(server, box, wakeups[0])
    return 0


def _hung_up(end: socket.socket) -> bool:
    poller = select.poll()
    poller.register(end, 0)
    return bool(poller.poll(0))


def _catch_child_signals() -> tuple[int, int]:
    read, write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    # Every other signal keeps its default, which the kernel ignores for the first process of a namespace.
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return read, write


def _reap(server: int, box: socket.socket, wakeup: int) -> None:
    """Reap whatever ends, tell how the server ended, and return when the engine is gone."""
    poller = select.poll()
    poller.register(wakeup, select.POLLIN)
    poller.register(box.fileno(), 0)
    while True:
        ready = dict(poller.poll())
        if box.fileno() in ready:
            return
        os.read(wakeup, 4096)
        while ended := _next_ended():
            pid, status = ended
            if pid == server:
                box.send(
                    json.dumps({"exited": os.waitstatus_to_exitcode(status)}).encode(), socket.MSG_DONTWAIT
                )


def _next_ended() -> tuple[int, int] | None:
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, status) if pid else None
