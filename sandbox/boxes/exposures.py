"""From what a box may see of the host to the layers, folders, links and files of its root."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sandbox.boxes.plan import Exposure
from sandbox.errors import UsageError
from sandbox.linux.base import SYSTEM_FOLDERS
from sandbox.linux.links import follow
from sandbox.linux.mounts import Parts, mount_points

_OURS = ("/etc", "/proc", "/sys", "/dev")
"""Folders that the box has its own of. The first may be exposed in parts."""

_LAYER_LIMIT = 100  # each costs two descriptors in one message, of which the kernel passes at most 253


@dataclass(slots=True)
class Layout(Parts):
    """What the root is put together from, in the terms of :class:`sandbox.linux.order.Order`.

    ``sources`` has the folders of the host that are layers at another path than their own, by that path.
    """

    sources: dict[str, str] = field(default_factory=dict)


def lay_out(exposures: Sequence[Exposure], system: Sequence[str] = SYSTEM_FOLDERS) -> Layout:
    """Lay out the system's folders, none where an image takes their place, and the exposures. Reads the host's file
    system.

    Raises UsageError for an exposure that would cover what the box has of its own, and for too many of them.
    """
    folders = {path for path in system if os.path.isdir(path) and not os.path.islink(path)}
    files: set[str] = set()
    links: dict[str, str] = {}
    for exposure in exposures:
        if exposure.at:
            continue
        path, followed = _trace(exposure.path)
        _refuse_our_own(exposure.path, path)
        if os.path.isdir(path):
            folders.add(path)
        elif os.path.isfile(path):
            files.add(path)
        else:
            continue
        links |= followed
    roots = [path for path in folders if not _covered(path, folders)]
    layout = Layout(files=sorted(path for path in files if not _covered(path, roots)))
    mounts = mount_points()
    for path in sorted(roots):
        # What lies between the layers of the system's folders is in the skeleton.
        if path in system:
            layout.layers += _parts(path, mounts).layers
        else:
            layout.add(path, mounts)
    for exposure in exposures:
        if exposure.at:
            _place(layout, exposure, mounts)
    system_links = {path for path in system if os.path.islink(path)}
    layout.links += sorted(
        (path, target)
        for path, target in links.items()
        if path not in system_links and not _covered(path, roots)
    )
    if len(layout.layers) > _LAYER_LIMIT:
        raise UsageError(
            f"{len(layout.layers)} folders of this machine would have to be layers of one box, and {_LAYER_LIMIT} is the"
            " most: expose a folder that holds several of them, or one with fewer mounts below"
        )
    return layout


def _place(layout: Layout, exposure: Exposure, mounts: Sequence[str]) -> None:
    """Add a folder as a layer at another path than its own."""
    _refuse_our_own(exposure.path, exposure.at)
    path = _trace(exposure.path)[0]
    if any(mount.startswith(path + "/") for mount in mounts):
        raise UsageError(
            f"{path} cannot be shown at {exposure.at}: something else is mounted inside of it; name a folder below"
        )
    if _covered(exposure.at, layout.layers) or any(_covered(each, [exposure.at]) for each in layout.layers):
        raise UsageError(
            f"{path} cannot be shown at {exposure.at}: another folder is shown above or below that; name one that"
            " holds both"
        )
    layout.layers.append(exposure.at)
    layout.sources[exposure.at] = path


def _trace(path: str) -> tuple[str, dict[str, str]]:
    try:
        return follow(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be exposed: its symlinks lead in a circle") from error


def _refuse_our_own(named: str, path: str) -> None:
    first = path if path.count("/") == 1 else path[: path.index("/", 1)]
    if path == "/" or path in _OURS or first in _OURS[1:]:
        raise UsageError(
            f"{named} cannot be exposed: every box has its own {path}; expose folders that the server needs"
        )


def _parts(path: str, mounts: Sequence[str]) -> Parts:
    parts = Parts()
    parts.add(path, mounts)
    return parts


def _covered(path: str, roots: Iterable[str]) -> bool:
    return any(path.startswith(root + "/") for root in roots)
