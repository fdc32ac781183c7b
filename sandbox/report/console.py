"""Where a report is printed, and the ink that it is printed with."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO

from rich.cells import chop_cells
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from sandbox.report.escaping import Masker, visible, visible_lines

PLAIN_WIDTH = 100
"""Columns of a report that goes to a file or a CI log, unless COLUMNS says otherwise."""

_IN_ASCII = str.maketrans({"·": "-", "…": "...", "–": "-", "✗": "x", "→": "->"})


def make_console(stream: IO[str]) -> Console:
    """A console on ``stream``: Rich on a terminal, plain lines of 100 columns elsewhere; NO_COLOR is
    honoured.

    It reads no markup and no emoji names, so that text stays what it is.
    """
    console = Console(file=stream, markup=False, emoji=False, highlight=False, legacy_windows=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PLAIN_WIDTH
    return console


def show(console: Console, *renderables: RenderableType) -> None:
    """Print each; where the output is no terminal, without the spaces that Rich pads lines with."""
    for renderable in renderables:
        if console.is_terminal:
            console.print(renderable)
            continue
        for line in console.render_lines(renderable, pad=False):
            console.out(
                "".join(segment.text for segment in Segment.remove_color(line)).rstrip(), highlight=False
            )


def hanging(label: RenderableType, content: RenderableType) -> Table:
    """A label and its content, of which no line reaches the left margin: wrapped text cannot pose as a line of ours."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(label, content)
    return grid


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

    def their_start(self, text: str, style: str = "", limit: int = 400) -> Text:
        """As much of one such line as there is room for."""
        line = self.theirs(text, style, limit)
        line.no_wrap, line.overflow = True, "ellipsis" if self._is_unicode else "crop"
        return line

    def their_name(self, name: str, width: int, style: str = "") -> Text:
        """A name in a column at the left margin: lines after the first are indented, so that none looks like a name."""
        shown = self.theirs(name, limit=120).plain
        head, *tail = chop_cells(shown, width) or [""]
        return Text("\n  ".join([head, *chop_cells("".join(tail), width - 2)]), style)

    def their_lines(self, text: str, most: int) -> list[str]:
        """Lines of such text, at most ``most``."""
        return [self._fit(line) for line in visible_lines(self._mask(text), most, limit=200)]

    def _fit(self, text: str) -> str:
        if self._is_unicode:
            return text
        return text.translate(_IN_ASCII).encode(self._encoding, "backslashreplace").decode(self._encoding)
