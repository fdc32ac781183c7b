"""Open what an untrusted process made without being led astray: openat2(2) beneath a descriptor.

Nothing here leaves the folder of the given descriptor, waits for the other end of a FIFO or trusts what a name
was a moment ago: what a descriptor turned out to be is asked of the descriptor (fstat). Symlinks are followed
by :func:`open_in_root` alone, which takes them as a process with that root would.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat

_SYS_OPENAT2 = 437
"""The same number on every architecture (calls since Linux 5.1 share one table)."""

_RESOLVE_NO_XDEV = 0x01
_RESOLVE_NO_MAGICLINKS = 0x02
_RESOLVE_NO_SYMLINKS = 0x04
_RESOLVE_BENEATH = 0x08
_RESOLVE_IN_ROOT = 0x10

_RETRIES = 8
"""openat2 answers EAGAIN when a rename elsewhere raced with the look-up (openat2(2), RESOLVE_BENEATH)."""


class _OpenHow(ctypes.Structure):
    _fields_ = [("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64)]


_libc = ctypes.CDLL(None, use_errno=True)
_syscall = _libc.syscall
_syscall.restype = ctypes.c_long
_HOW_SIZE = ctypes.c_size_t(ctypes.sizeof(_OpenHow))


def open_beneath(folder: int, path: str, flags: int = os.O_RDONLY, *, cross_devices: bool = False) -> int:
    """Open ``path``, relative to the descriptor ``folder``, and return a new close-on-exec descriptor.

    No component may be a symlink or lead out of ``folder``; with ``cross_devices`` false no mount point may
    be crossed. Opening never blocks.

    Raises:
        OSError: as openat2(2): ELOOP for a symlink, EXDEV for a way out, ENOENT, EACCES, ...
    """
    resolve = _RESOLVE_BENEATH | _RESOLVE_NO_SYMLINKS | _RESOLVE_NO_MAGICLINKS
    if not cross_devices:
        resolve |= _RESOLVE_NO_XDEV
    return _open(folder, path, flags, resolve)


def open_in_root(root: int, path: str, flags: int = os.O_RDONLY) -> int:
    """Open ``path`` as a process does whose root is the descriptor ``root``: symlinks, absolute ones too, and
    ``..`` stay inside. No mount point is crossed; opening never blocks.

    Raises:
        OSError: as openat2(2): ELOOP for a circle of symlinks, ENOENT, ENOTDIR, ...
    """
    return _open(root, path, flags, _RESOLVE_IN_ROOT | _RESOLVE_NO_MAGICLINKS | _RESOLVE_NO_XDEV)


def _open(folder: int, path: str, flags: int, resolve: int) -> int:
    # With O_PATH nothing is opened that could block, and openat2 refuses flags that mean nothing.
    waiting = 0 if flags & os.O_PATH else os.O_NONBLOCK | os.O_NOCTTY
    how = _OpenHow(flags | os.O_CLOEXEC | waiting, 0, resolve)
    name = os.fsencode(path)
    if b"\0" in name:
        raise OSError(errno.EINVAL, "a path holds no null byte", path)
    for _ in range(_RETRIES):
        opened: int = _syscall(
            ctypes.c_long(_SYS_OPENAT2), ctypes.c_int(folder), name, ctypes.byref(how), _HOW_SIZE
        )
        if opened >= 0:
            return opened
        error = ctypes.get_errno()
        if error not in (errno.EAGAIN, errno.EINTR):
            break
    raise OSError(error, os.strerror(error), path)


def open_folder(folder: int, path: str, *, cross_devices: bool = False) -> int:
    """Open a directory beneath ``folder`` for listing. Raises as :func:`open_beneath`."""
    return open_beneath(folder, path, os.O_RDONLY | os.O_DIRECTORY, cross_devices=cross_devices)


def open_regular(folder: int, path: str, *, cross_devices: bool = False) -> tuple[int, os.stat_result]:
    """Open a regular file beneath ``folder`` for reading; returns the descriptor and its fstat.

    Raises:
        OSError: as :func:`open_beneath`; EINVAL when what was opened is no regular file.
    """
    opened = open_beneath(folder, path, os.O_RDONLY, cross_devices=cross_devices)
    facts = os.fstat(opened)
    if not stat.S_ISREG(facts.st_mode):
        os.close(opened)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return opened, facts


def read_up_to(opened: int, cap: int) -> bytes:
    """Read at most ``cap`` bytes from a descriptor's present position."""
    parts: list[bytes] = []
    left = cap
    while left > 0:
        part = os.read(opened, min(left, 1 << 20))
        if not part:
            break
        parts.append(part)
        left -= len(part)
    return b"".join(parts)
