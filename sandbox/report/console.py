"""Where a report is printed, and the ink that it is printed with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO

from rich.console import Console
from rich.text import Text

from sandbox.report.escaping import Masker, visible, visible_lines

PLAIN_WIDTH = 100
"""Columns of a report that goes to a file or a CI log, unless COLUMNS says otherwise."""

_IN_ASCII = str.maketrans({"·": "-", "…": "...", "–": "-", "✗": "x", "→": "->"})


def make_console(stream: IO[str]) -> Console:
    """A console on ``stream``: Rich on a terminal, plain lines of 100 columns elsewhere; NO_COLOR is honoured.

    It reads no markup and no emoji names, so that text stays what it is.
    """
    console = Console(file=stream, markup=False, emoji=False, highlight=False, legacy_windows=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PLAIN_WIDTH
    return console


class Ink:
    """Makes text printable on one console: ours in its encoding, the server's also escaped and without secrets."""

    def __init__(self, console: Console, secrets: Sequence[str] = ()) -> None:
        self._encoding = console.encoding
        self._is_unicode = console.encoding.lower().replace("-", "").startswith("utf")
        self._mask = Masker(secrets)

    def ours(self, text: str, style: str = "") -> Text:
        """Text of our own."""
        return Text(self._fit(text), style)

    def theirs(self, text: str, style: str = "", limit: int = 400) -> Text:
        """One line of text that the server, or what it touched, has a hand in."""
        return Text(self._fit(visible(self._mask(text), limit)), style)

    def their_lines(self, text: str, most: int) -> list[str]:
        """Lines of such text, at most ``most``."""
        return [self._fit(line) for line in visible_lines(self._mask(text), most, limit=200)]

    def _fit(self, text: str) -> str:
        if self._is_unicode:
            return text
        return text.translate(_IN_ASCII).encode(self._encoding, "backslashreplace").decode(self._encoding)
