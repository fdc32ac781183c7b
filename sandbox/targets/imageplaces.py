"""Where in an image's file system a server works: its home, what the user mounts there, and its workspace.

Everything is placed at real paths: a seed below a symlink of the image would put a folder over the symlink.
"""

from __future__ import annotations

import dataclasses
import os
import posixpath
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.errors import ImageError, TargetNotFoundError, UsageError
from sandbox.linux.links import follow
from sandbox.model import HOME, SeedEntry
from sandbox.targets.boundaries import absolute, refuse_wide, too_wide, trace
from sandbox.targets.launch import WorkspacePlace
from sandbox.targets.mounts import Mount
from sandbox.targets.owncode import copy, folder_entry
from sandbox.targets.places import named_paths

_OURS = ("/proc", "/sys", "/dev")
"""What every box has of its own."""

_NO_HOMES = frozenset({"/", "/nonexistent", "/var/empty"})
"""Homes of accounts that have none, by the customs of distributions."""

_DEEPEST, _LONGEST_NAME = 256, 255
"""Folders in each other, as many as an image may bring; and the bytes of a name (NAME_MAX)."""

_SHOWN = 100

_WORKSPACES = ("workspace", "hintproof-workspace")


@dataclass(frozen=True, slots=True)
class ImageFiles:
    """An unpacked image to look around in; ``root`` is its folder on this machine."""

    root: str

    def real(self, path: str) -> str:
        """Where an absolute path of the image leads. Raises ImageError for a circle of symlinks, and for a path that
        no box can have."""
        try:
            real = follow(path, self.root)[0]
        except OSError as error:
            raise ImageError(f"{path!r} in the image: its symlinks lead in a circle.") from error
        parts = os.fsencode(real).split(b"/")
        if len(parts) > _DEEPEST or any(len(part) > _LONGEST_NAME for part in parts):
            raise ImageError(f"{path[:_SHOWN]!r}... in the image: no folder can have so long a path.")
        return real

    def facts(self, real: str) -> os.stat_result | None:
        """The attributes of what lies at a real path; None where nothing does, or nothing that the user may see."""
        try:
            return os.lstat(self.root + real)
        except OSError:
            return None

    def has(self, real: str) -> bool:
        """Whether something lies at a real path."""
        return self.facts(real) is not None

    def is_folder(self, real: str) -> bool:
        """Whether a folder lies at a real path."""
        facts = self.facts(real)
        return facts is not None and stat.S_ISDIR(facts.st_mode)

    def is_bare(self, real: str) -> bool:
        """Whether nothing lies at a real path, or an empty folder."""
        if not self.is_folder(real):
            return not self.has(real)
        try:
            return not os.listdir(self.root + real)
        except PermissionError:
            return False

    def beside(self, seeds: Sequence[SeedEntry]) -> tuple[SeedEntry, ...]:
        """Those seeds that neither replace nor hide anything of the image."""
        kept = []
        for seed in seeds:
            above = posixpath.dirname(seed.path)
            while not self.has(above):
                above = posixpath.dirname(above)
            if not self.has(seed.path) and self.is_folder(above):
                kept.append(seed)
        return tuple(kept)


@dataclass(slots=True)
class Places:
    """What is put into an image's box. ``mounts`` are folders of the host and where the box shows them."""

    workspace: WorkspacePlace | None = None
    seeds: list[SeedEntry] = field(default_factory=list)
    mounts: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def home_in(files: ImageFiles, named: str) -> tuple[str, bool]:
    """The server's home in the box, and whether it is the one that the image names.

    An image whose user has none, or the root folder, gets a home of its own: nothing of the image is hidden, and
    a server that writes there does no more than it would with a home.
    """
    if named.startswith("/"):
        real = files.real(posixpath.normpath(named))
        usable = files.is_folder(real) or not files.has(real)
        if usable and real not in _NO_HOMES and not _is_ours(real):
            return real, True
    return files.real(HOME), False


def place_mounts(
    files: ImageFiles,
    mounts: Sequence[Mount],
    *,
    asked: Path | None,
    empty: str,
    cwd: Path,
    environ: Mapping[str, str],
) -> Places:
    """Place what the user mounts; one of the folders is the workspace.

    ``asked`` is the ``--workspace`` folder, which wins; then come the first folder that may be written, a file,
    a volume without content, and a folder mounted read-only. Folders that begin with a dot (``~/.aws``) are
    given to servers for other reasons. ``empty`` is an empty folder of this machine, which hides what an image
    has where something is mounted.

    Raises TargetNotFoundError for a ``--mount`` of what is not there, UsageError for a workspace that is too
    wide.
    """
    places = Places()
    if asked is not None:
        source = absolute(asked, cwd)
        if not source.is_dir():
            raise UsageError(f"--workspace {asked}: there is no such folder.")
        refuse_wide(source.resolve(), environ, "--workspace")
        at = next((mount.target for mount in mounts if mount.source == str(source)), str(trace(source)[0]))
        places.workspace = WorkspacePlace(files.real(at), source)
    ranked: list[tuple[int, WorkspacePlace]] = []
    for mount in mounts:
        placed = dataclasses.replace(mount, target=files.real(mount.target))
        if _is_ours(placed.target):
            places.notes.append(f"{mount.target} is not mounted: every box has its own.")
        elif mount.source:
            ranked += _place_bind(files, placed, places, empty, environ)
        else:
            ranked += _place_new(files, placed, places, empty)
    if places.workspace is None and ranked:
        places.workspace = min(ranked, key=lambda one: one[0])[1]
    if places.workspace is not None:
        _leave_to_workspace(places, places.workspace)
    return places


