"""From the paths that a container is to see to the binds that show them there, at the same paths as here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sandbox.errors import UsageError
from sandbox.hosts.job import Job

_THE_CONTAINERS_OWN = tuple("/proc /sys /dev /usr /bin /sbin /lib /lib32 /lib64 /libx32".split())
"""Nothing of this machine is put there: a box shows the system's folders of the place that it is made in."""

_HOPS = 40
"""As many symbolic links as the kernel follows in one path (path_resolution(7))."""


@dataclass(frozen=True, slots=True)
class Bind:
    """A file or folder of this machine that the container sees, read-only. Both paths are absolute."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class View:
    """What a container sees of this machine: ``binds``, none inside another, and ``folders`` that are there, but
    empty."""

    binds: tuple[Bind, ...]
    folders: tuple[str, ...] = ()

    def shows(self, path: str) -> bool:
        """Whether the container sees what is at a path here."""
        return any(_covers(bind.target, path) for bind in self.binds)


@dataclass(frozen=True, slots=True)
class Sight:
    """One job as it is told to the engine in a container, and what the container sees for it.

    ``if_missing`` and ``if_it_fails`` say to people why a target may be missing in there, or its server not
    start, although it is on this machine; "" where the container has the same.
    """

    job: Job
    view: View
    if_missing: str = ""
    if_it_fails: str = ""


def arrange(shown: Iterable[str], standing: Iterable[str] = ()) -> View:
    """Show files and folders under every name that leads to them here; of ``standing`` folders only that they
    are there.

    A container has none of this machine's symbolic links but those inside what it is shown. So a path that
    leads through others is shown twice, at its real place and as it was named.

    Raises:
        UsageError: a path goes in a circle, or has a name that no container can be told.
    """
    binds: list[Bind] = []
    for path in shown:
        real = os.path.realpath(path)
        names = [name for name in _names(path) if not _is_the_containers(name)]
        if os.path.exists(real):
            binds += [Bind(real, name) for name in names]
    return outermost(
        binds, (name for path in standing for name in _names(path) if not _is_the_containers(name))
    )


def outermost(binds: Iterable[Bind], standing: Iterable[str]) -> View:
    """The binds that are inside no other, and the standing folders that they do not bring about."""
    sources = {bind.target: bind.source for bind in binds}
    kept: list[str] = []
    for name in sorted(sources):  # an outer folder comes before what is in it
        if not any(_covers(outer, name) for outer in kept):
            kept.append(name)
    folders: list[str] = []
    for name in sorted(set(standing) - {"/"}, reverse=True):  # an inner folder brings about the outer ones
        stands = any(_covers(name, inner) for inner in (*kept, *folders))
        if not stands and not any(_covers(outer, name) for outer in kept):
            folders.append(name)
    return View(tuple(Bind(sources[name], name) for name in kept), tuple(folders))


def _names(path: str) -> Iterator[str]:
    """An absolute path as it is written, and again after each symbolic link on the way."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{path!r} cannot be shown to a container: its name is not UTF-8. Rename it, or use --host local."
        ) from error
    yield path
    for _ in range(_HOPS):
        link = _first_link(path)
        if link is None:
            return
        path = os.path.normpath(os.path.join(os.path.dirname(link), os.readlink(link) + path[len(link) :]))
        yield path
    raise UsageError(f"{path}: symbolic links lead in a circle.")


def _first_link(path: str) -> str | None:
    at = 0
    while at >= 0:
        at = path.find("/", at + 1)
        part = path if at < 0 else path[:at]
        if os.path.islink(part):
            return part
    return None


def _is_the_containers(path: str) -> bool:
    return any(_covers(folder, path) for folder in _THE_CONTAINERS_OWN)


def _covers(folder: str, path: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")
