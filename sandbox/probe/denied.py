"""Writes that only our box denied: the server's user may not write there, though whoever runs it outside
might.

Such a denial proves nothing about the tool (design, section 3, rule 5). The observer sees the attempt, not
its result, so the permissions that the box shows decide.
"""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Callable, Iterable

from sandbox.model import SyscallEvent

Look = Callable[[str], os.stat_result | None]
"""The attributes of a path as the box shows it, without following links; None where nothing is or can be seen."""

_CHANGES_FOLDER = frozenset(
    "creat mkdir mkdirat mknod mknodat unlink unlinkat rmdir rename renameat renameat2".split()
)
_MAKES = frozenset({"mkdir", "mkdirat", "mknod", "mknodat"})
_OPENS = frozenset({"open", "openat", "openat2"})
_CHANGES_MODE = frozenset({"chmod", "fchmod", "fchmodat", "fchmodat2"})
_NOT_FILES = ("/proc/", "/dev/", "/sys/")


def denied_writes(
    events: Iterable[SyscallEvent], look: Look, user: int, *, has_image: bool = False
) -> tuple[str, ...]:
    """A sentence for each path that the server tried to change and that its user may not.

    ``user`` is the server's user id as the host numbers it, as in the attributes that ``look`` gives. Opening
    a file for writing without creating or truncating it is no attempt: programs probe that way before they
    read. What the permissions of an own file were at the time is not known when the server itself changed them.
    In an image every file is the server's and has the permissions of the image's own user: what those
    refuse, no box denies.
    """
    events = tuple(events)
    changed = {event.path for event in events if event.name in _CHANGES_MODE}
    told: dict[str, str] = {}
    for event in events:
        path = event.path
        if not path.startswith("/") or path.startswith(_NOT_FILES) or path in told or event.denied:
            continue
        if path in changed and (there := look(path)) is not None and there.st_uid == user:
            continue
        if _is_attempt(event) and _is_denied(event, look, user, has_image):
            told[path] = f"the box's user may not write {path}"
    return tuple(told.values())


def _is_attempt(event: SyscallEvent) -> bool:
    return event.name in _CHANGES_FOLDER or (
        event.name in _OPENS and bool(event.flags & (os.O_CREAT | os.O_TRUNC))
    )


def _is_denied(event: SyscallEvent, look: Look, user: int, has_image: bool) -> bool:
    there = look(event.path)
    if event.name in _OPENS or event.name == "creat":
        if there is not None:
            return stat.S_ISREG(there.st_mode) and not _may_write(there, user, has_image)
    elif (there is not None) is (event.name in _MAKES):
        # To make what is there, as `mkdir -p` does, or to remove what is not, fails for whoever tries it.
        return False
    folder = look(posixpath.dirname(event.path))
    return folder is not None and stat.S_ISDIR(folder.st_mode) and not _may_write(folder, user, has_image)


def _may_write(facts: os.stat_result, user: int, has_image: bool) -> bool:
    if facts.st_uid == user:
        return has_image or bool(facts.st_mode & stat.S_IWUSR)
    return bool(facts.st_mode & stat.S_IWOTH)
