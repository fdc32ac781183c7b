"""What ``docker run`` mounts: ``-v``, ``--mount`` and ``--tmpfs``, as places in the box that are to be filled."""

from __future__ import annotations

import csv
import os
import posixpath
import re
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import UsageError

_VOLUME_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_READ_ONLY = frozenset({"ro", "readonly"})


@dataclass(frozen=True, slots=True)
class Mount:
    """A place of an image's server that the user fills.

    ``target`` is absolute in the box. ``source`` is the file or folder of the host whose copy goes there; ""
    stands for a volume, or with ``scratch`` for a tmpfs, both of which a box always has new. ``must_exist`` says
    that docker itself would refuse a ``source`` that is not there; else it would make a folder. ``read_only`` is
    what was asked: the copy in a box can be written all the same.
    """

    target: str
    source: str = ""
    read_only: bool = False
    must_exist: bool = False
    scratch: bool = False


def of_volume(value: str, cwd: Path, spelled: str = "-v") -> Mount:
    """Read ``[SOURCE:]TARGET[:OPTIONS]``. A source without a slash names a volume. Raises UsageError."""
    parts = value.split(":")
    if len(parts) > 3 or not all(parts):
        raise UsageError(f"{spelled} {value}: write SOURCE:TARGET or SOURCE:TARGET:ro.")
    if len(parts) == 1:
        return Mount(_target(parts[0], f"{spelled} {value}"))
    source, target, *options = parts
    read_only = bool(options) and not _READ_ONLY.isdisjoint(options[0].split(","))
    return Mount(_target(target, f"{spelled} {value}"), _source(source, cwd, f"{spelled} {value}"), read_only)


def of_mount(value: str, cwd: Path) -> Mount:
    """Read ``type=bind,src=DIR,dst=DIR,readonly``; also ``volume`` (the default type) and ``tmpfs``.

    Raises UsageError.
    """
    named = f"--mount {value}"
    fields: dict[str, str] = {}
    try:
        words = next(csv.reader([value]), [])
    except csv.Error as error:
        raise UsageError(
            f"--mount {value!r}: no list of words with commas between them ({error})."
        ) from error
    for word in words:
        key, _, text = word.partition("=")
        fields[key.strip().lower()] = text
    kind = fields.get("type", "volume")
    target = fields.get("target") or fields.get("dst") or fields.get("destination") or ""
    source = fields.get("source") or fields.get("src") or ""
    read_only = any(fields.get(key, "false") in ("", "true", "1") for key in _READ_ONLY)
    if not target:
        raise UsageError(f"{named}: where to? Add dst=/a/folder.")
    place = _target(target, named)
    if kind in ("volume", "tmpfs"):
        return Mount(place, read_only=read_only, scratch=kind == "tmpfs")
    if kind != "bind":
        raise UsageError(
            f"{named}: mounts of type {kind} cannot be had in a box; bind, volume and tmpfs can."
        )
    if not source:
        raise UsageError(f"{named}: what of? Add src=/a/folder.")
    return Mount(place, _source(source, cwd, named, bind=True), read_only, must_exist=True)


def of_tmpfs(value: str) -> Mount:
    """Read ``TARGET[:OPTIONS]``. Raises UsageError."""
    return Mount(_target(value.partition(":")[0], f"--tmpfs {value}"), scratch=True)


def _target(path: str, named: str) -> str:
    if not path.startswith("/"):
        raise UsageError(f"{named}: {path!r} is no absolute path, which a place in a container has to be.")
    target = posixpath.normpath(path)
    if target in ("/", "//"):
        raise UsageError(f"{named}: nothing can be mounted over the whole of an image.")
    return "/" + target.lstrip("/")


def _source(source: str, cwd: Path, named: str, *, bind: bool = False) -> str:
    if "${" in source:
        raise UsageError(
            f"{named}: {source} is a variable that a client fills in. Write the folder that it means."
        )
    if source.startswith("~"):
        raise UsageError(f"{named}: without a shell nothing expands ~. Write the whole path.")
    if bind or source in (".", "..") or source.startswith(("/", "./", "../")):
        return os.path.normpath(os.path.join(cwd, source))
    if not _VOLUME_NAME.fullmatch(source):
        raise UsageError(f"{named}: {source!r} is neither a volume's name nor an absolute path.")
    return ""
