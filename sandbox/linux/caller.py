"""The thread that made a system call, as seen from outside its box: who it is, its memory, its descriptors.

The thread is hostile: a pointer may be garbage, a name may be of no encoding, and it may be killed at any
moment. What cannot be read is empty.
"""

from __future__ import annotations

import os
import posixpath
import re

from sandbox.linux.memory import read_memory
from sandbox.linux.syscalls import pidfd_getfd

PATH_LIMIT = 4096  # PATH_MAX
_FIRST_READ = 256
_FRESH_NS = 1_000_000_000
_KNOWN_LIMIT = 128

_WORD = 0xFFFFFFFF
AT_FDCWD = -100 & _WORD

# The links in /proc and /dev that lead to what a process holds instead of to a path.
_HELD = re.compile(r"/(?:proc/(?:self|thread-self)/|dev/(?=fd/))(fd/\d+|cwd|root|exe)(/.*)?", re.DOTALL)
_STANDARD_STREAMS = {"/dev/stdin": "/dev/fd/0", "/dev/stdout": "/dev/fd/1", "/dev/stderr": "/dev/fd/2"}


class Caller:
    """One thread of a box, known by the id that it has in the procfs ``proc``.

    ``process`` is the thread group it belongs to (the thread itself when it is gone already), ``executable``
    that process's file, or "". Owns a descriptor of the memory once that was read: kept open, it is read in a
    third of the time that process_vm_readv(2) takes through ctypes.
    """

    __slots__ = ("_memory", "_proc", "executable", "known_at_ns", "process", "tid")

    def __init__(self, tid: int, proc: int, now_ns: int) -> None:
        self.tid = tid
        self.known_at_ns = now_ns
        self._proc = proc
        self._memory = -1
        self.process = int(self._status(f"{tid}/status", b"Tgid") or tid)
        self.executable = self._link("exe")

    def close(self) -> None:
        """Release the descriptor of the memory; idempotent."""
        if self._memory >= 0:
            os.close(self._memory)
            self._memory = -1

    def read(self, address: int, size: int) -> bytes:
        """Up to ``size`` bytes of memory; fewer, or none, where it ends."""
        try:
            if self._memory < 0:
                self._memory = os.open(f"{self.tid}/mem", os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        except OSError:
            # A process that made itself undumpable owns its files in /proc no more: not even the root of a
            # user namespace can open them, but it may still read the memory.
            return read_memory(self.tid, address, size)
        try:
            return os.pread(self._memory, size, address)
        except (OSError, OverflowError):  # nothing is mapped there, or it is an address beyond 2**63
            return b""

    def string(self, address: int, limit: int = PATH_LIMIT) -> str:
        """The C string at an address, cut at ``limit`` bytes."""
        # Most strings are short: a first small read saves the copy of a page.
        data = self.read(address, min(limit, _FIRST_READ))
        if b"\0" not in data and 0 < len(data) < limit:
            data += self.read(address + len(data), limit - len(data))
        return os.fsdecode(data.partition(b"\0")[0])

    def path(self, address: int, folder: int = AT_FDCWD) -> str:
        """The absolute path that an argument means, relative to a folder's descriptor; links are not
        followed.

        An empty string means what the folder's descriptor refers to (AT_EMPTY_PATH), a null pointer too
        (utimensat).
        """
        text = self.string(address)
        if text:
            return self.absolute(text, folder)
        if folder & _WORD != AT_FDCWD and (address == 0 or self.read(address, 1)):
            return self.descriptor(folder)
        return ""

    def absolute(self, text: str, folder: int = AT_FDCWD) -> str:
        """A path made absolute and normal; "" when what it is relative to has no path."""
        if not text.startswith("/"):
            base = self._link("cwd") if folder & _WORD == AT_FDCWD else self.descriptor(folder)
            if not base.startswith("/"):
                return ""
            text = f"{base}/{text}"
        path = _normal(text)
        return self._behind_link(path) if path.startswith(("/proc/", "/dev/")) else path

    def descriptor(self, number: int) -> str:
        """What a descriptor refers to: an absolute path, or the like of ``pipe:[1]``."""
        return self._link(f"fd/{number & _WORD}") or self._copied_descriptor(number & _WORD)

    def own_ids(self) -> tuple[str, str]:
        """The process and thread id as the thread's own namespace numbers them."""
        path = f"{self.tid}/status"
        return self._status(path, b"NStgid"), self._status(path, b"NSpid")

    def pidfd(self, number: int) -> str:
        """The id of the process that a pidfd refers to, as that process's own namespace numbers it."""
        return self._status(f"{self.tid}/fdinfo/{number & _WORD}", b"NSpid")

    def _copied_descriptor(self, number: int) -> str:
        """What a descriptor of an undumpable process refers to: its /proc/PID/fd is as closed as its memory there."""
        try:
            handle = os.pidfd_open(self.process)
        except OSError:  # gone
            return ""
        try:
            copy = pidfd_getfd(handle, number)
        except OSError:  # no such descriptor, or gone
            return ""
        finally:
            os.close(handle)
        try:
            return os.readlink(f"self/fd/{copy}", dir_fd=self._proc)
        finally:
            os.close(copy)

    def _behind_link(self, path: str) -> str:
        held = _HELD.fullmatch(_STANDARD_STREAMS.get(path, path))
        if held is None:
            return path
        base = self._link(held[1])
        return _normal(base + (held[2] or "")) if base.startswith("/") else path

    def _link(self, name: str) -> str:
        try:
            return os.readlink(f"{self.tid}/{name}", dir_fd=self._proc)
        except OSError:  # no such descriptor, or the thread is gone
            return ""

    def _status(self, path: str, field: bytes) -> str:
        """The last word of a field in a ``status`` or ``fdinfo`` file: of several ids, the innermost namespace's."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._proc)
        except OSError:
            return ""
        try:
            text = os.read(descriptor, 4096)
        except OSError:  # gone in between
            return ""
        finally:
            os.close(descriptor)
        for line in text.split(b"\n"):
            name, _, words = line.partition(b":")
            if name == field and words.strip():
                return words.split()[-1].decode()
        return ""


def _normal(path: str) -> str:
    normal = posixpath.normpath(path)
    return normal[1:] if normal.startswith("//") else normal  # two slashes mean nothing on Linux


class Callers:
    """The threads of a box by their ids in the procfs ``proc``; owns a descriptor for each that it knows, at
    most 128.

    What is known of a thread counts for a second. So a reused id is told apart: ids do not wrap around that
    fast.
    """

    def __init__(self, proc: int) -> None:
        self._proc = proc
        self._known: dict[int, Caller] = {}

    def find(self, tid: int, now_ns: int) -> Caller:
        """The thread with an id."""
        caller = self._known.get(tid)
        if caller is None or now_ns - caller.known_at_ns > _FRESH_NS:
            self._forget(tid)
            if len(self._known) >= _KNOWN_LIMIT:
                self.close()
            caller = self._known[tid] = Caller(tid, self._proc, now_ns)
        return caller

    def forget(self, caller: Caller) -> None:
        """Look at a thread and its process anew: it is about to execute something else, as its process's only thread."""
        self._forget(caller.tid)
        self._forget(caller.process)

    def close(self) -> None:
        """Forget every thread."""
        for tid in tuple(self._known):
            self._forget(tid)

    def _forget(self, tid: int) -> None:
        caller = self._known.pop(tid, None)
        if caller is not None:
            caller.close()
