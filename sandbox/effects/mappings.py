"""Which files to read again at every look: a store into a shared mapping of a tmpfs file leaves no trace in its times."""

from __future__ import annotations

from collections.abc import Iterable

from sandbox.effects.attribution import LINKED_BY, RENAMED_BY
from sandbox.model import SyscallEvent

_CAP = 256

_NO_FILE = ("/memfd:", "/dev/zero", "/SYSV")
"""How /proc names mappings that no path of the box leads to."""


class Mappings:
    """The files that a box's processes have mapped shared, by the names under which they were mapped.

    ``lost`` turns True for good once such a file may have another name than the one that is known: renamed, linked,
    mapped without a name, or one of too many. Then every file may be a mapped one.
    """

    def __init__(self) -> None:
        self.paths: set[str] = set()
        self.lost = False
        self._linked: set[str] = set()

    def take(self, events: Iterable[SyscallEvent]) -> None:
        """Learn from a step's system calls."""
        for event in events:
            if event.denied or self.lost:
                continue
            if event.name == "mmap-shared" and event.path and not event.path.startswith(_NO_FILE):
                self.paths.add(event.path)
                self.lost = event.path.endswith(" (deleted)") or self._has_another_name()
            elif event.name in LINKED_BY and len(self._linked) <= _CAP:
                self._linked |= {event.path, event.target}
                self.lost = self._has_another_name()
            elif event.name in RENAMED_BY:
                self.lost = any(
                    path == event.path or path.startswith(event.path + "/") for path in self.paths
                )

    def _has_another_name(self) -> bool:
        too_many = len(self.paths) > _CAP or len(self._linked) > _CAP
        return bool(self.paths) and (too_many or not self.paths.isdisjoint(self._linked))
