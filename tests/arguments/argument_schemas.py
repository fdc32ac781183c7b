"""Short hands for schemas in tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox.arguments import Proposal

Propose = Callable[..., list[Proposal]]
"""The ``proposals`` fixture."""


def fields(**properties: Any) -> dict[str, Any]:
    """An object schema that requires all of these properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}
