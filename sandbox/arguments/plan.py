"""What one set of arguments should hold, and where in it we are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from sandbox.arguments.flat import Flat
from sandbox.arguments.intent import Intent
from sandbox.arguments.scene import Field
from sandbox.model import Json

Path: TypeAlias = "tuple[str, ...]"
"""Where a field is: property names from the top, ``[]`` for the items of an array."""

ITEMS = "[]"


@dataclass(frozen=True)
class Plan:
    """What one set of arguments holds besides the required fields.

    ``full`` includes every optional field, ``include`` some; ``values`` fixes fields, ``picks`` takes another
    aim of a field, ``branches`` another branch of a choice. ``turn`` 1 asks for a second set of values;
    ``intended`` is what a chosen action makes the tool do.
    """

    full: bool = False
    include: frozenset[Path] = frozenset()
    values: Mapping[Path, Json] = field(default_factory=dict)
    picks: Mapping[Path, int] = field(default_factory=dict)
    branches: Mapping[Path, int] = field(default_factory=dict)
    turn: int = 0
    intended: Intent | None = None

    def wants(self, path: Path) -> bool:
        """Whether an optional field is included: named itself, or holding one that is."""
        named = (*self.include, *self.values, *self.picks, *self.branches)
        return any(one[: len(path)] == path for one in named)

    def for_item(self, path: Path, index: int) -> Plan:
        """The plan for the item of an array: later items take other values than the first."""
        if index == 0:
            return self
        return replace(
            self, turn=self.turn + index, picks={**self.picks, path: self.picks.get(path, 0) + index}
        )


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a value is being built. ``refs`` are the references followed on the way; ``deep`` asks to come to an end."""

    path: Path
    about: Field
    plan: Plan
    depth: int = 0
    refs: frozenset[str] = frozenset()
    deep: bool = False

    def within(self, step: str, about: Field, plan: Plan | None = None) -> Spot:
        """The spot of a property or an item inside this one."""
        return Spot((*self.path, step), about, plan or self.plan, self.depth + 1, self.refs)


@dataclass(frozen=True, slots=True)
class Slot:
    """One field that a sweep can vary: where it is, what it may be, and whether every call has it."""

    path: Path
    about: Field
    flat: Flat
    required: bool

    @property
    def name(self) -> str:
        """The field's place in one word: ``mode``, ``edits[].oldText``."""
        return dotted(self.path)


def dotted(path: Path) -> str:
    """A path in one word."""
    return ".".join(path).replace(f".{ITEMS}", ITEMS)
