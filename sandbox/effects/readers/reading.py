"""What a reader found between two contents of one file: the facts that cross from the worker to the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from sandbox.model import EffectKind, Json

MAX_MEANINGS = 200
"""Changes told of one file; the rest is counted."""


class UnreadableError(Exception):
    """The content is not, or no longer, of the format: it is compared as bytes."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """One thing that changed inside a structured file.

    ``where`` names it within the file (``users[3]``); ``says`` is a sentence's beginning without the file's
    name (``deleted the row 3 of users``). ``pattern`` is what happened with volatile values masked. ``sure``
    is False where the reader could not read all that it wanted.
    """

    kind: EffectKind
    where: str
    says: str
    loses: bool = False
    volatile: bool = False
    pattern: str = ""
    sure: bool = True
    detail: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reading:
    """Two contents of one file compared. ``reader`` is the format that was understood, ``bytes`` for none.

    ``meanings`` is empty with ``understood`` True when the bytes differ and the meaning does not.
    ``appended``: the old content is the beginning of the new. ``volatile``: the texts are equal under the
    mask. ``trouble`` says why a format was not read.
    """

    reader: str
    understood: bool = False
    meanings: tuple[Meaning, ...] = ()
    omitted: int = 0
    diff: str = ""
    appended: bool = False
    volatile: bool = False
    pattern: str = ""
    trouble: str = ""
    empty: bool = False
    """For new content: it is a store that holds nothing yet (see ``readers.emptiness``)."""
    kept_blobs: frozenset[str] = frozenset()
    """For a git repository: those of the asked blob ids that its object store or index holds."""


def to_wire(reading: Reading) -> dict[str, Any]:
    """A reading as plain JSON."""
    plain = asdict(reading)
    plain["kept_blobs"] = sorted(reading.kept_blobs)
    return plain


def from_wire(plain: Mapping[str, Any]) -> Reading:
    """A reading from plain JSON. Raises KeyError, TypeError or ValueError for anything else."""
    fields = dict(plain)
    meanings = tuple(Meaning(**{**m, "kind": EffectKind(m["kind"])}) for m in fields.pop("meanings"))
    blobs = frozenset(fields.pop("kept_blobs"))
    return Reading(**fields, meanings=meanings, kept_blobs=blobs)


def bounded(reader: str, meanings: list[Meaning], **more: Any) -> Reading:
    """A reading of an understood format with at most :data:`MAX_MEANINGS` meanings, losses first among those kept."""
    ordered = sorted(meanings, key=lambda m: not m.loses) if len(meanings) > MAX_MEANINGS else meanings
    return Reading(
        reader,
        understood=True,
        meanings=tuple(ordered[:MAX_MEANINGS]),
        omitted=max(0, len(meanings) - MAX_MEANINGS),
        **more,
    )
