"""Regular expressions of schemas: text that matches one, and whether a text does, both in bounded time.

Schemas speak the dialect of ECMA 262. It is translated to Python's where the two differ; what cannot be
translated is called unreadable and judged by nobody. Expressions that could take exponential time are matched
by a small backtracking walk with a step limit instead of ``re``, which has none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_MAX_PATTERN = 4_000
_MAX_TEXT = 256
_MAX_STEPS = 40_000
_MAX_SAMPLED = 100_000
_MAX_WRITTEN = 2_000
_MAX_BITS = 24
"""How much work an expression may be for ``re``: the two's logarithm of the ways in which it could match one text."""
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
def _parsed(pattern: str) -> tuple[re.Pattern[str], Any] | None:
    """The compiled expression and its parse tree; None when unreadable."""
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
        return re.compile(text), tree
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


def _is_calm(tree: Any, length: int) -> bool:
    """Whether ``re`` may be trusted with an expression and a text of a length."""
    try:
        return math.log2(length + 1) + _bits(tree, length) <= _MAX_BITS
    except RecursionError:
        return False


def _bits(tree: Any, length: int) -> float:
    """The two's logarithm of the work of matching a tree with one text of a length, as an upper bound."""
    bits = 0.0
    for operation, argument in tree:
        within = [_bits(part, length) for part in _parts(operation, argument)]
        if operation in _REPEATS:
            low, high, part = argument
            rounds = min(high, max(low, length))
            if part.getwidth()[0] == 0:  # rounds that consume nothing are no less work
                bits += math.log2(max(1, low))
            bits += math.log2(max(1, min(high - low, length) + 1)) + (
                rounds * within[0] if within[0] else 0.0
            )
        elif operation is codes.BRANCH:
            bits += math.log2(len(within)) + max(within)
        else:
            bits += sum(within)
        if bits > _MAX_BITS:
            break
    return bits


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
    return None if parsed is None else _search(pattern, *parsed, text)[0]


def _search(pattern: str, compiled: re.Pattern[str], tree: Any, text: str) -> tuple[bool, int]:
    """Whether it matches, and the steps that it took to tell."""
    if len(text) > _MAX_TEXT:
        # A few expressions are linear in any text; these two forms are common for long strings.
        return pattern in {"", ".*", "^.*$", "^[\\s\\S]*$"}, 0
    if _is_calm(tree, len(text)):
        return compiled.search(text) is not None, 0
    walk = _Walk(text)
    return walk.found(tree), walk.steps


def sample(pattern: str, shortest: int = 0, longest: int = _MAX_TEXT, turn: int = 0) -> str | None:
    """A text that the expression matches, with a length in the bounds; another one for another ``turn``.

    None where none was found: then say so and leave the field out.
    """
    parsed = _parsed(pattern)
    if parsed is None:
        return None
    found: list[str] = []
    steps = 0
    fitting: dict[int, list[str]] = {}
    for attempt in range(24):
        if steps > _MAX_SAMPLED:
            break
        written = _Writer(attempt, fitting).write(parsed[1])
        candidates = [written]
        if len(written) < shortest:
            candidates += [
                written + "a" * (shortest - len(written)),
                written + "0" * (shortest - len(written)),
            ]
        for text in [*candidates, *(_GUESSES if attempt == 23 else ())]:
            if shortest <= len(text) <= longest and text not in found:
                matches, spent = _search(pattern, *parsed, text)
                steps += spent
                if matches:
                    found.append(text)
        if len(found) > turn:
            return found[turn]
    return found[-1] if found else None


class _Writer:
    """Writes one text that an expression describes, in a bounded number of steps."""

    def __init__(self, attempt: int, fitting: dict[int, list[str]]) -> None:
        self._attempt = attempt
        self._fitting = fitting  # by the class of characters
        self._groups: dict[int, str] = {}
        self._steps = 0

    def write(self, tree: Any) -> str:
        """The text of a tree, cut where it gets too long or takes too many steps."""
        attempt, out = self._attempt, ""
        for operation, argument in tree:
            self._steps += 1
            if operation is codes.LITERAL:
                out += chr(argument)
            elif operation in (codes.NOT_LITERAL, codes.ANY, codes.IN):
                fitting = self._fitting.get(id(argument))
                if fitting is None:
                    fitting = [one for one in _ALPHABET if _fits(operation, argument, one)]
                    self._fitting[id(argument)] = fitting
                out += (
                    fitting[(attempt * 3 + len(out)) % len(fitting)] if fitting else _odd(operation, argument)
                )
            elif operation in _REPEATS:
                low, high, part = argument
                # Once is more telling than never; later attempts are longer.
                times = min(high, max(low, 1) + attempt % 8) if attempt % 3 else min(high, max(low, 1))
                for _ in range(min(times if attempt != 1 else low, 64)):
                    out += self.write(part)
                    if self._ends(out):
                        break
            elif operation is codes.SUBPATTERN:
                text = self.write(argument[3])
                if argument[0] is not None:
                    self._groups[argument[0]] = text
                out += text
            elif operation is codes.BRANCH:
                branches = argument[1]
                out += self.write(branches[attempt % len(branches)])
            elif operation is codes.GROUPREF:
                out += self._groups.get(argument, "")
            elif operation is codes.ATOMIC_GROUP:
                out += self.write(argument)
            if self._ends(out):
                break
        return out[:_MAX_TEXT]

    def _ends(self, out: str) -> bool:
        return len(out) > _MAX_TEXT or self._steps > _MAX_WRITTEN


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
