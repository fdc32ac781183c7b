"""Facts to JSON and back, driven by the type hints of their dataclasses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from datetime import date
from enum import Enum
from functools import cache
from pathlib import PurePath
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from sandbox.errors import EvidenceError

T = TypeVar("T")


def encode(value: object) -> Any:
    """A fact as plain JSON: dataclasses become objects, enums their values, sets sorted lists, paths and dates
    texts."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): encode(item) for key, item in value.items()}
    if isinstance(value, frozenset):
        return sorted(encode(item) for item in value)
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, PurePath):
        return encode(value.as_posix())
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str):
        # Lone surrogates of server-controlled text cannot be written as UTF-8.
        return value.encode("utf-8", "backslashreplace").decode()
    return value


def masked(data: Any, mask: Callable[[str], str]) -> Any:
    """Plain JSON with every text in it, keys included, as ``mask`` leaves it."""
    if isinstance(data, str):
        return mask(data)
    if isinstance(data, dict):
        return {mask(key): masked(item, mask) for key, item in data.items()}
    return [masked(item, mask) for item in data] if isinstance(data, list) else data


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls, localns={"Json": Any})


def decode(cls: type[T], data: object) -> T:
    """The fact that :func:`encode` wrote.

    Raises:
        EvidenceError: the data does not have the shape of ``cls``.
    """
    try:
        result: T = _decode(cls, data)
    except (KeyError, TypeError, ValueError) as error:
        raise EvidenceError(
            f"Saved evidence is damaged or of another version of hintproof: {cls.__name__}: {error}. "
            "Run `hintproof verify` again to make new evidence."
        ) from error
    return result


def _decode(hint: Any, data: Any) -> Any:
    if hint is Any or hint is object:
        return data
    origin = get_origin(hint)
    if origin in (Union, UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]
        if data is None:
            return None
        return _decode(options[0], data) if len(options) == 1 else data
    if origin is tuple:
        items = get_args(hint)
        if len(items) == 2 and items[1] is Ellipsis:
            return tuple(_decode(items[0], item) for item in data)
        return tuple(_decode(item, value) for item, value in zip(items, data, strict=True))
    if origin is frozenset:
        return frozenset(_decode(get_args(hint)[0], item) for item in data)
    if origin is not None and issubclass(origin, Mapping):
        value_hint = get_args(hint)[1]
        return {key: _decode(value_hint, value) for key, value in dict(data).items()}
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(data)
    if isinstance(hint, type) and issubclass(hint, PurePath):
        return hint(data)
    if hint is date:
        return date.fromisoformat(data)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        if not isinstance(data, dict):
            raise TypeError(f"an object expected, {type(data).__name__} found")
        hints = _hints(hint)
        return hint(**{name: _decode(hints[name], value) for name, value in data.items()})
    if hint is float and isinstance(data, int):
        return float(data)
    if isinstance(hint, type) and not isinstance(data, hint):
        raise TypeError(f"{hint.__name__} expected, {type(data).__name__} found")
    return data
