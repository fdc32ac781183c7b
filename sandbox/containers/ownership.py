"""Whose a box takes an image's files to be, once they are unpacked.

In an image many users own files; in a box every file of the image is the server's, for on most machines there is
no second id to give. What counts is kept all the same: where a file's mode has its owner's permissions stand
those that the image's user would have, by being its owner, by one of the user's groups, or by being anybody. They
hold against everything but a chmod by the server itself. The image's root may do what a container's root may
(CAP_DAC_OVERRIDE): read and write everything, and execute what anyone could.

Owners and permissions that a server reads back (``ls -l``) can therefore differ from the image's own.
"""

from __future__ import annotations

import os
import stat

from sandbox.containers.accounts import Account
from sandbox.containers.unpack import Owner, Tree

_READ_WRITE, _EXECUTE = 0o6, 0o1
_KEPT = 0o1077
"""Of a mode: the sticky bit, and the permissions of group and others, for show."""


def settle(root: int, tree: Tree, user: Account, owner: int) -> None:
    """Give every file its permissions, every folder its time too, and as root all of them to ``owner``.

    ``root`` is a descriptor of the unpacked image. Raises OSError where the owner cannot be given.
    """
    _folder(root, tree, user, owner if os.geteuid() == 0 else None)


def translated(mode: int, owner: Owner, user: Account, *, folder: bool) -> int:
    """The mode of a file of an image in a box where it is the server's; set-id bits are dropped."""
    if user.user == 0:
        allowed = (mode >> 6 & 7) | _READ_WRITE | (_EXECUTE if folder or mode & 0o111 else 0)
    elif owner.user == user.user:
        allowed = mode >> 6 & 7
    elif owner.group in (user.group, *user.groups):
        allowed = mode >> 3 & 7
    else:
        allowed = mode & 7
    return mode & _KEPT | allowed << 6


def _folder(folder: int, tree: Tree, user: Account, owner: int | None) -> None:
    facts = os.fstat(folder)
    for name in os.listdir(folder):
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISDIR(found.st_mode):
            opened = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                _folder(opened, tree, user, owner)
            finally:
                os.close(opened)
            continue
        # The owner last: in a container root may not change the mode of what is another's.
        if not stat.S_ISLNK(found.st_mode) and found.st_uid != owner:  # else it is a second name of a file
            before = stat.S_IMODE(found.st_mode)
            mode = translated(before, tree.owners.get(found.st_ino, Owner()), user, folder=False)
            if mode != before:
                os.chmod(name, mode, dir_fd=folder)
        if owner is not None and found.st_uid != owner:
            os.chown(name, owner, owner, dir_fd=folder, follow_symlinks=False)
    mode, mtime = tree.folders[facts.st_ino]
    os.fchmod(folder, translated(mode, tree.owners.get(facts.st_ino, Owner()), user, folder=True))
    os.utime(folder, (mtime, mtime))
    if owner is not None:
        os.fchown(folder, owner, owner)
