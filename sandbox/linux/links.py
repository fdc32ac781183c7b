"""Following symlinks by looking, one component after the other, so that each link on the way is known."""

from __future__ import annotations

import errno
import os

_HOPS = 40
"""As many symlinks as the kernel follows in one path (path_resolution(7))."""


def follow(path: str, root: str = "") -> tuple[str, dict[str, str]]:
    """Where an absolute path leads, and the symlinks on the way: their own real paths and their targets as
    written.

    With ``root`` the path, links and answer are those of a process whose root that folder is; nobody may change
    links in it meanwhile. What does not exist is followed as far as it goes. Raises OSError (ELOOP) for a circle.
    """
    links: dict[str, str] = {}
    pending = path.split("/")
    current = ""
    hops = 0
    while pending:
        part = pending.pop(0)
        if part in ("", "."):
            continue
        if part == "..":
            current = os.path.dirname(current).rstrip("/")
            continue
        step = f"{current}/{part}"
        try:
            target = os.readlink(root + step)
        except OSError:  # no symlink, or nothing there
            current = step
            continue
        hops += 1
        if hops > _HOPS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        links[step] = target
        pending = target.split("/") + pending
        if target.startswith("/"):
            current = ""
    return current or "/", links
