"""Which limits of a box its server has run into.

The kernel enforces most of them by itself; here is seen that it did. Memory is the exception: without a
delegated cgroup only counting helps, since RLIMIT_AS breaks node. What no count finds (buffers of sockets and
pipes, the kernel's own tables) is bounded by what the machine has left.
"""

from __future__ import annotations

import os
import signal

import psutil

from sandbox.boxes.processes import (
    Family,
    census,
    count_threads,
    kept_in_memory,
    memory_of,
    memory_of_machine,
)
from sandbox.model import Limits

_CROWDED = 0.9
"""The part of the process limit that counts as all of it: where forks fail, processes give up as fast as
others are made, so that a fork bomb is seldom seen at the limit itself (measured: 178 to 200 of 200)."""

_LEFT_PART, _LEFT_MOST = 16, 512 << 20
"""What the machine keeps: this part of its memory, and at most so many bytes. A look comes each tenth of a
second, in which a server can fill a few hundred megabytes."""


class Usage:
    """Watches what one box uses. ``proc`` and ``scratch`` are descriptors of the box's /proc and of its scratch tmpfs."""

    def __init__(self, limits: Limits, family: Family, proc: int, scratch: int) -> None:
        self._limits = limits
        self._family = family
        self._proc = proc
        self._scratch = scratch
        self._census: frozenset[str] = frozenset()
        self._processes: list[psutil.Process] = []
        total, available, self._shared_before = memory_of_machine()
        left = min(total // _LEFT_PART, _LEFT_MOST)
        # Where so little is left before the server does anything, it is not the server's doing.
        self._must_be_left = left if available > 2 * left else 0
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

    def file_at_limit(self, path: str, size: int) -> str:
        """A sentence where a file of ``size`` bytes is as large as a file may be, else ""."""
        if size < self._limits.file_mb << 20:
            return ""
        return f"{path} grew to {self._limits.file_mb} MiB, the box's limit for a file"

    def _is_dangerous(self) -> bool:
        self.check_disk()
        if self.check_processes():
            return True
        pids = census(self._proc)
        if pids != self._census:
            self._census, self._processes = pids, self._family.members()
        return self._takes_too_much()

    def _takes_too_much(self) -> bool:
        bound = self._limits.memory_mb << 20
        memory = memory_of(self._processes, bound)
        _, available, shared = memory_of_machine()
        if memory <= bound < shared - self._shared_before:
            # Somebody on this machine took as much: if it is this server, no page of it need be in a process.
            memory = max(memory, kept_in_memory(self._processes))
        if memory > bound:
            self.hits["memory"] = (
                f"the server used {memory >> 20} MiB of memory, and {self._limits.memory_mb} is the box's limit"
            )
            return True
        if available < self._must_be_left:
            self.hits["memory"] = (
                f"the machine had only {available >> 20} MiB of memory left while the server ran"
            )
            return True
        return False
