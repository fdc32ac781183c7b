"""The last steps of a box: the process that becomes the server."""

from __future__ import annotations

import os
import resource
import signal
import socket

from sandbox.linux import seccomp, syscalls
from sandbox.linux.assignment import Assignment
from sandbox.linux.namespaces import Ids
from sandbox.linux.order import GO, Order, step

TAKEN = b"taken"
"""The warden's answer once it holds the listener."""

_NOT_STARTED = 127  # what a shell exits with when a command cannot be executed
_OOM_SCORE = 500  # when the machine runs out of memory, servers go before anything of the user's
_BOXES = 8  # more than run at one time


def become_server(assignment: Assignment, box: socket.socket, handover: socket.socket) -> int:
    """Wait for the engine's go, give up every power, come under observation and execute the server.

    Returns the exit status when there is nothing to execute, after telling why on the server's stderr. Raises
    StepError.
    """
    order, ids = assignment.order, assignment.ids
    os.setsid()
    for target, source in enumerate(assignment.stdio):
        os.dup2(source, target, inheritable=True)
    # Else the layers' descriptors could leave no room below the limit that comes next.
    syscalls.close_all_but([0, 1, 2, box.fileno(), handover.fileno()])
    os.umask(0o022)
    _restore_signals()
    with step("limit the server"):
        _set_limits(order, _processes(order.processes, ids))
    if box.recv(16) != GO:
        return _NOT_STARTED
    with step("give up all capabilities"):
        _drop_powers(ids)
    with step("put the server under observation"):
        listener = seccomp.install(files=order.watch_files)
        handover.send(str(listener).encode())
        if handover.recv(16) != TAKEN:
            return _NOT_STARTED
    syscalls.close_on_exec_from(3)
    try:
        os.chdir(order.cwd)
        program = _find(order.argv[0], order.env.get("PATH", os.defpath))
        os.execve(program, order.argv, dict(order.env))
    except OSError as error:
        os.write(2, f"hintproof: the server cannot be started: {error.filename}: {error.strerror}\n".encode())
    return _NOT_STARTED


def _restore_signals() -> None:
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _processes(allowed: int, ids: Ids) -> int:
    """What RLIMIT_NPROC has to be: the kernel counts by user id, within a user namespace and those above it."""
    if ids.maps is None:
        # The servers of all boxes are one user; the engine counts those of each, and ends what is over.
        return allowed * _BOXES
    # The warden and init can be the server's user too.
    return allowed + 2 if os.geteuid() == ids.user else allowed


def _set_limits(order: Order, processes: int) -> None:
    with open("/proc/self/oom_score_adj", "rb", buffering=0) as present:
        score = int(present.read(16))  # a container may have a higher one, which only a mighty one may lower
    syscalls.write_setting("/proc/self/oom_score_adj", str(max(score, _OOM_SCORE)))
    # Never RLIMIT_AS: node reserves address space by the hundred gigabytes.
    for limit, wanted in (
        (resource.RLIMIT_NPROC, processes),
        (resource.RLIMIT_FSIZE, order.file_size),
        (resource.RLIMIT_NOFILE, order.open_files),
        (resource.RLIMIT_CORE, 0),
    ):
        _, highest = resource.getrlimit(limit)
        value = wanted if highest == resource.RLIM_INFINITY else min(wanted, highest)
        resource.setrlimit(limit, (value, value))


def _drop_powers(ids: Ids) -> None:
    syscalls.empty_bounding_set()
    if os.geteuid() != ids.user:
        os.setgroups([])
        os.setresgid(ids.group, ids.group, ids.group)
        os.setresuid(ids.user, ids.user, ids.user)
    syscalls.drop_capabilities()
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    # A change of ids makes a process undumpable, and the warden could not take the listener from it.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)


def _find(command: str, search: str) -> str:
    """Where a command lies, by the box's own PATH. Raises FileNotFoundError."""
    if "/" in command:
        return command
    for folder in search.split(":"):
        path = f"{folder}/{command}"
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise FileNotFoundError(2, f"no such command on PATH {search}", command)
