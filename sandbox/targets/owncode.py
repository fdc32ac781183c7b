"""The server's own code as seeds: copied into the box, so that a server may write beside its own files."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.model import SeedEntry
from sandbox.targets.boundaries import in_system, too_wide, trace

SEED_FILES = 500
SEED_BYTES = 32 * 1024 * 1024
"""Up to these a folder is copied; a larger one is a read-through lower layer (design, "The box's walls")."""

_SEED_ENTRIES = 4 * SEED_FILES
"""Files and folders together: a tree of empty folders is no small project either."""

_LEFT_OUT = frozenset({"node_modules", ".venv", "venv", ".git", "__pycache__", ".hintproof", ".tox", ".nox"})

_FOREIGN_MARKS = ("CACHEDIR.TAG", "pyvenv.cfg")

_PROJECT_MARKS = ("pyproject.toml", "package.json", "setup.py", "Cargo.toml", "go.mod", "Gemfile", ".git")


@dataclass(frozen=True, slots=True)
class OwnCode:
    """The server's own code in the box: ``seeds`` to write, ``shown`` as lower layers, sentences for the report."""

    seeds: tuple[SeedEntry, ...] = ()
    shown: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Copy:
    """A folder or file read into memory, and the paths that could not be read."""

    entries: tuple[SeedEntry, ...]
    unreadable: tuple[str, ...] = ()


def project_of(path: Path) -> Path | None:
    """The nearest folder above a file that marks a project of its own, or None."""
    return next(
        (folder for folder in path.parents if any(os.path.exists(folder / mark) for mark in _PROJECT_MARKS)),
        None,
    )


def code_folder(script: Path, environ: Mapping[str, str]) -> Path:
    """The folder of a script's own code: its project, or where that is none or a home, the script's folder."""
    project = project_of(script)
    return script.parent if project is None or too_wide(project, environ) else project


def own_code(
    folder: Path, script: Path | None, *, skip: Collection[Path], environ: Mapping[str, str]
) -> OwnCode:
    """The code in a folder as seeds; of a folder over the bounds the script's part, and the rest as a lower
    layer.

    Of a folder that is too wide, or too large and no project, only the script itself is copied.
    """
    own = trace(folder)[0]
    if in_system(own):
        return OwnCode()
    wide = too_wide(own, environ)
    found = None if wide else copy(own, skip=skip)
    if found is not None:
        unread = f"Not readable, so not in the box: {', '.join(found.unreadable[:5])}."
        return OwnCode(found.entries, notes=(unread,) if found.unreadable else ())
    real = script.resolve() if script is not None else None
    if wide or project_of(own / "file") != own:
        alone = copy(real) if real is not None and real.is_file() else None
        name = real.name if real is not None and alone is not None else "nothing"
        note = f"Of {own} {name} is shown: it is no project of a bounded size. Use --expose for more."
        return OwnCode(alone.entries if alone is not None else (), notes=(note,))
    near = real.parent if real is not None and own in real.parents else own
    part = copy(near, skip=skip) if near != own else None
    seeds = (folder_entry(own), *(part.entries if part is not None else [folder_entry(near)]))
    note = f"{own} is too large to be copied: the server can add files there, and may be refused to change old ones."
    return OwnCode(seeds, (own,), (note,))


def copy(path: Path, *, skip: Collection[Path] = ()) -> Copy | None:
    """Read a file or folder as seeds, symbolic links as links; None when it is over the bounds.

    Left out: ``skip`` and what is below it, installed packages, version control, caches (a folder with a
    CACHEDIR.TAG), other virtual environments, sockets, pipes and devices.
    """
    entries: list[SeedEntry] = []
    unreadable: list[str] = []
    room = SEED_BYTES
    files = 0
    for found in _walk(path, frozenset(skip)):
        try:
            entry = _read(found, room)
        except OSError:
            unreadable.append(str(found))
            continue
        if entry is None:
            continue
        entries.append(entry)
        room -= len(entry.content)
        files += entry.kind != "dir"
        if room < 0 or files > SEED_FILES or len(entries) > _SEED_ENTRIES:
            return None
    return Copy(tuple(entries), tuple(unreadable))


def folder_entry(path: Path) -> SeedEntry:
    """The folder alone, owned by the server: over an exposure it makes the folder writable and hides nothing."""
    return SeedEntry(str(path), "dir", 0o755)


def _walk(path: Path, skip: frozenset[Path]) -> Iterator[Path]:
    waiting = [path]
    while waiting:
        found = waiting.pop()
        yield found
        try:
            if found.is_symlink() or not found.is_dir():
                continue
            children = sorted(found.iterdir(), reverse=True)
        except OSError:  # the caller meets the same error when it reads the entry and notes it
            continue
        waiting += [
            child
            for child in children
            if child not in skip
            and child.name not in _LEFT_OUT
            and not any(os.path.exists(child / mark) for mark in _FOREIGN_MARKS)
        ]


def _read(path: Path, room: int) -> SeedEntry | None:
    status = path.lstat()
    mode = stat.S_IMODE(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        return SeedEntry(str(path), "symlink", mode, target=os.readlink(path), mtime=status.st_mtime)
    if stat.S_ISDIR(status.st_mode):
        os.scandir(path).close()
        return SeedEntry(str(path), "dir", mode, mtime=status.st_mtime)
    if not stat.S_ISREG(status.st_mode):
        return None
    with path.open("rb") as file:
        content = file.read(room + 1)
    return SeedEntry(str(path), "file", mode, content, mtime=status.st_mtime)