def _place_bind(
    files: ImageFiles, mount: Mount, places: Places, empty: str, environ: Mapping[str, str]
) -> list[tuple[int, WorkspacePlace]]:
    """Place a copy of a file or folder of the host; returns it, ranked, where it could be the workspace."""
    source = trace(Path(mount.source))[0]
    hidden = source.name.startswith(".")
    if not os.path.lexists(source):
        if mount.must_exist:
            raise TargetNotFoundError(f"--mount {mount.source}: there is no such file or folder.")
        places.notes.append(f"{mount.source} does not exist; the server finds an empty folder there.")
        return _place_new(files, mount, places, empty)
    if source.is_dir() and too_wide(source, environ):
        places.notes.append(f"{mount.source} is not copied: a folder that wide stays outside of the box.")
        return _place_new(files, mount, places, empty)
    if mount.read_only:
        places.notes.append(
            f"{mount.target} is a copy, which the server may change although it was asked for as read-only."
        )
    if source.is_dir() and not files.is_bare(mount.target):
        places.mounts.append((empty, mount.target))
    found = copy(source)
    if found is None:
        if not source.is_dir():
            places.notes.append(f"{mount.source} is left out: it is too large to be copied.")
            return []
        places.mounts = [(folder, at) for folder, at in places.mounts if at != mount.target]
        places.mounts.append((str(source), mount.target))
        places.seeds.append(folder_entry(Path(mount.target)))
    else:
        cut = len(str(source))
        places.seeds += [
            dataclasses.replace(entry, path=mount.target + entry.path[cut:]) for entry in found.entries
        ]
    if hidden:
        return []
    if source.is_file() and not files.is_bare(posixpath.dirname(mount.target)):
        return []  # the samples would lie among the image's own files
    rank = (3 if mount.read_only else 0) if source.is_dir() else 1
    return [(rank, WorkspacePlace(mount.target, source))]


def _place_new(
    files: ImageFiles, mount: Mount, places: Places, empty: str
) -> list[tuple[int, WorkspacePlace]]:
    """Place a volume, which begins with what the image has there, or a tmpfs, which hides that."""
    bare = files.is_bare(mount.target)
    if mount.scratch or mount.source:
        if not bare:
            places.mounts.append((empty, mount.target))
        places.seeds.append(folder_entry(Path(mount.target)))
    elif not files.has(mount.target):
        places.seeds.append(folder_entry(Path(mount.target)))
    return [] if mount.scratch or not (bare or mount.source) else [(2, WorkspacePlace(mount.target))]


def _leave_to_workspace(places: Places, workspace: WorkspacePlace) -> None:
    """Take out what furnishing the workspace will place itself."""
    if workspace.source is None:
        return
    inside = f"{workspace.at}/"
    places.seeds = [
        seed for seed in places.seeds if seed.path != workspace.at and not seed.path.startswith(inside)
    ]
    source = str(trace(workspace.source)[0])
    places.mounts = [mount for mount in places.mounts if mount != (source, workspace.at)]


def named_mounts(
    files: ImageFiles, words: Sequence[str], variables: Mapping[str, str], cwd: Path
) -> list[Mount]:
    """What arguments name by absolute path on the host, as mounts at the same path, unless the image has it."""
    found = named_paths(words, variables, cwd)
    return [
        Mount(str(one.path), str(one.path))
        for one in found
        if not one.relative and not one.missing and not files.has(files.real(str(one.path)))
    ]


def default_workspace(files: ImageFiles, words: Sequence[str], home: str) -> WorkspacePlace:
    """The workspace of a server that was given none: an empty folder of the image that an argument names, else a
    new folder in its home."""
    for word in words:
        if word.startswith("/") and "\0" not in word:
            real = files.real(posixpath.normpath(word))
            if files.is_folder(real) and files.is_bare(real) and not _is_ours(real):
                return WorkspacePlace(real)
    free = (name for name in _WORKSPACES if not files.has(f"{home}/{name}"))
    return WorkspacePlace(f"{home}/{next(free, _WORKSPACES[-1])}")


def _is_ours(path: str) -> bool:
    return any(path == ours or path.startswith(f"{ours}/") for ours in _OURS)
