"""Executes Python with few capabilities, as an engine in a container has it: reduced.py CAPABILITIES NAMESPACES ARGUMENTS...

CAPABILITIES are names with commas between them; NAMESPACES is ``users`` or, where no user namespace may be made, ``none``.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

from sandbox.linux import syscalls
from sandbox.linux.numbers import MACHINES
from sandbox.linux.powers import NUMBERS

_SET_SECCOMP, _MODE_FILTER = 22, 2
_LOAD, _EQUAL, _SET, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


def keep_only(names: list[str]) -> None:
    """Drop every other capability from what the next exec can give."""
    kept = {NUMBERS[name] for name in names}
    for capability in range(64):
        if capability not in kept:
            try:
                syscalls.prctl(syscalls.PR_CAPBSET_DROP, capability)
            except OSError:
                if capability == 0:
                    raise
                return


def refuse_user_namespaces() -> None:
    """Put a filter over the process as a container's profile may have it."""
    numbers = MACHINES[os.uname().machine].numbers
    code = [
        (_LOAD, 0, 0, 0),
        (_EQUAL, 5, 0, numbers["clone3"]),
        (_EQUAL, 1, 0, numbers["unshare"]),
        (_EQUAL, 0, 2, numbers["clone"]),
        (_LOAD, 0, 0, 16),
        (_SET, 2, 0, syscalls.CLONE_NEWUSER),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _ERROR | errno.ENOSYS),
        (_RETURN, 0, 0, _ERROR | errno.EPERM),
    ]
    packed = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in code))
    program = struct.pack("@HP", len(code), ctypes.addressof(packed))
    zero = ctypes.c_ulong(0)
    if ctypes.CDLL(None, use_errno=True).prctl(
        _SET_SECCOMP, ctypes.c_ulong(_MODE_FILTER), program, zero, zero
    ):
        raise OSError(ctypes.get_errno(), "no filter could be put in place")


if __name__ == "__main__":
    capabilities, namespaces, *arguments = sys.argv[1:]
    syscalls.prctl(syscalls.PR_SET_NO_NEW_PRIVS, 1)
    if namespaces == "none":
        refuse_user_namespaces()
    if os.geteuid() == 0:
        keep_only(capabilities.split(","))
    os.execv(sys.executable, [sys.executable, *arguments])
