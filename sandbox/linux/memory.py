"""Reading the memory of a task that is held in a system call. The task is hostile: any pointer may be garbage."""

from __future__ import annotations

import ctypes
import errno
import os

READ_LIMIT = 64 << 10
"""Bytes that one read returns at most: the headers of the largest sendmmsg(2), 1024 messages of 64 bytes."""

_PAGE = 4096  # the smallest page: a read that is split too finely is still right
_USER_SPACE = 1 << 63
_CHUNK = 256


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


class Memory:
    """Reads by process_vm_readv(2), or from ``/proc/TID/mem`` where that call is not allowed.

    ``proc`` is a descriptor of a procfs in which the tasks have the numbers that they are asked for by.
    """

    def __init__(self, proc: int) -> None:
        self._proc = proc
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._buffer = ctypes.create_string_buffer(READ_LIMIT)
        self._local = _Vector(ctypes.addressof(self._buffer), 0)
        self._remote = (_Vector * (READ_LIMIT // _PAGE + 1))()

    def read(self, tid: int, address: int, size: int) -> bytes:
        """Up to ``size`` bytes from an address; fewer, or none, where the memory ends."""
        if not 0 < address < _USER_SPACE:
            return b""
        size = min(size, READ_LIMIT)
        count = 0
        start, left = address, size
        # A transfer is cut short only between vectors, so that each page needs its own.
        while left > 0:
            length = min(left, _PAGE - start % _PAGE)
            vector = self._remote[count]
            vector.base, vector.length = start, length
            start, left, count = start + length, left - length, count + 1
        self._local.length = size
        got = self._libc.process_vm_readv(
            tid,
            ctypes.byref(self._local),
            ctypes.c_ulong(1),
            self._remote,
            ctypes.c_ulong(count),
            ctypes.c_ulong(0),
        )
        if got >= 0:
            return ctypes.string_at(self._buffer, got)
        if ctypes.get_errno() in (errno.EPERM, errno.ENOSYS):
            return self._read_file(tid, address, size)
        return b""

    def read_string(self, tid: int, address: int, limit: int) -> bytes | None:
        """The bytes of a C string up to its NUL, cut at ``limit``; None where nothing can be read."""
        # Most strings are short: a first small read saves the copy of a page.
        data = self.read(tid, address, min(limit, _CHUNK))
        if not data:
            return None
        if b"\0" not in data and len(data) < limit:
            data += self.read(tid, address + len(data), limit - len(data))
        return data.partition(b"\0")[0]

    def _read_file(self, tid: int, address: int, size: int) -> bytes:
        try:
            descriptor = os.open(f"{tid}/mem", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        except OSError:  # the task is gone, or nobody may read it
            return b""
        try:
            return os.pread(descriptor, size, address)
        except OSError:  # nothing is mapped there
            return b""
        finally:
            os.close(descriptor)
