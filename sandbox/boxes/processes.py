"""The processes of a box: who they are, what they use, whether any of them is at work.

Two views. The box's own /proc, by the descriptor that its init passed out, lists exactly the box's processes
and is cheap to read, but numbers them as the box does. psutil reads the host's /proc, where pids are those of
every other instrument.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time

import psutil

from sandbox.model import ProcessFact

_INIT = "1"
_AT_WORK = frozenset(b"RD")

_LOOKS = 2
"""Looks at the processes of a box, the second from scratch; where both differ from its own /proc, they come
and go that fast."""


def census(proc: int) -> frozenset[str]:
    """The process ids of a box but its init's, numbered as the box does, from a descriptor of its /proc."""
    return frozenset(name for name in os.listdir(proc) if name.isdigit() and name != _INIT)


def count_threads(proc: int, pids: frozenset[str]) -> int:
    """How many threads the processes have together: what RLIMIT_NPROC counts."""
    return sum(_links(proc, f"{pid}/task") - 2 for pid in pids)


def is_quiet(proc: int) -> bool:
    """Whether no thread of the box runs, wants to run or waits for a disk, at this moment."""
    for pid in census(proc):
        for thread in _list(proc, f"{pid}/task"):
            if _state(proc, f"{pid}/task/{thread}/stat") in _AT_WORK:
                return False
    return True


class Family:
    """The processes of one box but its init, as psutil knows them. Orphans are init's children, so all
    descend from it.

    ``init`` is the pid of the box's init, ``proc`` a descriptor of the box's /proc. A look reads only what is
    new in the host's /proc since the last one: psutil's own search reads every process of the host, which
    takes milliseconds, and each step of a server that starts programs needs a look. Any thread may use it.
    """

    def __init__(self, init: int, proc: int) -> None:
        self._init = init
        self._proc = proc
        self._others: set[int] = set()
        self._members: dict[int, psutil.Process] = {}
        self._lock = threading.Lock()

    def members(self) -> list[psutil.Process]:
        """Those that run now, those that have ended and were not waited for included."""
        with self._lock:
            for _ in range(_LOOKS):
                self._look()
                if len(self._members) == len(census(self._proc)):
                    break
                # A process whose parent ended in between looked like another's: every one is asked again.
                self._others.clear()
            return list(self._members.values())

    def _look(self) -> None:
        there = {int(name) for name in os.listdir("/proc") if name.isdigit()}
        self._others &= there
        self._members = {
            pid: process for pid, process in self._members.items() if pid in there and process.is_running()
        }
        parents = {pid: _parent(pid) for pid in there - self._others - self._members.keys()}
        family = {self._init, *self._members}
        while found := {pid for pid, parent in parents.items() if parent in family and pid not in family}:
            family |= found
        for pid in family - self._members.keys() - {self._init}:
            with contextlib.suppress(psutil.NoSuchProcess):
                self._members[pid] = psutil.Process(pid)
        self._others |= parents.keys() - family


def describe(process: psutil.Process) -> ProcessFact | None:
    """The facts of a process; None when it is gone."""
    since_boot = process.create_time() - psutil.boot_time()
    asleep = time.clock_gettime(time.CLOCK_BOOTTIME) - time.monotonic()
    try:
        with process.oneshot():
            return ProcessFact(
                pid=process.pid,
                parent=process.ppid(),
                executable=_executable(process),
                argv=tuple(process.cmdline()),
                started_ns=int((since_boot - asleep) * 1e9),
            )
    except psutil.ZombieProcess:
        return None
    except psutil.NoSuchProcess:
        return None


def memory_of(processes: list[psutil.Process], bound: int) -> int:
    """Bytes of memory that the processes hold, pages of files left out. What they share with each other is
    counted once, and only where it could take them over ``bound``."""
    own = resident = 0
    for process in processes:
        try:
            memory = process.memory_info()
        except psutil.NoSuchProcess:
            continue
        own += memory.rss - memory.shared
        resident += memory.rss
    if resident <= bound:
        return own
    pids = [process.pid for process in processes]
    most = own + sum(_kilobytes(f"/proc/{pid}/status", "RssShmem:") for pid in pids)
    if most <= bound:
        return most
    return own + sum(
        _kilobytes(f"/proc/{pid}/smaps_rollup", "Pss_Shmem:")
        or _kilobytes(f"/proc/{pid}/status", "RssShmem:")
        for pid in pids
    )


