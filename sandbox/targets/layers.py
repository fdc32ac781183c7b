"""A package that is installed in a folder of its own, as facts: what a server of it is launched from."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.model import Installation
from sandbox.targets.orders import Ecosystem

ROOT = "/srv/server"
"""Where a box shows the folder, at its installation as later: what was installed may hold absolute paths."""

NODE_ROOT = "/srv/node"
"""Where a box shows the Node that was installed for a package."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One installed package: ``root`` is the folder where the engine runs, which a box shows at :data:`ROOT`.

    ``key`` is its name in the store. ``interpreter`` is the Python of this machine that its environment was
    made from, "" for a package of npm; ``node`` the folder of the Node that was installed for it, "" for the machine's.
    ``size`` is what its files hold, in bytes.
    """

    key: str
    root: str
    ecosystem: Ecosystem
    name: str
    version: str
    installation: Installation
    interpreter: str = ""
    node: str = ""
    size: int = 0
