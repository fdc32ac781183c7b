"""How each value is written, in a settings file or on the command line, and what is wrong with it where it is
not.

Every function raises ValueError with a sentence that continues "KEY: ...".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from datetime import date
from difflib import get_close_matches
from typing import TypeVar

from sandbox.config.settings import Budget, Timeouts
from sandbox.model import Limits

_Number = TypeVar("_Number", int, float)

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HOST_PATTERN = re.compile(r"^[A-Za-z0-9*?_.:\[\]-]{1,253}$")


def nearest(name: str, valid: Iterable[str]) -> str:
    """``" Did you mean ...?"`` for the closest valid name, else the list of all."""
    names = sorted(valid)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    return f" Did you mean {close[0]}?" if close else f" Valid: {', '.join(names)}."


def choice(value: object, valid: Iterable[str]) -> str:
    """One of a closed list of words."""
    names = list(valid)
    if isinstance(value, str) and value in names:
        return value
    raise ValueError(f"{value!r} is not one of {', '.join(names)}.{nearest(str(value), names)}")


def text(value: object) -> str:
    """A text that says something."""
    if isinstance(value, str) and value.strip():
        return value
    raise ValueError(f"{value!r} is not a text.")


def texts(value: object) -> tuple[str, ...]:
    """A list of texts; a lone text is a list of one."""
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, (list, tuple)):
        raise ValueError(f"{value!r} is not a list of texts.")
    return tuple(text(item) for item in items)


def whole(value: object, least: int, most: int) -> int:
    """A whole number within bounds; digits on the command line."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,18}", value):
        value = int(value)
    return _within(value, int, least, most)


def seconds(value: object) -> float:
    """A positive number of seconds, a day at most."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}(\.\d+)?", value):
        value = float(value)
    number = float(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return _within(number, float, 0.001, 86_400.0)


def budget(value: object) -> Budget:
    """``90`` (seconds) or ``200calls``; both as a list, or given twice."""
    found = Budget()
    for item in value if isinstance(value, (list, tuple)) else [value]:
        counted = re.fullmatch(r"(\d+)\s*calls?", item) if isinstance(item, str) else None
        if counted is not None:
            found = replace(found, calls=whole(counted[1], 1, 10_000_000))
            continue
        try:
            found = replace(found, seconds=seconds(item.removesuffix("s") if isinstance(item, str) else item))
        except ValueError as error:
            raise ValueError(
                f"{item!r} is neither SECONDS nor NUMBERcalls, such as 90 or 200calls."
            ) from error
    return found


_LEAST = {"open_files": 16}
"""What it takes to start any program at all."""


def limits(value: object, base: Limits) -> Limits:
    """``NAME=VALUE`` pairs, or a table, over ``base``."""
    named = _named(value, {each.name for each in fields(Limits)})
    return replace(
        base, **{name: whole(number, _LEAST.get(name, 1), 1 << 30) for name, number in named.items()}
    )


def timeouts(value: object, base: Timeouts) -> Timeouts:
    """``NAME=SECONDS`` pairs, or a table, over ``base``."""
    named = _named(value, {each.name for each in fields(Timeouts)})
    return replace(base, **{name: seconds(number) for name, number in named.items()})


def variables(value: object, environ: Mapping[str, str]) -> Mapping[str, str]:
    """``KEY=VALUE``, or ``KEY`` to forward the value of the calling shell; or a table of texts."""
    if isinstance(value, Mapping):
        named = {str(key): text(item) if item != "" else "" for key, item in value.items()}
    else:
        named = {}
        for word in texts(value):
            key, equals, given = word.partition("=")
            if not equals and key not in environ:
                raise ValueError(f"{key} is to be forwarded, and is not set in this shell.")
            named[key] = given if equals else environ[key]
    for key in named:
        if not _VARIABLE.fullmatch(key):
            raise ValueError(f"{key!r} is not a variable's name.")
    return named


def hosts(value: object) -> tuple[str, ...]:
    """Host names, lower case."""
    found = texts(value)
    for host in found:
        if not _HOST_PATTERN.match(host):
            raise ValueError(f"{host!r} is not a host name; give no scheme and no path.")
    return tuple(host.lower() for host in found)


def day(value: object) -> date:
    """A date: TOML's own, or YYYY-MM-DD."""
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(str(value))
    except ValueError as error:
        raise ValueError(f"{value!r} is not a date such as 2027-01-31.") from error


def url_path(value: object) -> str:
    """The path of an HTTP endpoint."""
    found = text(value)
    if not found.startswith("/"):
        raise ValueError(f"{found!r} does not begin with /.")
    return found


def _within(value: object, kind: type[_Number], least: _Number, most: _Number) -> _Number:
    if not isinstance(value, kind) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"{value!r} is not a number from {least:g} to {most:g}.")
    return value


def _named(value: object, valid: Iterable[str]) -> Mapping[str, object]:
    """A table, or ``NAME=VALUE`` words, with names of a closed list."""
    if isinstance(value, Mapping):
        named = {str(name): item for name, item in value.items()}
    else:
        named = {}
        for word in texts(value):
            name, equals, item = word.partition("=")
            if not equals:
                raise ValueError(f"{word!r} is not NAME=VALUE.")
            named[name] = item
    for name in named:
        if name not in valid:
            raise ValueError(f"nothing is called {name}.{nearest(name, valid)}")
    return named
