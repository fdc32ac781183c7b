"""Folders of the host as lower layers: each is bound once below the daemon's base, where every box finds it.

A real root's daemon binds what a user exposes with an id map: in the box, the files of the folder's owner are
the server's own. Else a server that was written to run as that owner could neither read the private ones nor
write any, and each refusal would be the box's doing. It is how the user's rung is anyway, where owner and
server are one. Where the file system has no id-mapped mounts, the folder is bound as it is.
"""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

from sandbox.linux import syscalls
from sandbox.linux.base import LAYERS, SYSTEM_FOLDERS, Lower

_SYSTEM = tuple(f"{folder}/" for folder in SYSTEM_FOLDERS)

_OVERLAY_ON_ID_MAPPED = (5, 19)
"""The first Linux whose overlayfs takes id-mapped lower layers."""


class Layers:
    """The folders bound so far. A path that meanwhile leads to another folder is bound anew.

    ``server`` is the server's id as the daemon sees it.
    """

    def __init__(self, server: int) -> None:
        self._server = server
        self._maps_ids = server != os.geteuid() and _kernel() >= _OVERLAY_ON_ID_MAPPED
        self._bound: dict[tuple[str, int, int], Lower] = {}
        self._namespaces: dict[tuple[int, int], int] = {}

    def provide(self, path: str) -> Lower:
        """Bind a folder of the host. Raises OSError (EINVAL in a user namespace when something is mounted below)."""
        facts = os.stat(path)
        key = (path, facts.st_dev, facts.st_ino)
        if key not in self._bound:
            target = f"{LAYERS}/{len(self._bound)}"
            os.makedirs(target, exist_ok=True)  # there, if it could not be bound the last time
            mapped = self._maps_ids and not f"{path}/".startswith(_SYSTEM)
            if not (mapped and self._bind_mapped(path, target, (facts.st_uid, facts.st_gid))):
                syscalls.mount(path, target, None, syscalls.MS_BIND)
            opened = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            self._bound[key] = Lower(target, opened)
        return self._bound[key]

    def _bind_mapped(self, path: str, target: str, owner: tuple[int, int]) -> bool:
        """Bind so that files of ``owner`` (user, group) are the server's; False where that cannot be."""
        try:
            if owner not in self._namespaces:
                self._namespaces[owner] = _namespace_that_maps(owner, self._server)
            tree = syscalls.open_tree(path)
        except OSError:  # no user namespaces here
            return False
        try:
            syscalls.map_mount_ids(tree, self._namespaces[owner])
        except PermissionError:  # not in this container
            self._maps_ids = False
            return False
        except OSError:  # EINVAL: not this file system
            return False
        else:
            syscalls.move_mount(tree, target)
            return True
        finally:
            os.close(tree)


def _kernel() -> tuple[int, ...]:
    release = os.uname().release.split("-")[0].split("+")[0]
    return tuple(int(part) for part in release.split(".")[:2])


def _namespace_that_maps(owner: tuple[int, int], server: int) -> int:
    """A descriptor of a user namespace in which an owner's ids stand for the server's, and 0 for itself.

    Raises OSError where there are none.
    """
    mine, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            mine.close()
            syscalls.unshare(syscalls.CLONE_NEWUSER)
            theirs.send(b"u")
            theirs.recv(1)
        finally:
            os._exit(0)  # an end that says nothing tells the failure
    theirs.close()
    try:
        with mine:
            if not mine.recv(1):
                raise OSError(errno.EPERM, "no user namespace can be made")
            for name, identity in zip(("uid_map", "gid_map"), owner, strict=True):
                roots = "" if identity == 0 else "0 0 1\n"
                Path(f"/proc/{child}/{name}").write_text(f"{roots}{identity} {server} 1\n")
            return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        os.waitpid(child, 0)
