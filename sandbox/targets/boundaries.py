"""Which host folders may be shown to a server at all, and the tidy set of those that are.

Every box has the system folders already. Homes, temporary folders and the roots of the machine are never
shown whole: a server's runtime lives in a folder below them, or only that one file is shown.
"""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from sandbox.errors import UsageError
from sandbox.linux.base import SYSTEM_FOLDERS
from sandbox.linux.links import follow
from sandbox.model import SeedEntry

SYSTEM = tuple(map(Path, SYSTEM_FOLDERS))
"""Folders that are in every box (design, "The box's walls")."""

_MADE_BY_THE_BOX = tuple(map(Path, ("/etc", "/proc", "/sys", "/dev", "/run", "/boot")))

_WIDE = frozenset(
    map(
        Path,
        ("/", "/home", "/root", "/tmp", "/var", "/var/tmp", "/var/lib", "/opt", "/srv", "/mnt", "/media"),
    )
)


def in_system(path: Path) -> bool:
    """Whether every box has this path already."""
    return any(path == folder or folder in path.parents for folder in SYSTEM)


def made_by_the_box(path: Path) -> bool:
    """Whether the path lies in a tree that the box fills itself (/etc, /proc, /dev, ...)."""
    return any(path == folder or folder in path.parents for folder in _MADE_BY_THE_BOX)


def is_home(path: Path, environ: Mapping[str, str]) -> bool:
    """Whether the path is somebody's home folder, of this user or of another."""
    return path in _own_homes(environ) or path.parent == Path("/home") or path == Path("/root")


def too_wide(path: Path, environ: Mapping[str, str]) -> bool:
    """Whether showing the whole folder would show a home, a temporary folder or the machine."""
    if path in _WIDE or path in _MADE_BY_THE_BOX or is_home(path, environ):
        return True
    return any(path in home.parents for home in _own_homes(environ))


def refuse_wide(path: Path, environ: Mapping[str, str], asked_by: str) -> None:
    """Raise UsageError when the user asks for a folder that is never shown whole."""
    if too_wide(path, environ):
        what = "a home folder" if is_home(path, environ) else "a folder of the whole machine"
        raise UsageError(
            f"{asked_by} {path}: {what} is never shown to a server as a whole. "
            "Name the folder below it that the server needs."
        )


def outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The paths without those that every box has and without those inside another one, sorted."""
    kept: list[Path] = []
    for path in sorted({path for path in paths if not in_system(path)}):
        if not any(above == path or above in path.parents for above in kept):
            kept.append(path)
    return tuple(kept)


def covered(path: Path, exposures: Iterable[Path]) -> bool:
    """Whether the path is in the box through a system folder or one of the exposures."""
    return in_system(path) or any(path == shown or shown in path.parents for shown in exposures)


def trace(path: Path) -> tuple[Path, tuple[SeedEntry, ...]]:
    """Follow every symbolic link of an absolute path, in folders too.

    Returns the real path and one ``symlink`` seed for each link on the way, so that the box can lead the
    same way there. What does not exist is followed as far as it goes. Raises UsageError on a loop.
    """
    try:
        real, links = follow(str(path))
    except OSError as error:
        raise UsageError(f"{path}: symbolic links lead in a circle.") from error
    seeds = (
        SeedEntry(link, "symlink", 0o777, target=target)
        for link, target in links.items()
        if not in_system(Path(link))
    )
    return Path(real), tuple(seeds)


def absolute(word: str | Path, cwd: Path) -> Path:
    """The path a process in ``cwd`` means by a word, ``.`` and ``..`` folded, links kept."""
    return Path(os.path.normpath(cwd / word))


def _own_homes(environ: Mapping[str, str]) -> frozenset[Path]:
    named = environ.get("HOME", "")
    homes = {Path(named)} if named.startswith("/") else set()
    with suppress(KeyError):  # a container may run as a uid that has no account
        homes.add(Path(pwd.getpwuid(os.geteuid()).pw_dir))
    return frozenset(homes | {home.resolve() for home in homes})
