"""Reading another process's memory by process_vm_readv(2)."""

from __future__ import annotations

import ctypes

_PAGE = 4096  # the smallest there is: a read that is split too finely is still right
_USER_SPACE = 1 << 63

_libc = ctypes.CDLL(None, use_errno=True)


class _Vector(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def read_memory(pid: int, address: int, size: int) -> bytes:
    """Up to ``size`` bytes (at most 4 MiB) of a process's memory; fewer, or none, where it ends or may not be read."""
    if not 0 < address < _USER_SPACE or size <= 0:
        return b""
    buffer = ctypes.create_string_buffer(size)
    # The call stops short only between vectors, so that each page needs its own.
    starts = [address, *range(address - address % _PAGE + _PAGE, address + size, _PAGE)]
    ends = [*starts[1:], address + size]
    remote = (_Vector * len(starts))(
        *[_Vector(start, end - start) for start, end in zip(starts, ends, strict=True)]
    )
    got = _libc.process_vm_readv(
        ctypes.c_int(pid),
        ctypes.byref(_Vector(ctypes.addressof(buffer), size)),
        ctypes.c_ulong(1),
        remote,
        ctypes.c_ulong(len(starts)),
        ctypes.c_ulong(0),
    )
    return buffer.raw[: max(got, 0)]
