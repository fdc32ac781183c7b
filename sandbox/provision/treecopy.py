"""Copying a folder out of a box: what a hostile installer made there, read through descriptors alone.

Nothing is followed, nothing is waited for, and what comes out is bounded in entries, bytes and depth. What a
layer cannot hold (devices, sockets, links that lead out of it) is left out and told.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from sandbox.errors import InstallError
from sandbox.linux.beneath import open_beneath, open_folder
from sandbox.provision.plan import Tree

MOST_ENTRIES = 400_000
"""Entries of a kept folder: the largest packages with all that they need have some tens of thousands."""

MOST_DEPTH = 100
"""Folders nested in each other."""

_TOLD = 20
_OFTEN = 256
_CHUNK = 1 << 20
_KINDS = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclass(frozen=True, slots=True)
class CopyRules:
    """What may come out. ``root`` is where the folder is in the box, absolute; a symlink may lead to what lies in it, and
    to what lies below ``shown``, the folders that every box shows (the interpreter of an environment). ``size`` bounds all files together, in
    bytes as they are read: holes count. ``owner`` is the id that everything is given to (user and group), None for the caller's."""

    root: str
    shown: tuple[str, ...]
    size: int
    entries: int = MOST_ENTRIES
    cancelled: Callable[[], None] = lambda: None
    owner: int | None = None


