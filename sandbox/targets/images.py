"""From an order for an image, and the image unpacked, to a Launch."""

from __future__ import annotations

import dataclasses
import posixpath
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox.containers.cache import UnpackedImage
from sandbox.errors import UsageError
from sandbox.model import ImageRoot, SeedEntry
from sandbox.targets.boundaries import absolute, refuse_wide
from sandbox.targets.dockerrun import ImageOrder
from sandbox.targets.imageplaces import (
    ImageFiles,
    Places,
    default_workspace,
    home_in,
    named_mounts,
    place_mounts,
)
from sandbox.targets.launch import Launch
from sandbox.targets.owncode import copy, folder_entry
from sandbox.targets.places import named_hosts
from sandbox.world.trust import ENVIRONMENT

_FIXED = {"PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
"""What a server of the host has as well: without them its runtime would write files that say nothing of it."""


def image_launch(
    order: ImageOrder,
    image: UnpackedImage,
    *,
    cwd: Path,
    environ: Mapping[str, str],
    env: Mapping[str, str] | None = None,
    expose: Sequence[Path] = (),
    workspace: Path | None = None,
) -> Launch:
    """Decide how to run an image's server in a box; nothing of the image is executed.

    ``env`` are hintproof's own ``-e`` variables, over those of the order; ``expose`` and ``workspace`` are the
    folders of the options of the same names. Relative paths are meant from ``cwd``; ``environ`` tells whose home
    is never shown.

    Raises:
        UsageError: the image has no command and none was given; a folder is too wide to be shown.
        TargetNotFoundError: a folder that was to be mounted is not there.
        ImageError: a path of the image leads in a circle.
    """
    files = ImageFiles(image.root)
    given = {**order.env, **(env or {})}
    argv = _argv(order, image)
    home, has_home = home_in(files, given.get("HOME") or image.config.env.get("HOME") or image.user.home)
    words = argv[1:] if order.entrypoint is not None else order.arguments
    mounts = [*order.mounts]
    if order.host_paths:
        mounts += named_mounts(files, words, given, cwd)
    places = place_mounts(files, mounts, asked=workspace, empty=image.empty, cwd=cwd, environ=environ)
    _expose(files, places, expose, cwd, environ)
    if places.workspace is None:
        places.workspace = default_workspace(files, words, home)
    where = files.real(posixpath.normpath(order.workdir or image.config.workdir or "/"))
    notes = [*order.notes, *image.notes, *places.notes]
    if not has_home:
        notes.append(f"The image's user has no home folder; in the box it is {home}.")
    return Launch(
        command=order.command,
        argv=argv,
        cwd=where,
        env=_environment(image, given, home=None if has_home else home),
        exposures=(),
        seeds=_seeds(files, places, [where, *map(files.real, image.config.volumes)]),
        workspace=places.workspace,
        hosts=tuple(sorted({*named_hosts(words, given), *order.hosts})),
        versions={"image": image.config.version} if image.config.version else {},
        digests={"image": image.digest},
        notes=tuple(notes),
        image=ImageRoot(image.root, image.user.user, image.user.group, home),
        mounts=tuple(places.mounts),
    )


def _argv(order: ImageOrder, image: UnpackedImage) -> tuple[str, ...]:
    """As Docker puts it together: another entrypoint does without the image's own command."""
    if order.entrypoint is not None:
        argv = (*order.entrypoint, *order.arguments)
    else:
        argv = (*image.config.entrypoint, *(order.arguments or image.config.command))
    if not argv:
        raise UsageError(
            f"{order.image}: the image names no command of its own. Name one, such as:"
            f" --image {order.image} -- /path/in/the/image"
        )
    return argv


def _expose(
    files: ImageFiles, places: Places, expose: Sequence[Path], cwd: Path, environ: Mapping[str, str]
) -> None:
    """Add what ``--expose`` names, at its own path: folders are shown, files copied."""
    for path in (absolute(each, cwd) for each in expose):
        if not path.exists():
            raise UsageError(f"--expose {path}: there is no such file or folder.")
        refuse_wide(path.resolve(), environ, "--expose")
        at = files.real(str(path))
        found = None if path.is_dir() else copy(path.resolve())
        if found is None:
            places.mounts.append((str(path.resolve()), at))
        else:
            places.seeds += [dataclasses.replace(entry, path=at) for entry in found.entries]


def _environment(image: UnpackedImage, given: Mapping[str, str], home: str | None) -> Mapping[str, str]:
    """The image's variables, the user's over them; the box's own trust in the gateway is not the image's to set."""
    own = {name: value for name, value in image.config.env.items() if name not in ENVIRONMENT}
    fixed = _FIXED if home is None else {**_FIXED, "HOME": home}
    return {**own, **fixed, **given}


def _seeds(files: ImageFiles, places: Places, folders: Sequence[str]) -> tuple[SeedEntry, ...]:
    """What was placed, and the folders that an engine would make because the image names them."""
    missing = [folder_entry(Path(path)) for path in folders if path != "/" and not files.has(path)]
    seeds = {seed.path: seed for seed in (*missing, *places.seeds)}
    return tuple(seeds[path] for path in sorted(seeds))
