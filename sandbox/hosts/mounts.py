"""From the paths that a container is to see to the binds that show them there, at the same paths as here."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sandbox.errors import UsageError
from sandbox.hosts.job import Job

_THE_CONTAINERS_OWN = tuple("/proc /sys /dev /usr /bin /sbin /lib /lib32 /lib64 /libx32".split())
"""Nothing of this machine is put there: a box shows the system's folders of the place that it is made in."""

_MOST_NAMES = 64
"""Of one path: links that lead above themselves would give it names without end."""

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
    """Show files and folders at their real places and under every name that a link on the way gives them; of
    ``standing`` folders only that they are there.

    A container has none of this machine's symbolic links but those inside what it is shown, so what one of the
    others leads to is shown a second time in its place.

    Raises:
        UsageError: a path goes in a circle, or has a name that no container can be told.
    """
    shown, standing = list(shown), list(standing)
    links: dict[str, str] = {}
    for path in (*shown, *standing):
        links |= _links(path)
    paths = (path for path in map(os.path.realpath, shown) if os.path.exists(path))
    binds = (Bind(path, name) for path in paths for name in _names(path, links))
    return outermost(binds, (name for path in standing for name in _names(os.path.realpath(path), links)))


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


def _links(path: str) -> dict[str, str]:
    """The symbolic links on the way of an absolute path, and where each one leads in the end."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"{path!r} cannot be shown to a container: its name is not UTF-8. Rename it, or use --host local."
        ) from error
    links: dict[str, str] = {}
    for _ in range(_HOPS):
        link = _first_link(path)
        if link is None:
            return links
        links[link] = os.path.realpath(link)
        path = os.path.normpath(os.path.join(os.path.dirname(link), os.readlink(link) + path[len(link) :]))
    raise UsageError(f"{path}: symbolic links lead in a circle.")


def _names(path: str, links: Mapping[str, str]) -> set[str]:
    """A real path, and the names that it has through links, but those in folders that are the container's own."""
    names: set[str] = set()
    waiting = [path]
    while waiting:
        name = waiting.pop()
        if name in names or len(names) >= _MOST_NAMES:
            continue
        names.add(name)
        waiting += [link + name[len(real) :] for link, real in links.items() if _covers(real, name)]
    return {name for name in names if not _is_the_containers(name)}


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
