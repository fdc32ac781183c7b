"""The book of remarks: what the server did that is worth telling, once each and counted."""

from __future__ import annotations

from sandbox.model import Remark

_DISTINCT = 200
"""Enough for every code on every tool of a large server; a hostile one cannot grow the book further."""

_QUOTE = 160
"""Characters of the server's own text that a remark quotes."""


class RemarkBook:
    """Collects remarks; the same code about the same tool is kept once and counted."""

    def __init__(self) -> None:
        self._texts: dict[tuple[str, str | None], str] = {}
        self._counts: dict[tuple[str, str | None], int] = {}

    def add(self, code: str, text: str, tool: str | None = None, *, times: int = 1) -> None:
        """Note something. The first text of a (code, tool) stays; later ones only count."""
        key = (code, tool)
        if key in self._texts:
            self._counts[key] += times
        elif len(self._texts) < _DISTINCT:
            self._texts[key] = text
            self._counts[key] = times

    def all(self) -> tuple[Remark, ...]:
        """Everything noted so far, in order of first sight."""
        return tuple(
            Remark(
                code, text if (count := self._counts[code, tool]) == 1 else f"{text} ({count} times)", tool
            )
            for (code, tool), text in self._texts.items()
        )


def quote(raw: bytes | str) -> str:
    """The head of something that the server sent, on one line, fit for a remark."""
    text = raw[: 4 * _QUOTE].decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    line = " ".join(text[: 4 * _QUOTE].split())
    return line if len(line) <= _QUOTE else line[: _QUOTE - 1] + "…"