def copy_tree(source: int, target: str, rules: CopyRules) -> Tree:
    """Copy what lies beneath the folder descriptor ``source`` into the empty folder ``target``.

    Permission bits and times of modification are kept, set-id bits are not. The owner can always read what is copied, and what the
    owner may read or run, everybody may: in some boxes the server is another user. Files that are one (hard links)
    stay one. ``target`` itself is given to the owner too.

    Raises:
        InstallError: more than the rules allow, or ``target`` cannot be written.
    """
    copying = _Copying(rules)
    try:
        there = os.open(target, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            copying.folder(source, there, "", 0)
            copying.give(there)
        finally:
            os.close(there)
    except OSError as error:
        raise InstallError(f"what was installed cannot be kept in {target}: {error.strerror}") from error
    return copying.tree()


@dataclass(slots=True)
class _Copying:
    rules: CopyRules
    entries: int = 0
    size: int = 0
    left_out: int = 0
    told: list[str] = field(default_factory=list)
    _sum: hashlib.blake2b = field(default_factory=lambda: hashlib.blake2b(digest_size=16))
    _linked: dict[int, tuple[str, str]] = field(default_factory=dict)
    _root: int = -1

    def tree(self) -> Tree:
        return Tree(self._sum.hexdigest(), self.entries, self.size, tuple(self.told), self.left_out)

    def give(self, made: int) -> None:
        """Give what was made to its owner."""
        if self.rules.owner is not None:
            os.fchown(made, self.rules.owner, self.rules.owner)

    def folder(self, source: int, target: int, path: str, depth: int) -> None:
        """Copy the entries of one folder; ``path`` is its own below the root, "" or with a slash at its end."""
        if not path:
            self._root = target
        for name in self._names(source):
            self._count()
            shown = path + name
            try:
                facts = os.stat(name, dir_fd=source, follow_symlinks=False)
                if stat.S_ISDIR(facts.st_mode):
                    opened = open_folder(source, name)
                elif stat.S_ISREG(facts.st_mode):
                    opened = open_beneath(source, name)
                elif stat.S_ISLNK(facts.st_mode):
                    self._link(os.readlink(name, dir_fd=source), name, target, path)
                    continue
                else:
                    self._leave(shown, f"is {_KINDS[stat.S_IFMT(facts.st_mode)]}")
                    continue
            except OSError as error:
                self._leave(shown, f"cannot be read: {error.strerror}")
                continue
            try:
                facts = os.fstat(opened)
                if stat.S_ISDIR(facts.st_mode):
                    self._subfolder(opened, facts, target, shown, depth)
                elif stat.S_ISREG(facts.st_mode):
                    self._file(opened, facts, name, target, shown)
            finally:
                os.close(opened)

    def _names(self, source: int) -> list[str]:
        names = []
        # A folder of millions of names is not listed to its end.
        with os.scandir(source) as entries:
            for entry in entries:
                names.append(entry.name)
                if self.entries + len(names) > self.rules.entries:
                    self._too_many()
        return sorted(names)

    def _count(self) -> None:
        self.entries += 1
        if self.entries > self.rules.entries:
            self._too_many()
        if self.entries % _OFTEN == 0:
            self.rules.cancelled()

    def _too_many(self) -> None:
        raise InstallError(f"what was installed has more than {self.rules.entries} files and folders")

    def _subfolder(self, opened: int, facts: os.stat_result, target: int, shown: str, depth: int) -> None:
        name = os.path.basename(shown)
        if depth >= MOST_DEPTH:
            self._leave(shown, f"lies deeper than {MOST_DEPTH} folders")
            return
        mode = _mode(facts, 0o700)
        self._note("d", shown, f"{mode:o}")
        os.mkdir(name, 0o700, dir_fd=target)
        made = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=target)
        try:
            self.folder(opened, made, f"{shown}/", depth + 1)
            self.give(made)
            os.fchmod(made, mode)
            os.utime(made, ns=(facts.st_mtime_ns, facts.st_mtime_ns))
        finally:
            os.close(made)

    def _file(self, opened: int, facts: os.stat_result, name: str, target: int, shown: str) -> None:
        first = self._linked.get(facts.st_ino) if facts.st_nlink > 1 else None
        if first is not None:
            os.link(first[0], name, src_dir_fd=self._root, dst_dir_fd=target, follow_symlinks=False)
            self._note("f", shown, first[1])
            return
        mode = _mode(facts, 0o400)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        made = os.open(name, flags, 0o600, dir_fd=target)
        try:
            digest = self._content(opened, made)
            self.give(made)
            os.fchmod(made, mode)
            os.utime(made, ns=(facts.st_mtime_ns, facts.st_mtime_ns))
        finally:
            os.close(made)
        told = f"{mode:o} {digest}"
        if facts.st_nlink > 1:
            self._linked[facts.st_ino] = (shown, told)
        self._note("f", shown, told)

    def _content(self, opened: int, made: int) -> str:
        content = hashlib.blake2b(digest_size=16)
        while data := os.read(opened, _CHUNK):
            self.size += len(data)
            if self.size > self.rules.size:
                raise InstallError(f"what was installed is larger than {self.rules.size >> 20} MiB")
            content.update(data)
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(made, rest) :]
            self.rules.cancelled()
        return content.hexdigest()

    def _link(self, points: str, name: str, target: int, path: str) -> None:
        if not stays(points, path.count("/"), self.rules.root, self.rules.shown):
            self._leave(path + name, "is a link that leads out of what was installed")
            return
        os.symlink(points, name, dir_fd=target)
        owner = self.rules.owner
        if owner is not None:
            os.chown(name, owner, owner, dir_fd=target, follow_symlinks=False)
        self._note("l", path + name, points)

    def _leave(self, path: str, why: str) -> None:
        self.left_out += 1
        if len(self.told) < _TOLD:
            # Names that are no UTF-8 could not be written down.
            shown = os.fsencode(path).decode("utf-8", "backslashreplace")
            self.told.append(f"{shown} {why}")

    def _note(self, kind: str, path: str, what: str) -> None:
        for part in (kind, path, what):
            data = os.fsencode(part)
            self._sum.update(len(data).to_bytes(4, "big") + data)


def _mode(facts: os.stat_result, least: int) -> int:
    mode = stat.S_IMODE(facts.st_mode) & 0o777 | least
    return mode | (mode & 0o500) >> 3 | (mode & 0o500) >> 6


def stays(points: str, depth: int, root: str, shown: Iterable[str]) -> bool:
    """Whether a symlink, ``depth`` folders below ``root``, leads nowhere but into ``root`` or ``shown``, whatever other links it passes.

    A ``..`` counts only at the beginning, where the folders above the link are known to be folders: behind a name, it goes up from
    wherever that name leads.
    """
    parts = [part for part in points.split("/") if part not in ("", ".")]
    if not points or "\0" in points:
        return False
    if points.startswith("/"):
        if ".." in parts:
            return False
        place = "/" + "/".join(parts)
        return any(_within(place, folder) for folder in (root, *shown))
    up = 0
    while up < len(parts) and parts[up] == "..":
        up += 1
    return up <= depth and ".." not in parts[up:]


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def shown_folders(system: Sequence[str], exposed: Iterable[str]) -> tuple[str, ...]:
    """The folders that a kept symlink may lead to: the system's and those that are exposed."""
    return tuple(dict.fromkeys([*system, *(path.rstrip("/") for path in exposed if path.strip("/"))]))
