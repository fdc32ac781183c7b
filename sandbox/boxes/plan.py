"""What a box is made of, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox.model import SeedEntry

HOME = "/home/user"
"""The server's home folder, fresh in every box, unless the plan names another one."""


@dataclass(frozen=True, slots=True)
class Exposure:
    """A file or folder of the host that the box sees at the same path.

    A folder is a lower layer: what the server changes there stays in the box. A file is copied in. One that does not
    exist is left out.
    """

    path: str


@dataclass(frozen=True, slots=True)
class Limits:
    """What a box may use: memory of all its processes together (MiB), processes and threads, the size of one file (MiB), the
    scratch on which all its files lie (MiB, a tmpfs), and open files per process.

    The defaults let the real servers and their tools (node, git, pip) run; no more than a few of them fit a small machine.
    """

    memory_mb: int = 2048
    processes: int = 512
    file_mb: int = 256
    disk_mb: int = 512
    open_files: int = 4096


@dataclass(frozen=True, slots=True)
class BoxPlan:
    """One box to launch. Paths are absolute and mean the same on the host and in the box.

    ``env`` is all that the server's environment holds beside HOME, USER, LOGNAME, SHELL, PATH and LANG, which it may override.
    ``canaries`` are paths of seeds whose opening is watched. ``stdout_is_log`` says that the server is not spoken to over its
    pipes: what it writes to stdout is kept with its stderr.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = HOME
    exposures: tuple[Exposure, ...] = ()
    seeds: tuple[SeedEntry, ...] = ()
    home: str = HOME
    canaries: tuple[str, ...] = ()
    limits: Limits = Limits()
    stdout_is_log: bool = False
