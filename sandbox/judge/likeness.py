"""Whether what two boxes showed is the same: effects are paired off one to one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from itertools import takewhile

from sandbox.model import Effect


class Likeness(IntEnum):
    """How alike an effect and its partner in another box are."""

    NONE = 0
    """No partner is left for it."""
    AKIN = 1
    """The same kind, or the same place: a random name, a different content."""
    SAME = 2
    """The same kind, and the same fingerprint or subject."""


_COMPARED = 32
"""How many free partners are looked through for the most similar subject: a flood of files must not cost its square."""


def pair_off(effects: Sequence[Effect], others: Sequence[Effect]) -> tuple[Likeness, ...]:
    """How alike each of ``effects`` is to its own partner among ``others``, in the order of ``effects``.

    No effect of ``others`` is the partner of two: where one box shows two new files and the other one, one of
    the two has no partner.
    """
    likeness = [Likeness.NONE] * len(effects)
    taken: set[int] = set()
    for key_of, degree in _TESTS:
        free: dict[tuple[str, ...], list[int]] = {}
        for index, other in enumerate(others):
            if index not in taken:
                free.setdefault(key_of(other), []).append(index)
        for index, effect in enumerate(effects):
            partners = free.get(key_of(effect), [])
            if likeness[index] is Likeness.NONE and partners and all(key_of(effect)):
                best = max(
                    partners[:_COMPARED], key=lambda other: _common(effect.subject, others[other].subject)
                )
                partners.remove(best)
                taken.add(best)
                likeness[index] = degree
    return tuple(likeness)


def _common(one: str, other: str) -> int:
    """How many characters two subjects have in common at their start."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _place(effect: Effect) -> str:
    # A log is created in a new box and appended to in one where another call came first: PATH, then
    # PATH#record.
    return effect.subject.split("#", 1)[0]


_TESTS: tuple[tuple[Callable[[Effect], tuple[str, ...]], Likeness], ...] = (
    (lambda effect: (effect.kind, effect.subject, effect.fingerprint), Likeness.SAME),
    (lambda effect: (effect.kind, effect.subject), Likeness.SAME),
    (lambda effect: (effect.kind, effect.fingerprint), Likeness.SAME),
    (lambda effect: (effect.kind,), Likeness.AKIN),
    (lambda effect: (_place(effect),), Likeness.AKIN),
)
"""Keys by which effects are partners, the strictest first; an empty part makes a key no key."""
