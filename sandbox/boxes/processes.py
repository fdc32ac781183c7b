"""The processes of a box: who they are, what they use, whether any of them is at work.

Two views. The box's own /proc, by the descriptor that its init passed out, lists exactly the box's processes and is cheap to read, but numbers them as
the box does. psutil reads the host's /proc, where pids are those of every other instrument.
"""

from __future__ import annotations

import os
import time

import psutil

from sandbox.model import ProcessFact

_INIT = "1"
_AT_WORK = frozenset(b"RD")


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


def processes_of(init: psutil.Process) -> list[psutil.Process]:
    """Every process of the box but its init. Orphans are init's children, so all of them descend from it."""
    try:
        return init.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


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


def memory_of(processes: list[psutil.Process]) -> int:
    """Bytes of memory that the processes hold, pages that they share with files or each other left out."""
    total = 0
    for process in processes:
        try:
            memory = process.memory_info()
        except psutil.NoSuchProcess:
            continue
        total += memory.rss - memory.shared
    return total


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
