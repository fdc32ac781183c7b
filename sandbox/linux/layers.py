"""Folders of the host as lower layers: each is bound once below the daemon's base, where every box finds it."""

from __future__ import annotations

import os

from sandbox.linux import syscalls
from sandbox.linux.base import LAYERS


class Layers:
    """The folders bound so far. A path that meanwhile leads to another folder is bound anew."""

    def __init__(self) -> None:
        self._bound: dict[tuple[str, int, int], str] = {}

    def provide(self, path: str) -> str:
        """Where a folder of the host is bound. Raises OSError (EINVAL in a user namespace when something is mounted below)."""
        facts = os.stat(path)
        key = (path, facts.st_dev, facts.st_ino)
        if key not in self._bound:
            target = f"{LAYERS}/{len(self._bound)}"
            os.mkdir(target)
            syscalls.mount(path, target, None, syscalls.MS_BIND)
            self._bound[key] = target
        return self._bound[key]
