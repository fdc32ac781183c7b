"""Profiles: what a hint's words mean to the reader, as data that the judge reads.

The shipped profile is ``spec``, the wording of the MCP schema (``ToolAnnotations``, unchanged from 2025-03-26
to 2026-07-28).
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sandbox.errors import UsageError
from sandbox.model import Hint, Weight


@dataclass(frozen=True, slots=True)
class Profile:
    """One reading of the hints.

    ``counts`` says, per hint, the weights of effects that contradict its claim. A weight that is
    not named there is listed and does not contradict.
    """

    name: str
    title: str
    explanation: str
    counts: Mapping[Hint, frozenset[Weight]]


SPEC = Profile(
    name="spec",
    title="The wording of the MCP specification",
    explanation=(
        "A read-only tool leaves nothing behind; bookkeeping in files that the server made itself (caches, logs) and "
        "what is made lazily on first use are tolerated and listed. A contact counts for openWorldHint whether or "
        "not it leaves anything."
    ),
    counts=MappingProxyType(
        {
            Hint.READ_ONLY: frozenset({Weight.MATERIAL}),
            Hint.DESTRUCTIVE: frozenset({Weight.MATERIAL}),
            Hint.IDEMPOTENT: frozenset({Weight.MATERIAL}),
            # A contact leaves nothing in the box by nature, so what is transient elsewhere counts here.
            Hint.OPEN_WORLD: frozenset({Weight.MATERIAL, Weight.INCIDENTAL, Weight.TRANSIENT}),
        }
    ),
)

PROFILES: Mapping[str, Profile] = MappingProxyType({SPEC.name: SPEC})
"""Every shipped profile by its name."""


def profile_named(name: str) -> Profile:
    """The shipped profile of that name; UsageError with the nearest name where there is none."""
    if name in PROFILES:
        return PROFILES[name]
    near = difflib.get_close_matches(name, PROFILES, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there is: {', '.join(PROFILES)}."
    raise UsageError(f"No profile is called {name!r}; {hint}")
