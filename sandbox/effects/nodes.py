"""What stands at one path of a tree: its stat, and digests of its content and attributes.

Everything is read through descriptors beneath the tree's own; what cannot be read says so and never passes
for unchanged.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from dataclasses import dataclass
from typing import TypeAlias

from sandbox.evidence.content import ITEM_CAP, ContentStore
from sandbox.linux.beneath import open_regular, read_up_to
from sandbox.model import digest_of

Key: TypeAlias = tuple[int, int, int, int, int, int, int, int]
"""What a change of a file cannot leave alone: inode, mode, uid, gid, size, mtime, ctime (ns), links."""

HASH_CAP = 1 << 30
"""Bytes of data (holes left out) hashed of one file; beyond it its times take part in the digest."""

_CELL = 64 << 10
"""Hashed unit of a large file. Cells of zeros are skipped, so that a hole and written zeros are equal."""

_MINE = "user.overlay."
_ESCAPED = "user.overlay.overlay."
"""With ``userxattr`` the kernel keeps its marks as user.overlay.* and escapes those that the server sets itself."""


@dataclass(frozen=True, slots=True)
class Node:
    """One entry of a tree at one look.

    ``type`` is a FileChange type or ``whiteout``. ``digest`` covers the content (the target of a symlink);
    ``kept`` says that the store has it; ``readable`` is False where the engine was refused. ``lower`` is for
    directories: the folder of the lower tree that shows through, relative to its root, None where none does.
    ``racy`` asks for another read at the next look, because a later write could carry the same times.
    """

    type: str
    key: Key
    digest: str = ""
    kept: bool = False
    readable: bool = True
    xattrs: tuple[tuple[str, str], ...] = ()
    lower: str | None = None
    opaque: bool = False
    redirected: bool = False
    racy: bool = False

    @property
    def inode(self) -> int:
        """The inode number; negative for a node of the lower tree."""
        return self.key[0]

    @property
    def mode(self) -> int:
        """Permission bits."""
        return stat.S_IMODE(self.key[1])

    @property
    def owner(self) -> tuple[int, int]:
        """User and group id."""
        return self.key[2], self.key[3]

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.key[4]

    @property
    def mtime(self) -> int:
        """Time of the last write, in nanoseconds."""
        return self.key[5]

    @property
    def links(self) -> int:
        """Number of hard links."""
        return self.key[7]


ABSENT = Node("whiteout", (0, 0, 0, 0, 0, 0, 0, 0))
"""Stands for a path that is known to hold nothing although the lower tree has it."""


def key_of(facts: os.stat_result) -> Key:
    """The comparison key of a stat result."""
    return (
        facts.st_ino,
        facts.st_mode,
        facts.st_uid,
        facts.st_gid,
        facts.st_size,
        facts.st_mtime_ns,
        facts.st_ctime_ns,
        facts.st_nlink,
    )


def type_of(facts: os.stat_result) -> str:
    """The FileChange type of a stat result; ``whiteout`` for a character device 0:0 (overlayfs.rst, whiteouts)."""
    mode = facts.st_mode
    if stat.S_ISREG(mode):
        return "file"
    if stat.S_ISDIR(mode):
        return "directory"
    if stat.S_ISLNK(mode):
        return "symlink"
    if stat.S_ISCHR(mode) and facts.st_rdev == 0:
        return "whiteout"
    if stat.S_ISFIFO(mode):
        return "fifo"
    return "socket" if stat.S_ISSOCK(mode) else "device"


def read_entry(
    folder: int,
    name: str,
    facts: os.stat_result,
    keep: ContentStore,
    *,
    newest_ns: int,
    cross_devices: bool = False,
) -> Node:
    """Read a non-directory ``name`` beneath the descriptor ``folder``; ``facts`` is its lstat.

    A change time at or after ``newest_ns`` (CLOCK_REALTIME), or one that moved during the read, makes the
    node racy.

    Raises:
        FileNotFoundError: it is gone, or something else stands there now.
    """
    kind, key = type_of(facts), key_of(facts)
    if kind == "symlink":
        try:
            target = os.readlink(name, dir_fd=folder)
        except OSError as error:
            raise FileNotFoundError(error.errno, "replaced while it was read", name) from error
        return Node(kind, key, keep.put(os.fsencode(target)), kept=True)
    if kind != "file":
        return Node(kind, key)
    try:
        opened, found = open_regular(folder, name, cross_devices=cross_devices)
    except PermissionError:
        return Node(kind, key, readable=False)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EINVAL, errno.ENXIO, errno.ENOENT):
            raise FileNotFoundError(error.errno, "replaced while it was read", name) from error
        return Node(kind, key, readable=False)
    try:
        key = key_of(found)
        digest, kept = _content_digest(opened, found, keep)
        settled = key_of(os.fstat(opened)) == key and found.st_ctime_ns < newest_ns
        return Node(kind, key, digest, kept, xattrs=own_xattrs(opened), racy=not settled)
    finally:
        os.close(opened)


def own_xattrs(opened: int) -> tuple[tuple[str, str], ...]:
    """The user.* attributes of an open file or folder, without the overlay's own marks: (name, digest of the value)."""
    try:
        names = [name for name in os.listxattr(opened) if name.startswith("user.")]
        return tuple(
            (name, digest_of(os.getxattr(opened, name)))
            for name in sorted(names)
            if not name.startswith(_MINE) or name.startswith(_ESCAPED)
        )
    except OSError:  # a file system without attributes, or one that vanished between the two calls
        return ()


def overlay_mark(opened: int, name: str) -> bytes:
    """One mark of the overlay on an open folder (``opaque``, ``redirect``), b"" where it has none."""
    for space in ("trusted", "user"):
        try:
            return os.getxattr(opened, f"{space}.overlay.{name}")
        except OSError:
            continue  # not set, or trusted.* is not ours to see; either way the other space may have it
    return b""


def open_root(path: str) -> int:
    """Open a tree's root on this host for look-ups beneath it. Raises OSError."""
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)


def _content_digest(opened: int, facts: os.stat_result, keep: ContentStore) -> tuple[str, bool]:
    if facts.st_size <= ITEM_CAP:
        content = read_up_to(opened, ITEM_CAP + 1)
        return keep.put(content), len(content) <= ITEM_CAP
    return _extents_digest(opened, facts), False


def _extents_digest(opened: int, facts: os.stat_result) -> str:
    """Digest of a file too large to keep: its size, and every cell that is not all zeros with its offset.

    Holes are skipped with SEEK_DATA (lseek(2)): a sparse file of 10 GB costs nothing.
    """
    total = hashlib.blake2b(b"%d" % facts.st_size, digest_size=16)
    position = read = 0
    zeros = bytes(_CELL)
    while position < facts.st_size:
        try:
            position = os.lseek(opened, position, os.SEEK_DATA)
            end = os.lseek(opened, position, os.SEEK_HOLE)
        except OSError:
            break  # ENXIO: no data beyond this point
        position -= position % _CELL
        while position < end:
            cell = os.pread(opened, _CELL, position)
            if not cell:
                return total.hexdigest()
            if cell != zeros[: len(cell)]:
                total.update(b"@%d:" % position)
                total.update(cell)
            position += _CELL
            read += _CELL
            if read > HASH_CAP:
                total.update(b"times %d %d" % (facts.st_mtime_ns, facts.st_ctime_ns))
                return total.hexdigest()
    return total.hexdigest()
