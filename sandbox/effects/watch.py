"""Tells cheaply that nothing changed since a look: its folders are held open, so that nothing is looked up or
listed again.

Adding, removing and renaming change the times of the folder (inode(7)); everything else changes the entry's
own stat. So while each folder's own stat is as it was, its names still stand for the same inodes, and one
stat per entry decides.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from sandbox.effects.nodes import Key, Node, key_of

MAX_HELD = 128
"""Folders of one layer held open. A tree with more is listed at every look: descriptors of the engine are not
the server's to use up."""


@dataclass(slots=True)
class HeldFolder:
    """One open folder: its own stat, and each entry in it that is no folder by its name."""

    descriptor: int
    key: Key
    entries: list[tuple[str, Node]] = field(default_factory=list)


class Watch:
    """The folders of one look at one layer. It cannot tell anything once ``useless`` was called."""

    def __init__(self) -> None:
        self._folders: list[HeldFolder] = []
        self._useful = True

    def hold(self, folder: HeldFolder) -> None:
        """Take over the descriptor of a folder."""
        self._folders.append(folder)
        if not self._useful or len(self._folders) > MAX_HELD:
            self.useless()

    def useless(self) -> None:
        """Something of the look cannot be relied on: it was racy, not readable or not complete."""
        self._useful = False
        self.close()

    def close(self) -> None:
        """Close what is held."""
        for folder in self._folders:
            os.close(folder.descriptor)
        self._folders.clear()

    def sees_no_change(self) -> bool:
        """Whether every folder and every entry is as it was at the look."""
        if not self._useful:
            return False
        for folder in self._folders:
            descriptor = folder.descriptor
            if key_of(os.fstat(descriptor)) != folder.key:
                return False
            for name, node in folder.entries:
                try:
                    facts = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
                except OSError:
                    return False
                if key_of(facts) != node.key:
                    return False
        return True
