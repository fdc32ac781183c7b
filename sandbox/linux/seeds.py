"""Seeds: entries that are written into a box before its server starts.

A set of seeds is packed once, kept in the daemon's memory, and written by each box into the upper layers of
its own overlays before they are mounted; so what a server finds there it may also rename, which overlayfs
refuses for folders of a lower layer.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sandbox.model import SeedEntry

_LENGTH = struct.Struct("=Q")


def pack(entries: Sequence[SeedEntry]) -> tuple[str, bytes]:
    """A name for the set (a digest of all that it holds) and its packed form."""
    header = [[e.path, e.kind, e.mode, len(e.content), e.target, e.mtime] for e in entries]
    text = json.dumps(header).encode()
    packed = b"".join((_LENGTH.pack(len(text)), text, *(entry.content for entry in entries)))
    return hashlib.blake2b(packed, digest_size=16).hexdigest(), packed


def unpack(packed: bytes) -> tuple[SeedEntry, ...]:
    """Read what :func:`pack` wrote."""
    (length,) = _LENGTH.unpack_from(packed)
    offset = _LENGTH.size + length
    entries = []
    for path, kind, mode, size, target, mtime in json.loads(packed[_LENGTH.size : offset]):
        entries.append(SeedEntry(path, kind, mode, packed[offset : offset + size], target, mtime))
        offset += size
    return tuple(entries)


def total_size(entries: Iterable[SeedEntry]) -> int:
    """Bytes of all contents."""
    return sum(len(entry.content) for entry in entries)


@dataclass(frozen=True, slots=True)
class Place:
    """An upper layer that is being filled: where it appears in the box, its folder, and the folder below it."""

    prefix: str
    upper: str
    lower: str


class Planter:
    """Writes entries, owned by ``owner`` (user, group), into upper layers that no server can see yet.

    A folder that an entry needs and that is not there gets the mode and owner of the same folder in the lower
    layer; where there is none, its parent's owner, who may write to it if the parent was open to that. No
    symlink of a lower layer is followed: a folder that is made covers it.
    """

    def __init__(self, places: Sequence[Place], owner: tuple[int, int]) -> None:
        self._owner = owner
        self._places = sorted(places, key=lambda place: len(place.prefix), reverse=True)
        self._folders: dict[str, str] = {}
        self._lowers: dict[str, str] = {}
        self._times: list[tuple[str, float]] = []

    def plant(self, entry: SeedEntry) -> None:
        """Write one entry. Raises OSError, and ValueError for an unknown kind."""
        if entry.kind == "dir":
            self.folder(entry.path, entry.mode, self._owner)
            self._times.append((self._folders[entry.path], entry.mtime))
            return
        target = self._prepare(entry.path)
        match entry.kind:
            case "file":
                _write(target, entry.content, entry.mode, self._owner, entry.mtime)
            case "symlink":
                os.symlink(entry.target, target)
                os.chown(target, *self._owner, follow_symlinks=False)
                os.utime(target, (entry.mtime, entry.mtime), follow_symlinks=False)
            case _:
                raise ValueError(f"no kind of seed: {entry.kind}")

    def folder(self, path: str, mode: int, owner: tuple[int, int]) -> None:
        """Make a folder, or change the one that is there."""
        target = self._folder(path, like_lower=False)
        os.chown(target, *owner)
        os.chmod(target, mode)

    def has_below(self, path: str) -> bool:
        """Whether a lower layer has a folder there."""
        return self._lower(path) != ""

    def write(self, path: str, content: bytes, mode: int, owner: tuple[int, int]) -> None:
        """Write a file that is not of the seeds."""
        _write(self._prepare(path), content, mode, owner)

    def mount_point(self, path: str) -> None:
        """Make sure that there is a folder to mount something on."""
        self._folder(path)

    def link(self, path: str, target: str) -> None:
        """Make a symlink that belongs to the system, not to the server."""
        os.symlink(target, self._prepare(path))

    def copy(self, path: str, source: int) -> None:
        """Copy an opened regular file of the host, permissions included."""
        facts = os.fstat(source)
        target = self._prepare(path)
        copied = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            while os.sendfile(copied, source, None, 1 << 30):
                continue
            os.fchmod(copied, stat.S_IMODE(facts.st_mode))
            os.fchown(copied, *self._owner)
            os.utime(copied, ns=(facts.st_atime_ns, facts.st_mtime_ns))
        finally:
            os.close(copied)

    def finish(self) -> None:
        """Set the folders' times, which every entry made in them has changed."""
        for target, mtime in self._times:
            os.utime(target, (mtime, mtime))

    def _prepare(self, path: str) -> str:
        parent, _, name = path.rpartition("/")
        return f"{self._folder(parent or '/')}/{name}"

    def _place(self, path: str) -> Place:
        return next(place for place in self._places if _within(path, place.prefix))

    def _folder(self, path: str, *, like_lower: bool = True) -> str:
        """The folder in an upper layer that stands for a folder of the box; made where it is missing.

        ``like_lower`` gives a folder that is made here the attributes of the one below; else the caller gives
        it its own.
        """
        known = self._folders.get(path)
        if known is not None:
            return known
        place = self._place(path)
        if path == place.prefix:
            self._folders[path] = place.upper
            return place.upper
        parent, _, name = path.rpartition("/")
        above = self._folder(parent or "/")
        folder = self._folders[path] = f"{above}/{name}"
        try:
            os.mkdir(folder, 0o755)
        except FileExistsError:  # made before as a mount point
            return folder
        if not like_lower:
            return folder
        lower = self._lower(path)
        if lower:
            copy_attributes(os.lstat(lower), folder)
        else:
            around = os.stat(above)
            os.chown(folder, around.st_uid, around.st_gid)
            os.chmod(folder, 0o555 | around.st_mode & stat.S_IWUSR)
        return folder

    def _lower(self, path: str) -> str:
        """The folder of a lower layer that one of the box stands for, or "" where there is none."""
        known = self._lowers.get(path)
        if known is not None:
            return known
        place = self._place(path)
        if path == place.prefix:
            found = place.lower
        else:
            parent, _, name = path.rpartition("/")
            above = self._lower(parent or "/")
            found = f"{above}/{name}" if above and _is_folder(f"{above}/{name}") else ""
        self._lowers[path] = found
        return found


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def _write(
    target: str, content: bytes, mode: int, owner: tuple[int, int], mtime: float | None = None
) -> None:
    # By descriptor: each path costs a walk through all its folders, for every entry of every box.
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        written = os.write(descriptor, content) if content else 0
        while written < len(content):
            written += os.write(descriptor, memoryview(content)[written:])
        # The owner first: a change of it takes set-id bits away.
        os.fchown(descriptor, *owner)
        os.fchmod(descriptor, mode)
        if mtime is not None:
            os.utime(descriptor, (mtime, mtime))
    finally:
        os.close(descriptor)


def copy_attributes(model: os.stat_result, folder: str) -> None:
    """Give a folder the mode, and as far as the user namespace knows it the owner, of another one."""
    os.chmod(folder, stat.S_IMODE(model.st_mode))
    try:
        os.chown(folder, model.st_uid, model.st_gid)
    except OSError:
        # The overflow id that stands for an unmapped owner is not mapped itself. The folder stays the
        # builder's, who may be the server's user too.
        os.chmod(folder, stat.S_IMODE(model.st_mode) & ~stat.S_IWUSR)


def _within(path: str, prefix: str) -> bool:
    return prefix in ("/", path) or path.startswith(prefix + "/")
