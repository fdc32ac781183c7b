"""Every case of a change that the differ tells apart, in one table: what happens, and what is told of it.

The tests do each case on a real overlay, over both a seeded (upper) and an old (lower) file where that
makes a difference, and compare with this table; a case or a ChangeKind without a test fails.
"""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.model import ChangeKind


@dataclass(frozen=True, slots=True)
class Case:
    """``tells`` are the kinds that one look reports, in order of path; ``says`` is part of the note of the first."""

    name: str
    tells: tuple[ChangeKind, ...]
    says: str = ""


_C, _M, _D = ChangeKind.CREATED, ChangeKind.MODIFIED, ChangeKind.DELETED
_V, _R, _A = ChangeKind.MOVED, ChangeKind.REPLACED, ChangeKind.METADATA

CASES: tuple[Case, ...] = (
    Case("a file is created", (_C,)),
    Case("an empty file is created", (_C,)),
    Case("a folder with files is created", (_C, _C, _C)),
    Case("a file is created in HOME", (_C,)),
    Case("a file is created in a plain tmpfs such as /dev/shm", (_C,)),
    Case("a fifo is created", (_C,)),
    Case("a unix socket is created", (_C,)),
    Case("a symlink is created", (_C,)),
    Case("a symlink is retargeted", (_M,)),
    Case("a file is written", (_M,)),
    Case("a file is appended to", (_M,)),
    Case("a file is truncated to nothing", (_M,)),
    Case("a file is replaced by rename, the editor's way", (_M,)),
    Case("a file is rewritten with equal size and its old mtime", (_M,)),
    Case("a file is written through a shared mapping", (_M,)),
    Case("a file is written through one of its hard links", (_M, _M), "hard link"),
    Case("a hard link is created", (_C,), "hard link"),
    Case("a sparse file of 10 GB is created", (_C,)),
    Case("a block in a sparse file of 10 GB is written", (_M,)),
    Case("a file that the engine may not read is written", (_M,)),
    Case("a file is deleted", (_D,)),
    Case("a folder tree is deleted", (_D,), "with 3 entries"),
    Case("a folder is emptied and made again", (_D, _D)),
    Case("a folder is deleted and made again with one of its names", (_M, _D)),
    Case("an empty folder is deleted", (_D,)),
    Case("a file is moved", (_V,)),
    Case("a file is moved over an existing one", (_V,), "over an existing file"),
    Case("a file is moved and then changed", (_V, _M)),
    Case("a seeded folder is moved", (_V,), "with 2 entries"),
    Case("an old folder is moved by copying", (_V,), "with 2 entries"),
    Case("a file in a moved folder is changed", (_V, _M)),
    Case("a file is replaced by a folder", (_R, _C), "file replaced by directory"),
    Case("a folder is replaced by a file", (_R,), "directory replaced by file, with 3 entries"),
    Case("a file is replaced by a symlink", (_R,), "file replaced by symlink"),
    Case("permission bits are changed", (_A,), "mode 644->600"),
    Case("permission bits of a folder are changed", (_A,), "mode 755->700"),
    Case("an attribute is set", (_A,), "xattr user.colour"),
    Case("an attribute is removed", (_A,), "xattr user.colour"),
    Case("a file is chowned to an unmapped user", ()),
    Case(
        "an attribute of the overlay's own is set by the server", (_A,), "xattr user.overlay.overlay.opaque"
    ),
    Case("a character device is made", ()),
    Case("a file is opened for writing and left alone", ()),
    Case("only the times of a file are changed", ()),
    Case("a file is written and restored", ()),
    Case("a file is created and deleted", ()),
    Case("a file is moved away and back", ()),
    Case("a file is read", ()),
)
