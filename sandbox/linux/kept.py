"""Folders that are kept from one run to the next: whose they are at the moment, and how one is removed.

A lock file stands for a folder. Who uses the folder holds the lock with others, who makes or removes it holds it
alone; the kernel ends a lock with its process.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

SHARED = fcntl.LOCK_SH
ALONE = fcntl.LOCK_EX
"""How a lock is held: with others that use the folder, or alone."""

UNFINISHED = ".unfinished"
"""How the name of a folder ends that nobody may take for whole: not made to its end, or being removed."""


def lock_of(folder: Path, name: str) -> Path:
    """The lock file that stands for ``name`` in ``folder``."""
    return folder / f"{name}.lock"


@contextmanager
def locked(path: Path, how: int, wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold a lock file, waiting for whoever has it; ``wait`` is called once before that."""
    while True:
        lock = _open_lock(path)
        try:
            try:
                fcntl.flock(lock, how | fcntl.LOCK_NB)
            except BlockingIOError:
                wait()
                fcntl.flock(lock, how)
            if _is_still(path, lock):
                yield
                return
        finally:
            os.close(lock)


@contextmanager
def free(path: Path) -> Iterator[bool]:
    """Hold a lock file alone for the length of the block, if nobody else has it: that is what is told."""
    lock = _open_lock(path)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            alone = False
        else:
            alone = _is_still(path, lock)
        yield alone
    finally:
        os.close(lock)


def whole(folder: Path, manifest: str) -> list[Path]:
    """The files called ``manifest`` of all that is kept in ``folder`` and whole."""
    return [path for path in folder.glob(f"*/{manifest}") if path.parent.suffix != UNFINISHED]


def drop(folder: Path, name: str) -> bool:
    """Remove ``name`` from ``folder``, with its lock file, unless somebody uses it; whether it is gone."""
    lock = lock_of(folder, name)
    with free(lock) as alone:
        if alone:
            remove_whole(folder, name)
            lock.unlink(missing_ok=True)
    return alone


def remove_whole(folder: Path, name: str) -> None:
    """Remove ``name`` from ``folder``, if it is there. Its lock is the caller's."""
    # The name first: what is half removed, by a process that was killed, must not be taken for whole.
    doomed = folder / f"{uuid4().hex}{UNFINISHED}"
    with suppress(FileNotFoundError):
        os.rename(folder / name, doomed)
        remove(doomed)


def remove(place: Path) -> None:
    """Remove a folder with all that is in it, whatever the permissions of its folders are. No link is followed."""
    if not place.exists():
        return
    os.chmod(place, 0o700)
    opened = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _empty(opened)
    finally:
        os.close(opened)
    place.rmdir()


def _open_lock(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def _is_still(path: Path, lock: int) -> bool:
    """Whether a lock file was not removed, or made anew, before it was locked."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(lock))
    except FileNotFoundError:
        return False


def _empty(folder: int) -> None:
    for name in os.listdir(folder):
        if not stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=folder)
            continue
        os.chmod(name, 0o700, dir_fd=folder)
        opened = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        try:
            _empty(opened)
        finally:
            os.close(opened)
        os.rmdir(name, dir_fd=folder)
