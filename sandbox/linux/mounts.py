"""What is mounted below a folder, and how the folder is put together from its parts.

A layer of an overlay may not have mounts below it in a user namespace (they are locked together, and
overlayfs refuses the tree). A folder that has some is therefore taken apart: it becomes an empty folder into which
its parts are put one by one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class Parts:
    """Folders as one has to put them together, all paths absolute: ``layers`` as they are, ``folders`` (path,
    permission bits) that hold parts, ``links`` (path, target) and ``files`` between them."""

    layers: list[str] = field(default_factory=list)
    folders: list[tuple[str, int]] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    def add(self, path: str, mounts: Sequence[str]) -> None:
        """Add a folder: as one layer, or in parts when one of the mount points is below it."""
        if not any(mount.startswith(path + "/") for mount in mounts):
            self.layers.append(path)
            return
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
            self.folders.append((path, stat.S_IMODE(os.stat(path).st_mode)))
        except PermissionError:
            return
        for entry in entries:
            if entry.is_symlink():
                self.links.append((entry.path, os.readlink(entry.path)))
            elif entry.is_dir():
                self.add(entry.path, mounts)
            elif entry.is_file() and os.access(entry.path, os.R_OK):
                self.files.append(entry.path)


def mount_points() -> list[str]:
    """The mount points of this process's mount namespace (proc_pid_mountinfo(5), which escapes blanks in octal)."""
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    return [
        line.split()[4]
        .encode("utf-8", "surrogateescape")
        .decode("unicode_escape")
        .encode("latin-1")
        .decode("utf-8", "surrogateescape")
        for line in lines
    ]
