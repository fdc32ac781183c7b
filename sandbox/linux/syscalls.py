"""System calls that Python 3.11 does not offer, through ctypes. Each raises OSError that names the call.

The functions are thin: meaning and errors are those of the manual page of the same name.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY = 1
MS_NOSUID = 2
MS_NODEV = 4
MS_NOEXEC = 8
MS_REMOUNT = 32
MS_BIND = 4096
MS_REC = 16384
MS_PRIVATE = 1 << 18
MNT_DETACH = 2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

_CLOSE_RANGE_CLOEXEC = 4
_LAST_DESCRIPTOR = 0xFFFFFFFF
_CAPABILITY_VERSION_3 = 0x20080522

# System call numbers: those from 424 on are the same on every architecture, pivot_root is not.
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_OPEN_TREE = 428
_MOVE_MOUNT = 429
_CLOSE_RANGE = 436
_PIDFD_GETFD = 438
_MOUNT_SETATTR = 442

_AT_FDCWD = -100
_AT_EMPTY_PATH = 0x1000
_OPEN_TREE_CLONE = 1
_OPEN_TREE_CLOEXEC = 0o2000000
_MOVE_MOUNT_F_EMPTY_PATH = 4
_MOUNT_ATTR_IDMAP = 0x00100000

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, call: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{call}: {os.strerror(number)}")
    return result


def _text(value: str | None) -> bytes | None:
    return None if value is None else os.fsencode(value)


def unshare(flags: int) -> None:
    """unshare(2)."""
    _check(_libc.unshare(ctypes.c_int(flags)), f"unshare({flags:#x})")


def mount(source: str | None, target: str, kind: str | None, flags: int = 0, data: str | None = None) -> None:
    """mount(2)."""
    _check(
        _libc.mount(_text(source), _text(target), _text(kind), ctypes.c_ulong(flags), _text(data)),
        f"mount({source}, {target}, {kind}, {flags:#x}, {data})",
    )


def unmount(target: str, flags: int) -> None:
    """umount2(2)."""
    _check(_libc.umount2(_text(target), ctypes.c_int(flags)), f"umount2({target})")


def open_tree(path: str) -> int:
    """A descriptor of a detached copy of the mount at a path, without the mounts below it (open_tree(2), Linux 5.2)."""
    flags = ctypes.c_uint(_OPEN_TREE_CLONE | _OPEN_TREE_CLOEXEC)
    number = ctypes.c_long(_OPEN_TREE)
    return _check(_libc.syscall(number, ctypes.c_int(_AT_FDCWD), _text(path), flags), f"open_tree({path})")


def map_mount_ids(tree: int, user_namespace: int) -> None:
    """Make a detached mount show its files' ids as a user namespace maps them (mount_setattr(2), Linux 5.12)."""
    attributes = (ctypes.c_uint64 * 4)(_MOUNT_ATTR_IDMAP, 0, 0, user_namespace)
    number, flags = ctypes.c_long(_MOUNT_SETATTR), ctypes.c_uint(_AT_EMPTY_PATH)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _check(_libc.syscall(number, ctypes.c_int(tree), b"", flags, attributes, size), "mount_setattr")


def move_mount(tree: int, target: str) -> None:
    """Attach a detached mount (move_mount(2), Linux 5.2)."""
    number, flags = ctypes.c_long(_MOVE_MOUNT), ctypes.c_uint(_MOVE_MOUNT_F_EMPTY_PATH)
    arguments = (ctypes.c_int(tree), b"", ctypes.c_int(_AT_FDCWD), _text(target), flags)
    _check(_libc.syscall(number, *arguments), f"move_mount({target})")


def pivot_root(new_root: str, put_old: str) -> None:
    """pivot_root(2)."""
    number = ctypes.c_long(_PIVOT_ROOT[os.uname().machine])
    _check(_libc.syscall(number, _text(new_root), _text(put_old)), f"pivot_root({new_root})")


def prctl(option: int, value: int = 0, third: int = 0) -> None:
    """prctl(2) for options with up to two integers."""
    zero = ctypes.c_ulong(0)
    arguments = (ctypes.c_ulong(value), ctypes.c_ulong(third), zero, zero)
    _check(_libc.prctl(ctypes.c_int(option), *arguments), f"prctl({option}, {value})")


def set_process_name(name: str) -> None:
    """Name the calling thread, as ``ps`` shows it (PR_SET_NAME; at most 15 bytes)."""
    zero = ctypes.c_ulong(0)
    buffer = ctypes.create_string_buffer(os.fsencode(name))
    _check(_libc.prctl(ctypes.c_int(PR_SET_NAME), buffer, zero, zero, zero), "prctl(PR_SET_NAME)")


def drop_capabilities() -> None:
    """Empty the permitted, effective and inheritable sets of the calling thread (capset(2))."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    data = (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, data), "capset")


def empty_bounding_set() -> None:
    """Drop every capability that the kernel knows from the bounding set and the ambient set."""
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    for capability in range(64):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:  # EINVAL: past the last one; a missing right shows in capability 0
            if capability == 0:
                raise
            return


def pidfd_getfd(pidfd: int, descriptor: int) -> int:
    """Take a close-on-exec copy of another process's descriptor (pidfd_getfd(2), Linux 5.6)."""
    arguments = (ctypes.c_int(pidfd), ctypes.c_int(descriptor), ctypes.c_uint(0))
    return _check(_libc.syscall(ctypes.c_long(_PIDFD_GETFD), *arguments), "pidfd_getfd")


def _close_range(first: int, last: int, flags: int) -> None:
    arguments = (ctypes.c_uint(first), ctypes.c_uint(last), ctypes.c_uint(flags))
    _check(_libc.syscall(ctypes.c_long(_CLOSE_RANGE), *arguments), "close_range")


def close_all_but(kept: Iterable[int]) -> None:
    """Close every descriptor of the process but those given (close_range(2), Linux 5.9)."""
    first = 0
    for descriptor in sorted(set(kept)):
        if descriptor > first:
            _close_range(first, descriptor - 1, 0)
        first = descriptor + 1
    _close_range(first, _LAST_DESCRIPTOR, 0)


def close_on_exec_from(first: int) -> None:
    """Mark every descriptor from ``first`` on close-on-exec (Linux 5.11)."""
    _close_range(first, _LAST_DESCRIPTOR, _CLOSE_RANGE_CLOEXEC)


def write_setting(path: str, value: str) -> None:
    """Write a file of procfs in one go, without Python's codecs: inside a box nothing may be imported any more."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, value.encode())
    finally:
        os.close(descriptor)
