"""The seccomp profile of the engine's container: ``seccomp.json`` beside this module, as Docker takes it."""

from __future__ import annotations

import functools
import json
from importlib.resources import files
from typing import Any


@functools.cache
def profile() -> str:
    """The profile as JSON text, without its comments."""
    text = files("sandbox.containers").joinpath("seccomp.json").read_text(encoding="utf-8")
    return json.dumps(json.loads(text, object_hook=_without_comment))


def _without_comment(entry: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if key != "comment"}
