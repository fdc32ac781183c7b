"""Which namespaces the daemon and its boxes live in, and which ids of the host stand behind the box's.

Four rungs. *root*: the daemon is the real root in a mount namespace of its own; in a box 0 is the host's 0 and
the server is a high id that no account uses. It is never the host's 0, whom kernel files under /proc/sys obey
and whom RLIMIT_NPROC spares: where an image wants its server to be 0, the host's 0 is nobody there. *mapped*: the
same for a root with few capabilities, below a user namespace in which it has them all. *user*: the daemon is an
ordinary user, made powerful over its own mounts by a user namespace in which it is id 1000; in its boxes this
user is the server. *plain*: as root, without any user namespace; the server has the same high id in its box.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandbox.linux import powers, syscalls
from sandbox.linux.order import SERVER_ID, step

RungName = Literal["root", "mapped", "user", "plain"]

_BOX_NAMESPACES = (
    syscalls.CLONE_NEWNET | syscalls.CLONE_NEWIPC | syscalls.CLONE_NEWUTS | syscalls.CLONE_NEWCGROUP
)

_UNUSED_ID = 2_000_001_000
"""Between systemd's container range and its foreign range (systemd, UIDS-GIDS.md): nobody hands it out."""

_NOBODY = 65534
"""What the host's 0 is in the box of a server that is 0 there: the id that the kernel shows for owners unknown."""


@dataclass(frozen=True, slots=True)
class Ids:
    """Who is who in one box, in the box's own numbers.

    ``user`` and ``group`` are the server's; ``system`` (user, group) owns what is not the server's. ``maps`` are
    the lines of the box's id maps, empty where it has no user namespace.
    """

    user: int
    group: int
    system: tuple[int, int]
    maps: tuple[str, str] | None

    @property
    def namespaces(self) -> int:
        """What a warden unshares. Its init adds the mount namespace; the pid namespace comes last, with the fork
        of init."""
        return _BOX_NAMESPACES | (0 if self.maps is None else syscalls.CLONE_NEWUSER)

    @property
    def system_is_servers(self) -> bool:
        """Whether only permissions keep the server from what is the system's."""
        return self.system[0] == self.user != 0


def enter(rung: RungName) -> None:
    """Put the calling process, the daemon, where its mounts are its own business. Raises StepError."""
    if rung == "user":
        _enter_as_user()
    elif rung == "mapped":
        with step("create a user namespace"):
            powers.enter_user_namespace(syscalls.CLONE_NEWNS)
            os.setgroups([])
    else:
        with step("leave the host's mount namespace"):
            syscalls.unshare(syscalls.CLONE_NEWNS)
            os.setgroups([])
    with step("make mounts private"):
        syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)


def _enter_as_user() -> None:
    user, group = os.geteuid(), os.getegid()
    with step("create a user namespace"):
        syscalls.unshare(syscalls.CLONE_NEWUSER | syscalls.CLONE_NEWNS)
    with step("map the user"):
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{SERVER_ID} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{SERVER_ID} {group} 1")


def server_owner() -> int:
    """The user and group id under which servers run outside their boxes, as the calling process numbers them.

    An unprivileged user's own; for root an id that nobody has. What is unpacked for a box belongs to it. Raises
    OSError when the namespace of the calling process has no id to spare.
    """
    if os.geteuid() != 0:
        return os.geteuid()
    maps = [_mapped(name) for name in ("uid_map", "gid_map")]
    for candidate in (_UNUSED_ID, *(max(ids.stop for ids in one) - 1 for one in maps)):
        if candidate >= SERVER_ID and all(any(candidate in ids for ids in one) for one in maps):
            return candidate
    raise OSError(errno.EPERM, "this user namespace maps no id to run a server as")


def _mapped(name: str) -> list[range]:
    """The ids that the calling process's user namespace knows (user_namespaces(7))."""
    lines = (line.split() for line in Path("/proc/self", name).read_text().splitlines())
    return [range(int(first), int(first) + int(count)) for first, _, count in lines]


def server_id(rung: RungName) -> int:
    """The server's id as the daemon, once it has entered, sees it. Raises StepError when there is none to spare."""
    if rung == "user":
        return SERVER_ID
    with step("find an unused user id"):
        return server_owner()


def box_ids(rung: RungName, server: int, user: int, group: int) -> Ids:
    """The ids of a box whose server wants to be ``user`` and ``group``; ``server`` is its id as the daemon sees it."""
    if rung == "plain":
        return Ids(server, server, (0, 0), None)
    if rung == "user":
        return Ids(user, group, (user, group), (f"{user} {server} 1\n", f"{group} {server} 1\n"))
    return Ids(user, group, (0, 0), (_map(user, server), _map(group, server)))


def _map(inside: int, server: int) -> str:
    return f"{_NOBODY if inside == 0 else 0} 0 1\n{inside} {server} 1\n"


def map_ids(pid: int, ids: Ids) -> None:
    """Write the id maps of a warden that has just unshared its user namespace. Raises StepError."""
    if ids.maps is None:
        return
    with step("map the box's users"):
        for name, lines in zip(("uid_map", "gid_map"), ids.maps, strict=True):
            Path(f"/proc/{pid}/{name}").write_text(lines)
