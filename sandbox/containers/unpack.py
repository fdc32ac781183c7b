"""Layers to one folder, each applied over those below it, as engines do it but for what a box has no use for.

Layers are foreign data, and unpacked outside of any box: every path is resolved by the kernel as a process would
resolve it whose root is the folder, so no link leads out of it; nothing is ever written through a name that is
there already; sizes and counts are bounded; devices, FIFOs, set-id bits and extended attributes (those of
overlayfs among them) are left out.

Sources: OCI image specification 1.1, layer.md ("Applying Changesets"); containerd, archive/tar.go.
"""

from __future__ import annotations

import errno
import os
import posixpath
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from sandbox.containers.archive import MOST_BYTES, Layer
from sandbox.containers.blobs import Measured, decompressed
from sandbox.containers.tar import Kind, Member, TarError, TarReader, show
from sandbox.errors import ImageError
from sandbox.linux.beneath import open_in_root

MOST_ENTRIES = 1_000_000
"""Files, folders and links of one image, all layers together."""

_DEEPEST = 256
"""Folders in each other. A path of the kernel's holds 4,096 bytes, so deeper trees could not be used either."""

_LONGEST_NAME = 255
_MOST_LINKS = 40
_WHITEOUT = b".wh."
_OPAQUE = b".wh..wh..opq"
_AUFS = b".wh..wh."

_PERMISSIONS = 0o1777
"""What is kept of a mode: no set-id bits, which a box does not heed."""

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Owner:
    """Who an image says that a file is of."""

    user: int = 0
    group: int = 0


