"""Which limits of a box its server has run into.

The kernel enforces most of them by itself; here is seen that it did. Memory is the exception: without a
delegated cgroup only counting helps, since RLIMIT_AS breaks node.
"""

from __future__ import annotations

import os
import signal

import psutil

from sandbox.boxes.processes import Family, census, count_threads, memory_of
from sandbox.model import Limits

_CROWDED = 0.9
"""The part of the process limit that counts as all of it: where forks fail, processes give up as fast as
others are made, so that a fork bomb is seldom seen at the limit itself (measured: 178 to 200 of 200)."""


class Usage:
    """Watches what one box uses. ``proc`` and ``scratch`` are descriptors of the box's /proc and of its scratch tmpfs."""

    def __init__(self, limits: Limits, family: Family, proc: int, scratch: int) -> None:
        self._limits = limits
        self._family = family
        self._proc = proc
        self._scratch = scratch
        self._census: frozenset[str] = frozenset()
        self._processes: list[psutil.Process] = []
        self.hits: dict[str, str] = {}
        """Each limit that was reached, by name, with a sentence about it."""
        self.killed = False
        """Whether a look ended with the order to kill the box."""

    def check(self) -> bool:
        """Look once; returns whether the box has to be killed to protect the machine."""
        self.killed = self.killed or self._is_dangerous()
        return self.killed

    def check_disk(self) -> None:
        """See whether the scratch is full now; what was full and emptied again in between is not seen."""
        facts = os.fstatvfs(self._scratch)
        if facts.f_bavail == 0 or facts.f_favail == 0:
            what = "bytes" if facts.f_bavail == 0 else "files"
            self.hits["disk"] = (
                f"the box's scratch disk of {self._limits.disk_mb} MiB has no room for more {what}"
            )

    def check_processes(self) -> bool:
        """See whether the processes and threads that run now are as many as may run; returns whether they are."""
        threads = count_threads(self._proc, census(self._proc))
        if threads < self._limits.processes * _CROWDED:
            return False
        self.hits["processes"] = (
            f"the server ran {threads} of the {self._limits.processes} processes and threads that the box allows"
        )
        return True

    def note_exit(self, status: int | None) -> None:
        """Take the server's exit status into account, once there is one; negative numbers are signals."""
        if status == -signal.SIGXFSZ:
            self.hits["file"] = (
                f"the server wrote a file larger than {self._limits.file_mb} MiB, the box's limit"
            )

    def _is_dangerous(self) -> bool:
        self.check_disk()
        if self.check_processes():
            return True
        pids = census(self._proc)
        if pids != self._census:
            self._census, self._processes = pids, self._family.members()
        memory = memory_of(self._processes) >> 20
        if memory > self._limits.memory_mb:
            self.hits["memory"] = (
                f"the server used {memory} MiB of memory, and {self._limits.memory_mb} is the box's limit"
            )
            return True
        return False
