"""Who made a call: the process that a thread belongs to and what it executes, read from a procfs and remembered."""

from __future__ import annotations

import os
from typing import NamedTuple

_FRESH_NS = 1_000_000_000
_KNOWN_LIMIT = 4096


class Task(NamedTuple):
    """A thread's process (its thread group id) and that process's executable; "" where it cannot be read."""

    process: int
    executable: str
    read_at_ns: int


class Tasks:
    """The tasks of a box by thread id.

    ``proc`` is a descriptor of a procfs in which the threads have the ids that they are asked for by. What is known
    of a thread is read again after a second, so a reused thread id is told apart: ids do not wrap around that fast.
    """

    def __init__(self, proc: int) -> None:
        self._proc = proc
        self._known: dict[int, Task] = {}

    def find(self, tid: int, now_ns: int) -> Task:
        """The task with a thread id. A thread that is gone is its own process, without an executable."""
        task = self._known.get(tid)
        if task is None or now_ns - task.read_at_ns > _FRESH_NS:
            if len(self._known) >= _KNOWN_LIMIT:
                self._known.clear()
            process = int(read_status(self._proc, f"{tid}/status", b"Tgid") or tid)
            task = Task(process, read_link(self._proc, f"{tid}/exe"), now_ns)
            self._known[tid] = task
        return task

    def forget(self, tid: int) -> None:
        """Read a thread and its process anew: it is about to execute something else, as the leader of its process."""
        task = self._known.pop(tid, None)
        if task is not None:
            self._known.pop(task.process, None)


def read_link(proc: int, path: str) -> str:
    """Where a link of a procfs points; "" where there is none or it may not be read."""
    try:
        return os.readlink(path, dir_fd=proc)
    except OSError:
        return ""


def read_status(proc: int, path: str, field: bytes) -> str:
    """The last word of a field in a ``status`` or ``fdinfo`` file of a procfs; "" where it cannot be read.

    Of ids in several namespaces the last one is the id in the task's own (proc_pid_status(5)).
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    except OSError:
        return ""
    try:
        text = os.read(descriptor, 4096)
    except OSError:  # the task went away in between
        return ""
    finally:
        os.close(descriptor)
    for line in text.split(b"\n"):
        name, _, words = line.partition(b":")
        if name == field and words.strip():
            return words.split()[-1].decode()
    return ""
