"""When every file is read again at each look: a store into a shared mapping of a tmpfs file leaves no trace
in its times."""

from __future__ import annotations

from collections.abc import Iterable

from sandbox.model import SyscallEvent


class Mappings:
    """Whether any process of a box has ever mapped a file shared.

    Which file it was is not asked: another thread can put another descriptor in place after the observer
    looked, and the file can get another name through a symlink, an exchange or a name that changes while it
    is read.
    """

    def __init__(self) -> None:
        self.any = False

    def take(self, events: Iterable[SyscallEvent]) -> None:
        """Learn from a step's system calls."""
        self.any = self.any or any(event.name == "mmap-shared" and not event.denied for event in events)
