"""Regular expressions of schemas: text that matches one, and whether a text does, both in bounded time.

Schemas speak the dialect of ECMA 262. It is translated to Python's where the two differ; what cannot be
translated is called unreadable and judged by nobody. Expressions that could take exponential time are matched
by a small backtracking walk with a step limit instead of ``re``, which has none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_MAX_PATTERN = 4_000
_MAX_TEXT = 256
_MAX_STEPS = 40_000
_PROPERTIES = {
    "L": r"[^\W\d_]",
    "Letter": r"[^\W\d_]",
    "Lu": "[A-Z]",
    "Ll": "[a-z]",
    "N": r"\d",
    "Nd": r"\d",
    "P": r"[!-/:-@\[-`{-~]",
    "Z": r"\s",
    "Zs": r"\s",
    "S": "[$+<=>^`|~]",
}
_ALPHABET = (
    "abcdefghijklmnopqrstuvwxyz1234567890ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.:/@ +=,;!?#$%&*()[]{}<>'\"\\|~^`\t\n"
)
_GUESSES = (
    "Sample-1",
    "aA1!aA1!",
    "alpha",
    "1",
    "alpha@example.com",
    "https://example.com/",
    "a-b",
    "2024-01-15",
    "Aa1-Aa1-",
)


@lru_cache(maxsize=512)
def _parsed(pattern: str) -> tuple[re.Pattern[str], Any, bool] | None:
    """The compiled expression, its parse tree, and whether ``re`` may be trusted with it; None when unreadable."""
    if len(pattern) > _MAX_PATTERN:
        return None
    text = re.sub(r"\(\?<(?![=!])", "(?P<", pattern)
    text = re.sub(r"\\p\{([A-Za-z]+)\}", lambda found: _property(found, text), text)
    text = re.sub(r"\\u\{([0-9A-Fa-f]{1,4})\}", lambda found: "\\u" + found[1].zfill(4), text)
    text = text.replace("[^]", r"[\s\S]")
    # In ECMA 262 the dollar sign stands for the very end, not for the place before a last newline.
    text = re.sub(r"(?<!\\)((?:\\\\)*)\$$", r"\1\\Z", text)
    try:
        tree = parser.parse(text)
        unbounded, nested = _repeats(tree, False)
        return re.compile(text), tree, unbounded <= 3 and not nested
    except (re.error, OverflowError, RecursionError, ValueError):
        return None


def _property(found: re.Match[str], text: str) -> str:
    known = _PROPERTIES.get(found[1])
    if known is None:
        raise ValueError(found[0])
    before = text[: found.start()]
    inside = before.count("[") - before.count("\\[") > before.count("]") - before.count("\\]")
    if not inside:
        return known
    # Inside a class the bare members stand; letters beyond ASCII are given up there.
    return {"L": "a-zA-Z", "Letter": "a-zA-Z"}.get(found[1], known.strip("[]"))


def _repeats(tree: Any, inside: bool) -> tuple[int, bool]:
    """How many far-reaching repeats a tree has, and whether one lies inside another."""
    count, nested = 0, False
    for operation, argument in tree:
        parts = _parts(operation, argument)
        wide = False
        if operation in _REPEATS:
            low, high, _ = argument
            wide = high > 10 and high > low
            count += wide
            nested = nested or (wide and inside)
        for part in parts:
            more, deeper = _repeats(part, inside or wide)
            count, nested = count + more, nested or deeper
    return count, nested


_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def _parts(operation: Any, argument: Any) -> list[Any]:
    if operation in _REPEATS:
        return [argument[2]]
    if operation is codes.SUBPATTERN:
        return [argument[3]]
    if operation is codes.BRANCH:
        return list(argument[1])
    if operation in (codes.ASSERT, codes.ASSERT_NOT):
        return [argument[1]]
    if operation is codes.ATOMIC_GROUP:
        return [argument]
    if operation is codes.GROUPREF_EXISTS:
        return [part for part in argument[1:] if part is not None]
    return []


def readable(pattern: str) -> bool:
    """Whether the expression could be translated and compiled."""
    return _parsed(pattern) is not None


def search(pattern: str, text: str) -> bool | None:
    """Whether the expression matches somewhere in the text; None where it is unreadable. Not told in time is False."""
    parsed = _parsed(pattern)
    if parsed is None:
        return None
    compiled, tree, calm = parsed
    if calm and len(text) <= _MAX_TEXT:
        return compiled.search(text) is not None
    if len(text) > _MAX_TEXT:
        # A few expressions are linear in any text; these two forms are common for long strings.
        return pattern in {"", ".*", "^.*$", "^[\\s\\S]*$"}
    return _Walk(text).found(tree)


def sample(pattern: str, shortest: int = 0, longest: int = _MAX_TEXT, turn: int = 0) -> str | None:
    """A text that the expression matches, with a length in the bounds; another one for another ``turn``.

    None where none was found: then say so and leave the field out.
    """
    parsed = _parsed(pattern)
    if parsed is None:
        return None
    found: list[str] = []
    for attempt in range(24):
        written = _write(parsed[1], attempt)
        candidates = [written]
        if len(written) < shortest:
            candidates += [
                written + "a" * (shortest - len(written)),
                written + "0" * (shortest - len(written)),
            ]
        for text in [*candidates, *(_GUESSES if attempt == 23 else ())]:
            if shortest <= len(text) <= longest and text not in found and search(pattern, text):
                found.append(text)
        if len(found) > turn:
            return found[turn]
    return found[-1] if found else None


def _write(tree: Any, attempt: int, groups: dict[int, str] | None = None) -> str:
    groups = {} if groups is None else groups
    out = ""
    for operation, argument in tree:
        if operation is codes.LITERAL:
            out += chr(argument)
        elif operation in (codes.NOT_LITERAL, codes.ANY, codes.IN):
            fitting = [one for one in _ALPHABET if _fits(operation, argument, one)]
            out += fitting[(attempt * 3 + len(out)) % len(fitting)] if fitting else _odd(operation, argument)
        elif operation in _REPEATS:
            low, high, part = argument
            # Once is more telling than never; later attempts are longer.
            times = min(high, max(low, 1) + attempt % 8) if attempt % 3 else min(high, max(low, 1))
            for _ in range(min(times if attempt != 1 else low, 64)):
                out += _write(part, attempt, groups)
        elif operation is codes.SUBPATTERN:
            text = _write(argument[3], attempt, groups)
            if argument[0] is not None:
                groups[argument[0]] = text
            out += text
        elif operation is codes.BRANCH:
            branches = argument[1]
            out += _write(branches[attempt % len(branches)], attempt, groups)
        elif operation is codes.GROUPREF:
            out += groups.get(argument, "")
        elif operation is codes.ATOMIC_GROUP:
            out += _write(argument, attempt, groups)
        if len(out) > _MAX_TEXT:
            break
    return out[:_MAX_TEXT]


def _odd(operation: Any, argument: Any) -> str:
    """A character of a class that holds nothing of the usual alphabet."""
    if operation is codes.IN:
        for kind, value in argument:
            if kind is codes.LITERAL:
                return chr(value)
            if kind is codes.RANGE:
                return chr(value[0])
    return ""


def _fits(operation: Any, argument: Any, one: str) -> bool:
    if operation is codes.ANY:
        return one != "\n"
    if operation is codes.LITERAL:
        return bool(ord(one) == argument)
    if operation is codes.NOT_LITERAL:
        return bool(ord(one) != argument)
    negated = argument[0][0] is codes.NEGATE
    inside = any(_member(kind, value, one) for kind, value in argument if kind is not codes.NEGATE)
    return inside is not negated


_CATEGORIES: dict[Any, Callable[[str], bool]] = {
    codes.CATEGORY_DIGIT: str.isdecimal,
    codes.CATEGORY_SPACE: str.isspace,
    codes.CATEGORY_WORD: lambda one: one.isalnum() or one == "_",
    codes.CATEGORY_NOT_DIGIT: lambda one: not one.isdecimal(),
    codes.CATEGORY_NOT_SPACE: lambda one: not one.isspace(),
    codes.CATEGORY_NOT_WORD: lambda one: not (one.isalnum() or one == "_"),
}


def _member(kind: Any, value: Any, one: str) -> bool:
    if kind is codes.LITERAL:
        return bool(ord(one) == value)
    if kind is codes.RANGE:
        return bool(value[0] <= ord(one) <= value[1])
    return _CATEGORIES[value](one)


class _ExhaustedError(Exception):
    pass


class _Walk:
    """A backtracking matcher with a step limit; it knows what schemas use, and gives up on the rest."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.steps = 0

    def found(self, tree: Any) -> bool:
        nodes = list(tree)
        try:
            return any(True for start in range(len(self.text) + 1) for _ in self.walk(nodes, 0, start))
        except (_ExhaustedError, RecursionError):
            return False

    def walk(self, nodes: list[Any], index: int, at: int) -> Iterator[int]:
        """Every place where the nodes from ``index`` on can end when they begin at ``at``."""
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise _ExhaustedError
        if index == len(nodes):
            yield at
            return
        operation, argument = nodes[index]
        for end in self.one(operation, argument, at):
            yield from self.walk(nodes, index + 1, end)

    def one(self, operation: Any, argument: Any, at: int) -> Iterator[int]:
        if operation in (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN):
            if at < len(self.text) and _fits(operation, argument, self.text[at]):
                yield at + 1
        elif operation in _REPEATS:
            yield from self.repeat(argument[0], argument[1], list(argument[2]), at)
        elif operation is codes.SUBPATTERN:
            yield from self.walk(list(argument[3]), 0, at)
        elif operation is codes.BRANCH:
            for branch in argument[1]:
                yield from self.walk(list(branch), 0, at)
        elif operation is codes.AT:
            if self.stands(argument, at):
                yield at
        elif operation in (codes.ASSERT, codes.ASSERT_NOT) and argument[0] == 1:
            holds = any(True for _ in self.walk(list(argument[1]), 0, at))
            if holds is (operation is codes.ASSERT):
                yield at
        else:
            raise _ExhaustedError

    def repeat(self, low: int, high: int, nodes: list[Any], at: int) -> Iterator[int]:
        self.steps += 1
        if self.steps > _MAX_STEPS:
            raise _ExhaustedError
        if high > 0:
            for end in self.walk(nodes, 0, at):
                # Going round without moving on would go round for ever.
                if end > at or low > 0:
                    yield from self.repeat(max(0, low - 1), high - 1, nodes, end)
        if low == 0:
            yield at

    def stands(self, where: Any, at: int) -> bool:
        if where in (codes.AT_BEGINNING, codes.AT_BEGINNING_STRING):
            return at == 0
        if where in (codes.AT_END, codes.AT_END_STRING):
            return at == len(self.text)
        if where in (codes.AT_BOUNDARY, codes.AT_NON_BOUNDARY):
            before = at > 0 and (self.text[at - 1].isalnum() or self.text[at - 1] == "_")
            after = at < len(self.text) and (self.text[at].isalnum() or self.text[at] == "_")
            return (before != after) is (where is codes.AT_BOUNDARY)
        raise _ExhaustedError
