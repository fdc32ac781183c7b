"""The one door for text that a server controls: nothing behind it can move the cursor, colour, hide or forge
a line.

Everything invisible becomes a visible escape (``\\x1b``, ``\\u202e``), so that what people read is what was
sent. Values that the user gave with ``-e`` are masked here too.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

MASK = "[redacted]"

_SHORTEST_SECRET = 4
"""Shorter values (``1``, ``yes``) are not masked: that would tear up the report and hide nothing."""

# Cc controls (C0, C1, ANSI, OSC), Cf formats (bidirectional, zero-width, tags), Cs lone surrogates, Co and Cn
# code points without an agreed glyph, Zl and Zp line and paragraph separators.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks that draw nothing: grapheme joiner, Hangul fillers, Khmer inherent vowels, Mongolian and
# other variation selectors, the empty braille cell.
_BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0\u180b\u180c\u180d\u180f\u2800")
_VARIATION = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
_MOST_MARKS = 3
"""Combining marks in a row that are drawn; a taller pile would run over the lines above and below."""

# Workflow commands that CI systems read from any log line: `::name ...::` (GitHub; an IPv6 address such as
# 2001:db8::a1 is none), `##[name]` and `##vso[...]` (Azure Pipelines).
_COMMAND = re.compile(r":(?=:[A-Za-z_])(?!:[0-9A-Fa-f]{1,4}(?![\w-]))|#(?=#(?:\[|vso\[))")
_PLAIN = re.compile(r"[ -~]*\Z")


def visible(text: str, limit: int = 400) -> str:
    """One line of safe text: every control, format or blank character as an escape, at most ``limit``
    characters.

    What is cut off is counted at the end. Rich markup stays as it is: renderers print
    :class:`rich.text.Text`, which reads none.
    """
    shown = text[:limit]
    if not _PLAIN.match(shown):
        shown = _escaped(shown)
    shown = _COMMAND.sub(lambda match: f"\\x{ord(match[0]):02x}", shown)
    return shown if len(text) <= limit else f"{shown}… ({len(text) - limit} more characters)"


def visible_lines(text: str, most: int, limit: int = 400) -> list[str]:
    """The lines of a text, each made :func:`visible`; only ``\\n`` ends a line. At most ``most`` lines, and
    how many more."""
    lines = text.split("\n")
    shown = [visible(line, limit) for line in lines[:most]]
    return shown if len(lines) <= most else [*shown, f"… {len(lines) - most} more lines"]


class Masker:
    """Replaces every value that the user gave with ``-e`` by ``[redacted]``, however it is written.

    It knows the value as such, inside a JSON string, and percent-encoded in a URL.
    """

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        forms: set[str] = set()
        for secret in secrets:
            if len(secret) >= _SHORTEST_SECRET:
                forms |= {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
                forms |= {quote(secret, safe="", errors="replace"), quote(secret, errors="replace")}
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def __call__(self, text: str) -> str:
        """The text without the secrets."""
        return self._pattern.sub(MASK, text) if self._pattern else text


def plain_json(value: object, mask: Masker) -> Any:
    """A JSON value that every parser reads, masked: lone surrogates and DEL as escapes, NaN and infinities as strings."""
    if isinstance(value, str):
        return _parsable(mask(value))
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {_parsable(mask(str(key))): plain_json(item, mask) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item, mask) for item in value]
    return value


def _parsable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode().replace("\x7f", "\\x7f")


def _escaped(text: str) -> str:
    parts = []
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        marks = marks + 1 if category in ("Mn", "Me", "Mc") else 0
        hidden = category in _INVISIBLE or character in _BLANKS or marks > _MOST_MARKS
        if hidden or any(ord(character) in span for span in _VARIATION):
            parts.append(_escape(ord(character)))
        else:
            parts.append(character)
    return "".join(parts)


def _escape(code: int) -> str:
    named = {0x09: "\\t", 0x0A: "\\n", 0x0D: "\\r"}
    if code in named:
        return named[code]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