def kept_in_memory(processes: list[psutil.Process]) -> int:
    """Bytes of memory files (memfd_create(2)) that are open and of shared memory that is mapped, whether or not
    a page of it is in a process. Slow: reads every descriptor and mapping."""
    sizes: dict[tuple[int, int], int] = {}
    for process in processes:
        for facts in _memory_files(process.pid):
            sizes[facts.st_dev, facts.st_ino] = facts.st_blocks * 512
    mapped: dict[str, int] = {}
    counted = {str(inode) for _, inode in sizes}
    for process in processes:
        one: dict[str, int] = {}
        for inode, size in _shared_mappings(process.pid):
            if inode not in counted:
                one[inode] = one.get(inode, 0) + size
        for inode, size in one.items():
            mapped[inode] = max(mapped.get(inode, 0), size)
    return sum(sizes.values()) + sum(mapped.values())


def _memory_files(pid: int) -> list[os.stat_result]:
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            path = f"/proc/{pid}/fd/{name}"
            with contextlib.suppress(OSError):
                if os.readlink(path).startswith(_MEMORY_FILES):
                    found.append(os.stat(path))
    return found


def _shared_mappings(pid: int) -> list[tuple[str, int]]:
    """Inode and length of each mapping of memory that others may share."""
    found = []
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            words = line.split(maxsplit=5)
            if len(words) == 6 and words[1][3] == "s" and words[5].startswith(_MEMORY_FILES):
                start, _, end = words[0].partition("-")
                found.append((words[4], int(end, 16) - int(start, 16)))
    return found


_MEMORY_FILES = ("/memfd:", "/dev/zero (deleted)", "/SYSV")
"""How /proc names files that are in memory alone."""


def _kilobytes(path: str, field: str) -> int:
    """A field of a file of a process, in bytes; 0 where it is not told."""
    with contextlib.suppress(OSError), open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith(field):
                return int(line.split()[1]) << 10
    return 0


def memory_of_machine() -> tuple[int, int, int]:
    """Bytes of memory that the machine has, that it could give out now, and that are files or shared memory in
    memory alone."""
    found = {}
    with open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            name, _, value = line.partition(":")
            found[name] = int(value.split()[0]) << 10
    return found["MemTotal"], found.get("MemAvailable", found["MemTotal"]), found.get("Shmem", 0)


def _executable(process: psutil.Process) -> str:
    try:
        return process.exe()
    except psutil.AccessDenied:  # a program that its own user may not read
        return ""


def _links(proc: int, path: str) -> int:
    try:
        return os.stat(path, dir_fd=proc).st_nlink
    except FileNotFoundError:
        return 2


def _list(proc: int, path: str) -> list[str]:
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=proc)
    except OSError:  # the process ended
        return []
    try:
        return os.listdir(folder)
    except OSError:
        return []
    finally:
        os.close(folder)


def _parent(pid: int) -> int:
    """The parent of a process of the host, or 0 when it has ended."""
    try:
        stat = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return 0
    try:
        line = os.read(stat, 512)
    except OSError:
        return 0
    finally:
        os.close(stat)
    return int(line[line.rindex(b")") + 2 :].split(maxsplit=2)[1])


def _state(proc: int, path: str) -> int:
    """The state letter of a thread (proc_pid_stat(5)), or 0 when it ended."""
    try:
        stat = os.open(path, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    except OSError:
        return 0
    try:
        line = os.read(stat, 512)
    except OSError:
        return 0
    finally:
        os.close(stat)
    # The name before it may hold blanks and parentheses of its own.
    return line[line.rindex(b")") + 2]
