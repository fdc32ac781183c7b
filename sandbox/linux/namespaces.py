"""Which namespaces the daemon and its boxes live in, and which ids of the host stand behind the box's.

Two rungs. *root*: the daemon is the real root in a mount namespace of its own; in a box 0 is the host's 0 and
the server is a high id that no account uses. It is never the host's 0, whom kernel files under /proc/sys obey
and whom RLIMIT_NPROC spares. *user*: the daemon is an ordinary user, made powerful over its own mounts by a
user namespace in which it is id 1000; so are its boxes.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Literal

from sandbox.linux import syscalls
from sandbox.linux.order import SERVER_ID, step

RungName = Literal["root", "user"]

BOX_NAMESPACES = (
    syscalls.CLONE_NEWUSER
    | syscalls.CLONE_NEWNET
    | syscalls.CLONE_NEWIPC
    | syscalls.CLONE_NEWUTS
    | syscalls.CLONE_NEWCGROUP
)
"""What a warden unshares. Its init adds the mount namespace; the pid namespace comes last, with the fork of init."""

_UNUSED_ID = 2_000_001_000
"""Between systemd's container range and its foreign range (systemd, UIDS-GIDS.md): nobody hands it out."""


def enter(rung: RungName) -> None:
    """Put the calling process, the daemon, where its mounts are its own business. Raises StepError."""
    if rung == "root":
        with step("leave the host's mount namespace"):
            syscalls.unshare(syscalls.CLONE_NEWNS)
            os.setgroups([])
    else:
        user, group = os.geteuid(), os.getegid()
        with step("create a user namespace"):
            syscalls.unshare(syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS)
        with step("map the user"):
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{SERVER_ID} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{SERVER_ID} {group} 1")
    with step("make mounts private"):
        syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)


def server_id(rung: RungName) -> int:
    """The server's id as the daemon sees it. Raises StepError when the daemon's own namespace has none to spare."""
    if rung == "user":
        return SERVER_ID
    with step("find an unused user id"):
        ranges = [
            tuple(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text().splitlines()
        ]
        if any(first <= _UNUSED_ID < first + count for first, _, count in ranges):
            return _UNUSED_ID
        last = max(first + count - 1 for first, _, count in ranges)
        if last < SERVER_ID:
            raise OSError(errno.EPERM, "this user namespace maps no id to run a server as")
        return last


def map_ids(pid: int, rung: RungName, server: int) -> None:
    """Write the id maps of a warden that has just unshared its user namespace. Raises StepError."""
    lines = "0 0 1\n" if rung == "root" else ""
    lines += f"{SERVER_ID} {server} 1\n"
    with step("map the box's users"):
        Path(f"/proc/{pid}/uid_map").write_text(lines)
        Path(f"/proc/{pid}/gid_map").write_text(lines)
