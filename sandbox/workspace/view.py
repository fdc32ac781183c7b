"""A folder to look around in, whether it is held as seeds or lies on this machine."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sandbox.model import SeedEntry


@dataclass(frozen=True, slots=True)
class View:
    """What lies in a workspace: regular files with their sizes in bytes, folders, and how to read a file.

    Paths are absolute in the box. ``read`` gives at most so many bytes of a file, fewer where it is shorter,
    none where it cannot be read.
    """

    files: Mapping[str, int]
    folders: Sequence[str]
    read: Callable[[str, int], bytes]


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a folder on this machine: its path relative to the folder, and what lstat(2) says."""

    relative: str
    facts: os.stat_result


def walk(folder: str, most: int) -> Iterator[Entry]:
    """Every entry below ``folder`` but links' targets, parents before children, by name; at most ``most``.

    Folders that cannot be listed are given as entries and not entered.
    """
    waiting = [""]
    while waiting and most > 0:
        relative = waiting.pop()
        try:
            with os.scandir(os.path.join(folder, relative)) as listing:
                names = sorted(entry.name for entry in listing)
        except OSError:
            continue
        below: list[str] = []
        for name in names[:most]:
            path = os.path.join(relative, name)
            try:
                facts = os.lstat(os.path.join(folder, path))
            except OSError:
                continue
            most -= 1
            yield Entry(path, facts)
            if stat.S_ISDIR(facts.st_mode):
                below.append(path)
        waiting.extend(reversed(below))


def read_file(path: str, most: int) -> bytes | None:
    """At most ``most`` bytes of a regular file; None where it is none, is a link, or may not be read."""
    try:
        # Non-blocking: what was a file when it was listed may be a FIFO by now.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        try:
            return file.read(most)
        except OSError:
            return None


def view_of_seeds(seeds: Sequence[SeedEntry]) -> View:
    """Look around in seeds. Names that are not valid text are left out."""
    contents = {seed.path: seed.content for seed in seeds if seed.kind == "file" and is_text(seed.path)}
    folders = [seed.path for seed in seeds if seed.kind == "dir" and is_text(seed.path)]
    return View(
        {path: len(content) for path, content in contents.items()},
        folders,
        lambda path, most: contents.get(path, b"")[:most],
    )


def view_of_folder(folder: str, at: str, most: int) -> View:
    """Look around in a folder of this machine that the box shows at ``at``; at most ``most`` entries are seen."""
    files: dict[str, int] = {}
    folders = [at]
    for entry in walk(folder, most):
        path = f"{at}/{entry.relative}"
        if not is_text(path):
            continue
        if stat.S_ISREG(entry.facts.st_mode):
            files[path] = entry.facts.st_size
        elif stat.S_ISDIR(entry.facts.st_mode):
            folders.append(path)
    return View(files, folders, lambda path, most: read_file(folder + path.removeprefix(at), most) or b"")


def is_text(path: str) -> bool:
    """Whether a path can stand in a JSON text and on a line: valid UTF-8 without control characters."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return not any(character < " " for character in path)
