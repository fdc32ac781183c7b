"""A lock on a file that ends with the process, by what this system has for it. Windows' is untried."""

from __future__ import annotations

import os
import sys

if sys.platform == "win32":
    import msvcrt

    def lock(descriptor: int) -> None:
        """Take the lock of an open file. Raises BlockingIOError where another process has it."""
        os.lseek(descriptor, 0, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(*error.args) from error
else:
    import fcntl

    def lock(descriptor: int) -> None:
        """Take the lock of an open file. Raises BlockingIOError where another process has it."""
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
