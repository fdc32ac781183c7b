"""Who an image's server runs as: ``USER`` and ``-u``, by the accounts that the image itself lists.

As engines resolve it (runc, libcontainer/user): a name has to be listed, a number need not be; group 0 and no
home where nothing is listed; further groups only where no group is named.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.errors import ImageError
from sandbox.linux.beneath import open_in_root, read_up_to

_LARGEST = 4 << 20
_LAST_ID = 2**32 - 2


@dataclass(frozen=True, slots=True)
class Account:
    """The ids that a server has in its image. ``name`` and ``home`` are "" where the image lists none."""

    user: int = 0
    group: int = 0
    groups: tuple[int, ...] = ()
    name: str = ""
    home: str = ""


def account(root: int, user: str, further: Sequence[str] = ()) -> Account:
    """The account for ``USER[:GROUP]``, names or numbers ("" for root), with further groups (``--group-add``).

    ``root`` is a descriptor of the unpacked image. Raises ImageError for a name that the image does not list.
    """
    wanted, _, wanted_group = user.partition(":")
    wanted = wanted or "0"
    lines = _lines(root, "etc/passwd", 6)
    listed = next((line for line in lines if line[0] == wanted), None) or next(
        (line for line in lines if line[2] == wanted), None
    )
    number = _id(listed[2]) if listed else _id(wanted)
    if number is None:
        raise ImageError(f"it has no user {wanted!r} in its /etc/passwd; name one by number")
    groups = _lines(root, "etc/group", 3)
    group = _id(listed[3]) if listed else None
    extra: list[int] = []
    if wanted_group:
        group = _group(groups, wanted_group)
    elif listed:
        members = (line for line in groups if len(line) > 3 and listed[0] in line[3].split(","))
        extra = [found for line in members if (found := _id(line[2])) is not None]
    extra += [_group(groups, name) for name in further]
    return Account(
        user=number,
        group=group or 0,
        groups=tuple(dict.fromkeys(extra)),
        name=listed[0] if listed else "",
        home=listed[5] if listed else "",
    )


def _group(groups: list[list[str]], wanted: str) -> int:
    listed = next((line for line in groups if line[0] == wanted), None)
    found = _id(listed[2] if listed else wanted)
    if found is None:
        raise ImageError(f"it has no group {wanted!r} in its /etc/group; name one by number")
    return found


def _id(text: str) -> int | None:
    number = int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else _LAST_ID + 1
    return number if number <= _LAST_ID else None


def _lines(root: int, path: str, fields: int) -> list[list[str]]:
    """The lines of a file of accounts that have as many fields; none where it is not there."""
    try:
        opened = open_in_root(root, path, os.O_RDONLY)
    except OSError:
        return []
    try:
        text = read_up_to(opened, _LARGEST).decode("utf-8", "replace")
    except OSError:  # a folder
        return []
    finally:
        os.close(opened)
    split = (line.split(":") for line in text.splitlines())
    return [line for line in split if len(line) >= fields]
