"""``hintproof explain CODE``: any word of a report, explained for people."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cache

from sandbox.errors import UsageError
from sandbox.policy.classes import CLASSES
from sandbox.policy.glossary import (
    CONFIDENCES,
    EFFECTS,
    HINTS,
    INSTRUMENTS,
    SEVERITIES,
    VERDICTS,
    WEIGHTS,
    Word,
)
from sandbox.policy.profiles import PROFILES, Profile
from sandbox.policy.reasons import REASONS, ReasonEntry


def explain(code: str) -> str:
    """The explanation of a reason code, hint, verdict, weight, severity, confidence, effect, instrument or
    profile.

    Case does not matter. UsageError with the nearest words for one that is not in the list.
    """
    pages = _pages()
    page = pages.get(code.strip().lower())
    if page is not None:
        return page
    near = difflib.get_close_matches(code.lower(), pages, n=3)
    hint = (
        f"Did you mean {' or '.join(near)}?"
        if near
        else f"There are words of these sorts: {', '.join(codes())}."
    )
    raise UsageError(f"Nothing is called {code!r}. {hint}")


def codes() -> dict[str, tuple[str, ...]]:
    """Every word that ``explain`` knows, by sort (``reason``, ``hint``, ...), in the order of a report."""
    by_sort: dict[str, list[str]] = {}
    for word, sort, _ in _entries():
        by_sort.setdefault(sort, []).append(word)
    return {sort: tuple(words) for sort, words in by_sort.items()}


@cache
def _pages() -> dict[str, str]:
    return {word.lower(): page for word, _, page in _entries()}


def _entries() -> Iterator[tuple[str, str, str]]:
    for code, entry in REASONS.items():
        yield code.value, "reason", _reason_page(entry)
    for table in (HINTS, VERDICTS, SEVERITIES, CONFIDENCES, WEIGHTS, INSTRUMENTS):
        for name, word in table.items():
            yield name.value, word.sort, _word_page(name.value, word)
    for server_class, word in CLASSES.items():
        if server_class.value not in VERDICTS:  # `contradicted` is explained as a verdict
            yield server_class.value, word.sort, _word_page(server_class.value, word)
    for kind, sentence in EFFECTS.items():
        yield kind.value, "effect", f"{kind.value} (effect)\n\n{sentence}\n"
    for profile in PROFILES.values():
        yield profile.name, "profile", _profile_page(profile)


def _reason_page(entry: ReasonEntry) -> str:
    verdicts = ", ".join(sorted(verdict.value for verdict in entry.verdicts))
    return (
        f"{entry.code.value} (reason, beside: {verdicts})\n{entry.title}\n\n"
        f"{entry.meaning}\n\nGiven when: {entry.given}\n\nNext: {entry.next_step}\n"
    )


def _word_page(name: str, word: Word) -> str:
    return f"{name} ({word.sort})\n{word.title}\n\n{word.explanation}\n"


def _profile_page(profile: Profile) -> str:
    counts = "\n".join(
        f"  {hint.value}: {', '.join(sorted(weight.value for weight in weights))}"
        for hint, weights in profile.counts.items()
    )
    return (
        f"{profile.name} (profile)\n{profile.title}\n\n{profile.explanation}\n\n"
        f"Weights that contradict each hint's claim:\n{counts}\n"
    )
