"""What is put into a box."""

from __future__ import annotations

from dataclasses import dataclass

HOME = "/home/user"
"""The home folder of the server's user, fresh in every box."""


@dataclass(frozen=True, slots=True)
class SeedEntry:
    """One entry that is written into a box before its server starts, owned by the server's user.

    ``path`` is absolute in the box; ``kind`` is ``dir``, ``file`` or ``symlink``; ``mode`` the permission
    bits; ``content`` the bytes of a file; ``target`` where a symlink points; ``mtime`` seconds since the
    epoch.
    """

    path: str
    kind: str
    mode: int = 0o644
    content: bytes = b""
    target: str = ""
    mtime: float = 1_700_000_000.0


@dataclass(frozen=True, slots=True)
class ImageRoot:
    """An image's root file system, unpacked: the lower layer of a box's root, of which nothing is changed.

    ``path`` is an absolute folder where the engine runs. ``user`` and ``group`` are the ids that the server has
    inside, ``home`` is its HOME there, made where the image has none.
    """

    path: str
    user: int = 0
    group: int = 0
    home: str = "/"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a box may use: memory of all its processes together (MiB), processes and threads, the size of one
    file (MiB), the scratch on which all its files lie (MiB, a tmpfs), and open files per process.

    The defaults let the real servers and their tools (node, git, pip) run; no more than a few of them fit a
    small machine.
    """

    memory_mb: int = 2048
    processes: int = 512
    file_mb: int = 256
    disk_mb: int = 512
    open_files: int = 4096
