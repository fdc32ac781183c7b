"""From bytes on a pipe to JSON values, whatever a hostile server writes: linear, bounded, and telling."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from sandbox.model import Json

_EDGE = 4096
"""Bytes kept of each end of a line that is longer than the limit: enough to find its request id."""

_MAX_DEPTH = 128
"""Deeper values would exhaust the stack of whoever walks them later (Python allows 1000 frames)."""

_MAX_PARSED = 512 << 20
"""Bytes that the parsed form of one line may take: ``[[],[],...`` grows 24-fold."""

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
"""An escape that may be half of a pair; most are whole pairs."""

_CONTAINER_BYTES = 72
_ITEM_BYTES = 56


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its newline: ``size`` bytes were written, ``data`` has all of them if ``whole``."""

    data: bytes
    size: int
    whole: bool


class LineBuffer:
    """Cuts a byte stream into lines in linear time; a line beyond ``limit`` keeps only its ends."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._tail = b""

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """The lines that ``chunk`` completes."""
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._add(part)
            yield self._take()
        self._add(rest)

    def end(self) -> Line | None:
        """The unterminated last line, if any."""
        return self._take() if self._size else None

    def _add(self, part: bytes) -> None:
        if not part:
            return
        self._size += len(part)
        if self._size <= self._limit:
            self._parts.append(part)
            return
        if not self._tail:
            self._parts = [b"".join([*self._parts, part])[:_EDGE]]
        self._tail = (self._tail + part)[-_EDGE:]

    def _take(self) -> Line:
        line = Line(b"".join(self._parts) + self._tail, self._size, whole=not self._tail)
        self._parts, self._size, self._tail = [], 0, b""
        return line


class NotJsonError(ValueError):
    """A line that is no JSON value, or one that is not worth its memory; ``code`` is the remark's slug."""

    def __init__(self, code: str, why: str) -> None:
        super().__init__(why)
        self.code = code


@dataclass(frozen=True, slots=True)
class Decoded:
    """A JSON value and the codes of what was wrong with its encoding."""

    value: Json
    oddities: tuple[str, ...] = ()


def decode(line: bytes) -> Decoded:
    """Parse one line.

    Invalid UTF-8 and lone surrogates are replaced, numbers outside the range of JSON (``NaN``, ``Infinity``,
    ``1e400``) become their own text, so that the value can be written again anywhere; all are named in the
    result.

    Raises:
        NotJsonError: not JSON, nested too deeply, or its parsed form would be too large.
    """
    oddities: list[str] = []
    if line.endswith(b"\r"):
        oddities.append("crlf")
    try:
        text = line.decode()
    except UnicodeDecodeError:
        text = line.decode("utf-8", "replace")
        oddities.append("invalid-utf8")
    containers = line.count(b"[") + line.count(b"{")
    if containers * _CONTAINER_BYTES + line.count(b",") * _ITEM_BYTES > _MAX_PARSED:
        raise NotJsonError("line-too-complex", f"a line of {len(line)} bytes with too many values in it")

    def outside(number: str) -> str:
        oddities.append("number-out-of-range")
        return number

    def in_range(number: str) -> float | str:
        value = float(number)
        return value if math.isfinite(value) else outside(number)

    try:
        value = json.loads(text, parse_float=in_range, parse_constant=outside)
    except RecursionError:
        raise NotJsonError("nested-too-deep", "JSON nested too deeply to be read") from None
    except ValueError as error:  # JSONDecodeError, and integers of more than 4300 digits
        raise NotJsonError("stdout-junk", str(error)) from None
    if containers > _MAX_DEPTH and _deeper_than(value, _MAX_DEPTH):
        raise NotJsonError("nested-too-deep", f"JSON nested more than {_MAX_DEPTH} levels deep")
    if _SURROGATE.search(line):
        value = _without_surrogates(value, oddities)
    return Decoded(value, tuple(dict.fromkeys(oddities)))


def _without_surrogates(value: Json, oddities: list[str]) -> Json:
    match value:
        case dict():
            return {
                str(_without_surrogates(key, oddities)): _without_surrogates(member, oddities)
                for key, member in value.items()
            }
        case list():
            return [_without_surrogates(member, oddities) for member in value]
        case str() if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                oddities.append("lone-surrogate")
                return value.encode("utf-8", "replace").decode()
    return value


def _deeper_than(value: Json, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [
            child
            for node in level
            for child in (node.values() if isinstance(node, dict) else node if isinstance(node, list) else ())
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