@dataclass(slots=True)
class Tree:
    """What was unpacked, beside the files themselves.

    ``owners`` are those of every inode that is not root's, ``folders`` the mode and time of every folder's inode:
    while layers are applied, folders are ours alone. ``notes`` are sentences about what was left out.
    """

    size: int = 0
    entries: int = 0
    owners: dict[int, Owner] = field(default_factory=dict)
    folders: dict[int, tuple[int, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def unpack(
    layers: Sequence[Layer],
    root: int,
    tell: Callable[[int], None] = lambda _: None,
    *,
    most_bytes: int = MOST_BYTES,
    most_entries: int = MOST_ENTRIES,
) -> Tree:
    """Apply layers, the lowest first, to the empty folder that ``root`` is a descriptor of.

    ``tell`` is told the bytes of each layer when it is done. Owners are only noted, not set:
    :func:`sandbox.containers.ownership.settle` sets them.

    Raises ImageError for a layer that is damaged (its digest is checked), that leads out of the folder, or that
    exceeds a bound, and where the disk is full.
    """
    unpacker = _Unpacker(root, most_entries)
    passed = 0
    for number, layer in enumerate(layers, 1):
        where = f"layer {number} of {len(layers)}"
        try:
            measured = Measured(decompressed(layer.blob), most_bytes - passed)
            unpacker.apply(TarReader(measured))
        except TarError as error:
            raise ImageError(f"{where}: {error}") from error
        except OSError as error:
            raise ImageError(f"{where} cannot be unpacked: {_cause(error)}") from error
        if measured.digest != layer.digest:
            raise ImageError(f"{where} is damaged: its digest is {measured.digest}, not {layer.digest}")
        passed += measured.size
        tell(measured.size)
    return unpacker.tree()


def _cause(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "the disk is full; free some space, or set XDG_CACHE_HOME to a folder on another disk"
    named = error.filename if isinstance(error.filename, bytes) else os.fsencode(error.filename or "")
    return f"{error.strerror or error}: {show(named)}" if named else error.strerror or str(error)


class _Unpacker:
    def __init__(self, root: int, most_entries: int) -> None:
        self._root = root
        self._most_entries = most_entries
        self._depth = os.readlink(f"/proc/self/fd/{root}").count("/")
        self._tree = Tree()
        self._left_out: dict[bytes, None] = {}
        self._fresh: set[int] = set()
        """The inodes that the present layer made or named: its whiteouts are for what lies below it alone."""
        self._last: tuple[bytes, int] | None = None
        """The folder of the last entry, and a descriptor of it: most entries follow their siblings."""
        self._note_folder(root, 0o755, 0.0)

    def tree(self) -> Tree:
        if self._left_out:
            shown = ", ".join(show(path) for path in list(self._left_out)[:_SHOWN])
            more = f" and {len(self._left_out) - _SHOWN} more" if len(self._left_out) > _SHOWN else ""
            self._tree.notes.append(f"Left out of the image: {shown}{more} (devices and FIFOs).")
        self._forget()
        return self._tree

    def apply(self, reader: TarReader) -> None:
        self._fresh = set()
        for member in reader:
            self._tree.entries += 1
            if self._tree.entries > self._most_entries:
                raise TarError(f"it brings the image to more than {self._most_entries} files")
            self._apply(member, reader)
        reader.finish()

    def _apply(self, member: Member, reader: TarReader) -> None:
        parts = [part for part in member.name.split(b"/") if part not in (b"", b".")]
        if b".." in parts:
            raise TarError(f"{show(member.name)} leads out of the image")
        if len(parts) > _DEEPEST or any(len(part) > _LONGEST_NAME for part in parts):
            raise TarError(f"{show(member.name)} is too long a path")
        if not parts:
            if member.kind is Kind.FOLDER:
                self._note_folder(self._root, member.mode, member.mtime, Owner(member.user, member.group))
            return
        *above, name = parts
        if name.startswith(_WHITEOUT):
            self._white_out(above, name)
            return
        parent = self._parent(above)
        match member.kind:
            case Kind.FOLDER:
                self._folder(parent, name, member)
            case Kind.FILE:
                self._file(parent, name, member, reader)
            case Kind.SYMLINK:
                self._symlink(parent, name, member)
            case Kind.HARD_LINK:
                self._hard_link(parent, name, member)
            case Kind.SPECIAL:
                self._remove(parent, name)
                if parts[0] != b"dev":  # every box has its own
                    self._left_out[b"/" + b"/".join(parts)] = None

    def _folder(self, parent: int, name: bytes, member: Member) -> None:
        try:
            found = os.stat(name, dir_fd=parent, follow_symlinks=False)
        except FileNotFoundError:
            self._make(parent, name)
        else:
            if not stat.S_ISDIR(found.st_mode):
                self._remove(parent, name)
                self._make(parent, name)
        with _opened_folder(parent, name) as folder:
            self._note_folder(folder, member.mode, member.mtime, Owner(member.user, member.group))

    def _file(self, parent: int, name: bytes, member: Member, reader: TarReader) -> None:
        # A new file in any case: one that is there may have other names.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            opened = os.open(name, flags, 0o600, dir_fd=parent)
        except FileExistsError:
            self._remove(parent, name)
            opened = os.open(name, flags, 0o600, dir_fd=parent)
        try:
            for piece in reader.content():
                _write(opened, piece)
            os.fchmod(opened, member.mode & _PERMISSIONS)
            os.utime(opened, (member.mtime, member.mtime))
            self._note(os.fstat(opened).st_ino, member)
        finally:
            os.close(opened)
        self._tree.size += member.size

    def _symlink(self, parent: int, name: bytes, member: Member) -> None:
        self._remove(parent, name)
        if not member.target:
            raise TarError(f"{show(member.name)} is a symlink to nothing")
        os.symlink(member.target, name, dir_fd=parent)
        os.utime(name, (member.mtime, member.mtime), dir_fd=parent, follow_symlinks=False)
        self._note(os.stat(name, dir_fd=parent, follow_symlinks=False).st_ino, member)

    def _hard_link(self, parent: int, name: bytes, member: Member) -> None:
        folder, _, last = member.target.rstrip(b"/").rpartition(b"/")
        parts = [part for part in folder.split(b"/") if part not in (b"", b".")]
        if b".." in parts or last in (b"", b".", b".."):
            raise TarError(f"{show(member.name)} is a hard link to {show(member.target)}, out of the image")
        try:
            source = open_in_root(self._root, _path(parts), os.O_PATH | os.O_DIRECTORY)
            try:
                found = os.stat(last, dir_fd=source, follow_symlinks=False)
                if stat.S_ISDIR(found.st_mode):
                    raise TarError(f"{show(member.name)} is a hard link to a folder")
                there = self._inode(parent, name)
                if there != found.st_ino:
                    self._remove(parent, name)
                    os.link(last, name, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)
                self._fresh.add(found.st_ino)
            finally:
                os.close(source)
        except (FileNotFoundError, NotADirectoryError) as error:
            if b"/" + b"/".join([*parts, last]) in self._left_out:
                return
            raise TarError(
                f"{show(member.name)} is a hard link to {show(member.target)}, which it lacks"
            ) from error

    def _white_out(self, above: list[bytes], name: bytes) -> None:
        self._forget()
        try:
            folder = open_in_root(self._root, _path(above), os.O_RDONLY | os.O_DIRECTORY)
        except (FileNotFoundError, NotADirectoryError):
            return
        try:
            if name == _OPAQUE:
                self._clear(folder)
            elif not name.startswith(_AUFS):
                hidden = name.removeprefix(_WHITEOUT)
                if hidden in (b"", b".", b".."):
                    raise TarError(f"{show(name)} hides no file that there could be")
                with suppress(FileNotFoundError):
                    self._hide(folder, hidden)
        finally:
            os.close(folder)

    def _clear(self, folder: int) -> bool:
        """Remove what the present layer did not put into a folder; whether nothing is left."""
        left = [name for name in os.listdir(folder) if self._hide(folder, os.fsencode(name))]
        return not left

    def _hide(self, folder: int, name: bytes) -> bool:
        """Remove what the present layer did not put there below a name; whether something is left."""
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        fresh = found.st_ino in self._fresh
        if stat.S_ISDIR(found.st_mode):
            with _opened_folder(folder, name) as below:
                bare = self._clear(below)
            if bare and not fresh:
                os.rmdir(name, dir_fd=folder)
            return fresh or not bare
        if not fresh:
            os.unlink(name, dir_fd=folder)
        return fresh

    def _parent(self, parts: Sequence[bytes]) -> int:
        """A descriptor of the folder that an entry goes to, made where it is missing; it stays the unpacker's."""
        path = b"/".join(parts)
        if self._last is not None and self._last[0] == path:
            return self._last[1]
        self._forget()
        try:
            opened = open_in_root(self._root, _path(parts), os.O_PATH | os.O_DIRECTORY)
        except FileNotFoundError:
            opened = self._make_all(parts, _MOST_LINKS)
        self._last = (path, opened)
        return opened

    def _make_all(self, parts: Sequence[bytes], most_links: int) -> int:
        """Make a folder and those above it, at the far end of symlinks to nothing too."""
        opened = open_in_root(self._root, ".", os.O_PATH | os.O_DIRECTORY)
        for number in range(1, len(parts) + 1):
            above, path, name = opened, _path(parts[:number]), parts[number - 1]
            try:
                with suppress(FileNotFoundError):
                    opened = open_in_root(self._root, path, os.O_PATH | os.O_DIRECTORY)
                    continue
                if self._inode(above, name) is None:
                    self._make(above, name)
                    opened = open_in_root(self._root, path, os.O_PATH | os.O_DIRECTORY)
                    continue
                if not most_links:
                    raise TarError(f"{show(b'/'.join(parts))} leads through too many symlinks")
                target = os.readlink(name, dir_fd=above)
                full = posixpath.normpath(posixpath.join(b"/", *parts[: number - 1], target))
                opened = self._make_all([part for part in full.split(b"/") if part], most_links - 1)
            finally:
                os.close(above)
        return opened

    def _make(self, parent: int, name: bytes) -> None:
        os.mkdir(name, 0o700, dir_fd=parent)
        with _opened_folder(parent, name) as folder:
            if os.readlink(f"/proc/self/fd/{folder}").count("/") - self._depth > _DEEPEST:
                raise TarError(f"its folders lie more than {_DEEPEST} deep in each other")
            self._note_folder(folder, 0o755, 0.0)

    def _remove(self, parent: int, name: bytes) -> None:
        """Remove whatever has a name, if anything has."""
        try:
            os.unlink(name, dir_fd=parent)
        except FileNotFoundError:
            return
        except IsADirectoryError:
            shutil.rmtree(name, dir_fd=parent)

    def _inode(self, parent: int, name: bytes) -> int | None:
        try:
            return os.stat(name, dir_fd=parent, follow_symlinks=False).st_ino
        except FileNotFoundError:
            return None

    def _note(self, inode: int, member: Member) -> None:
        self._fresh.add(inode)
        if member.user or member.group:
            self._tree.owners[inode] = Owner(member.user, member.group)
        else:
            self._tree.owners.pop(inode, None)

    def _note_folder(self, folder: int, mode: int, mtime: float, owner: Owner = Owner()) -> None:
        inode = os.fstat(folder).st_ino
        self._fresh.add(inode)
        self._tree.folders[inode] = (mode & _PERMISSIONS, mtime)
        if owner == Owner():
            self._tree.owners.pop(inode, None)
        else:
            self._tree.owners[inode] = owner

    def _forget(self) -> None:
        if self._last is not None:
            os.close(self._last[1])
            self._last = None


@contextmanager
def _opened_folder(parent: int, name: bytes) -> Iterator[int]:
    opened = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        yield opened
    finally:
        os.close(opened)


def _path(parts: Sequence[bytes]) -> str:
    return os.fsdecode(b"/".join(parts)) or "."


def _write(opened: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(opened, view) :]
