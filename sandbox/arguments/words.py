"""Names taken apart: words of an identifier, singular forms, a tool's verbs."""

from __future__ import annotations

import re
from functools import lru_cache

_WORD = re.compile(r"(?:[A-Z]+(?![a-z])|[A-Z]?[a-z]+)[0-9]*|[0-9]+")
_SAME = frozenset({"status", "address", "access", "process", "class", "alias", "css", "https", "dns", "sms", "progress", "canvas", "analysis", "series", "news", "os"})  # fmt: skip


@lru_cache(maxsize=4_096)
def words_of(name: str) -> tuple[str, ...]:
    """The lower-case words of a name: ``entityName``, ``entity_name`` and ``Entity-Name`` are alike. At most 12."""
    return tuple(word.lower() for word in _WORD.findall(name[:200])[:12])


def singular(word: str) -> str:
    """The singular of an English plural, or the word itself."""
    if word in {"ids", "dbs"}:
        return word[:-1]
    if word in _SAME or len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ches", "shes", "xes", "sses", "zzes")):
        return word[:-2]
    return word[:-1]


@lru_cache(maxsize=4_096)
def singulars(words: tuple[str, ...]) -> tuple[str, ...]:
    """Each word's singular."""
    return tuple(singular(word) for word in words)


def one_line(text: str, most: int) -> str:
    """Text on one line, cut to ``most`` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"
