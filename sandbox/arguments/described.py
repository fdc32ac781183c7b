"""Examples and alternatives that a description spells out."""

from __future__ import annotations

import json
import re

from sandbox.model import Json

_QUOTED = re.compile(
    r"'([^'\n]{1,120})'|\"([^\"\n]{1,120})\"|`([^`\n]{1,120})`|\u201c([^\u201d\n]{1,120})\u201d"
)
_FOR_EXAMPLE = re.compile(
    r"(?:\be\.?g\.?,?|\bfor example,?|\bsuch as|\bexamples?:|\blike)\s+([^\s,;()'\"`]{1,80})", re.IGNORECASE
)
_APOSTROPHE = re.compile(r"\b(\w+)'(s|t|re|ll|ve|d)\b")
_NAMED = re.compile(
    r"\b(?:parameter|param|argument|field|tool|function|option|if|when|see|use)\s*$", re.IGNORECASE
)
_MAX_LENGTH = 4_000
_MAX_OBJECTS = 8


def examples_in(description: str) -> list[str]:
    """Quoted words that look like values, in their order; then what follows "e.g." without quotes. At most
    12.

    Words that name a parameter or a tool ("the 'path' parameter") are left out, and so are templates with
    dots or braces.
    """
    text = _APOSTROPHE.sub(r"\1\2", description[:_MAX_LENGTH])
    found: list[str] = []
    for match in _QUOTED.finditer(text):
        value = next(group for group in match.groups() if group is not None).strip()
        after = text[match.end() : match.end() + 14].lower()
        named = after.lstrip().startswith(("param", "argument", "field", "tool", "option")) or _NAMED.search(
            text[: match.start()]
        )
        if (
            re.search(r"\w", value)
            and not named
            and "..." not in value
            and not re.search(r"[<>{}]|YYYY|\bHH:MM", value)
        ):
            found.append(value)
    for match in _FOR_EXAMPLE.finditer(text):
        value = match[1].rstrip(".:")
        if value and value not in found and re.search(r"[\d/._@:-]", value) and "..." not in value:
            found.append(value)
    return list(dict.fromkeys(found))[:12]


def objects_in(description: str) -> list[dict[str, Json]]:
    """JSON objects written out in a description: whole examples of arguments. At most 8."""
    decoder = json.JSONDecoder()
    text = description[:_MAX_LENGTH]
    found: list[dict[str, Json]] = []
    at = text.find("{")
    while at >= 0 and len(found) < _MAX_OBJECTS:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        if isinstance(value, dict) and value:
            found.append(value)
        at = text.find("{", end)
    return found
