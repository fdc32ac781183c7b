"""Who did it and when, by the last system call that named the path; and what system calls tell that left
nothing.

Attribution only: a path was read from memory that another thread can change (design, rule 7).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sandbox.model import SyscallEvent

_MADE_BY = frozenset({"creat", "mkdir", "mkdirat", "mknod", "mknodat", "symlink", "symlinkat"})
_REMOVED_BY = frozenset({"unlink", "unlinkat", "rmdir"})
RENAMED_BY = frozenset({"rename", "renameat", "renameat2"})
LINKED_BY = frozenset({"link", "linkat"})
_WRITTEN_BY = frozenset({"truncate", "ftruncate", "fallocate", "creat"})
_OPENED_BY = frozenset({"open", "openat", "openat2"})
_FILE_CALLS = (
    _MADE_BY
    | _REMOVED_BY
    | RENAMED_BY
    | _WRITTEN_BY
    | _OPENED_BY
    | LINKED_BY
    | frozenset(
        (
            "mmap-shared chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat"
            " setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr"
            " utime utimes futimesat utimensat"
        ).split()
    )
)

_REMEMBERED = 5000
"""Paths whose last opener is remembered beyond its step: a file kept open is written without another event."""


class Doer(NamedTuple):
    """When (milliseconds from the start of the step), and who; zeros where nobody is known."""

    at_ms: float = 0.0
    pid: int = 0
    executable: str = ""


class Trace(NamedTuple):
    """What the system calls of one step say was attempted on one path."""

    made: bool = False
    removed: bool = False
    written: bool = False
    opened: bool = False


class Attribution:
    """The file events of a box, step by step."""

    def __init__(self) -> None:
        self._last: dict[str, SyscallEvent] = {}
        self._started_ns = 0
        self._traces: dict[str, Trace] = {}

    def take(self, events: Sequence[SyscallEvent], started_ns: int) -> None:
        """Begin a step with its events."""
        self._started_ns = started_ns
        self._traces = {}
        for event in events:
            if event.name not in _FILE_CALLS or event.denied:
                continue
            for path in (event.path, event.target if event.name in RENAMED_BY | LINKED_BY else ""):
                if path:
                    self._last.pop(path, None)
                    self._last[path] = event
            self._trace(event)
        while len(self._last) > _REMEMBERED:
            self._last.pop(next(iter(self._last)))

    def doer(self, paths: Iterable[str]) -> Doer:
        """Who touched one of ``paths`` last. An event of an earlier step tells who, not when."""
        found = [event for path in paths if (event := self._last.get(path)) is not None]
        if not found:
            return Doer()
        event = max(found, key=lambda e: e.at_ns)
        return Doer(max(0.0, (event.at_ns - self._started_ns) / 1e6), event.pid, event.executable)

    @property
    def traces(self) -> dict[str, Trace]:
        """What was attempted in this step, by path; devices and process files left out."""
        return self._traces

    def _trace(self, event: SyscallEvent) -> None:
        opened = event.name in _OPENED_BY
        self._note(
            event.path,
            made=event.name in _MADE_BY or (opened and bool(event.flags & os.O_CREAT)),
            removed=event.name in _REMOVED_BY | RENAMED_BY,
            written=event.name in _WRITTEN_BY or (opened and bool(event.flags & os.O_TRUNC)),
            opened=opened,
        )
        if event.name in RENAMED_BY | LINKED_BY:
            self._note(event.target, made=True)

    def _note(self, path: str, **what: bool) -> None:
        if not path.startswith("/") or path.startswith(
            ("/dev/null", "/dev/tty", "/dev/pts", "/proc/", "/sys/")
        ):
            return
        known = self._traces.get(path, Trace())
        self._traces[path] = known._replace(**{name: True for name, value in what.items() if value})
