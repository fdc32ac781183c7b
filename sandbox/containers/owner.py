"""Which process a container belongs to, and whether that process is still alive.

A container's labels name its owner by machine, boot, pid namespace, pid and start time. A container is
removed only when its owner is certainly gone: another boot of the same machine, or a process that this one
would see and does not.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

_PREFIX = "hintproof.owner."


@dataclass(frozen=True, slots=True)
class Owner:
    """A process of one boot of one machine.

    boot: this boot's id, empty on systems that have none. space: the pid namespace in which pid means this
    process, empty where there are no such namespaces. started: when, in a form that no change of the clock changes.
    """

    machine: str
    boot: str
    space: str
    pid: int
    started: str

    def labels(self) -> dict[str, str]:
        """The owner as labels of a container."""
        return {
            f"{_PREFIX}machine": self.machine,
            f"{_PREFIX}boot": self.boot,
            f"{_PREFIX}space": self.space,
            f"{_PREFIX}pid": str(self.pid),
            f"{_PREFIX}started": self.started,
        }


def this_process() -> Owner:
    """This process as the owner of what it starts."""
    process = psutil.Process()
    return Owner(_machine(), _boot(), _space(), process.pid, _started(process))


def machine_label() -> str:
    """The label, with its value, that every container of this machine has; for Docker's filter."""
    return f"{_PREFIX}machine={_machine()}"


def is_gone(labels: Mapping[str, str]) -> bool:
    """Whether a container's owner is certainly gone; of another machine's owners nothing is certain."""
    if labels.get(f"{_PREFIX}machine") != _machine():
        return False
    if labels.get(f"{_PREFIX}boot") != _boot():
        return True
    pid = labels.get(f"{_PREFIX}pid", "")
    if labels.get(f"{_PREFIX}space") != _space() or not pid.isdecimal():
        return False
    try:
        process = psutil.Process(int(pid))
        is_over = process.status() == psutil.STATUS_ZOMBIE
        return is_over or _started(process) != labels.get(f"{_PREFIX}started")
    except psutil.NoSuchProcess:
        return True
    except psutil.AccessDenied:  # somebody is alive under that number
        return False


def _started(process: psutil.Process) -> str:
    """When a process started: ticks since the boot on Linux, where psutil's time moves with the clock."""
    if sys.platform != "linux":
        return f"{process.create_time():.2f}"
    try:
        stat = Path(f"/proc/{process.pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError) as error:
        raise psutil.NoSuchProcess(process.pid) from error
    return stat.rpartition(b")")[2].split()[19].decode("ascii")  # proc_pid_stat(5): field 22


def _machine() -> str:
    """This machine, without giving its id away: labels are for everybody to read. Two systems on one machine, such as
    Windows and the Linux beside it, count as two: neither knows the other's processes."""
    try:
        name = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:  # another system, or a container
        name = ""
    return hashlib.sha256(f"hintproof {sys.platform} {name or platform.node()}".encode()).hexdigest()[:16]


def _boot() -> str:
    if sys.platform != "linux":
        return ""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _space() -> str:
    return os.readlink("/proc/self/ns/pid") if sys.platform == "linux" else ""
