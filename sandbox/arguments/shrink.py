"""Smaller arguments: what to try when looking for the least that still has the same effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sandbox.arguments.flat import Flat, UnsatisfiableError, first_items, flatten, rest_items
from sandbox.arguments.sanitise import Node
from sandbox.arguments.schema import Schema, canonical, sendable
from sandbox.model import Json

_MAX_CANDIDATES = 200
_MAX_DEPTH = 5


def shrink(arguments: Mapping[str, Json], schema: Mapping[str, Json]) -> Iterator[dict[str, Json]]:
    """Smaller sets of arguments, each valid under the tool's input schema and each given once; at most 200.

    What takes most away comes first: all optional fields, each optional field, defaults, then shorter arrays
    and texts and numbers nearer to zero. The order is the same every time.
    """
    ready = Schema(schema)
    start = dict(arguments)
    seen = {canonical(start)}
    given = 0
    for candidate in _smaller(ready, ready.root, start, 0):
        if not isinstance(candidate, dict) or canonical(candidate) in seen:
            continue
        seen.add(canonical(candidate))
        if sendable(candidate) and ready.accepts(candidate):
            yield candidate
            given += 1
        if given == _MAX_CANDIDATES or len(seen) > 4 * _MAX_CANDIDATES:
            return


def _smaller(schema: Schema, node: Node, value: Json, depth: int) -> Iterator[Json]:
    try:
        flat = flatten(schema, node)
    except UnsatisfiableError:
        return
    if isinstance(value, dict):
        yield from _smaller_object(schema, flat, value, depth)
    elif isinstance(value, list):
        yield from _smaller_array(schema, flat, value, depth)
    elif "enum" in flat.node or "const" in flat.node:
        return
    elif isinstance(value, str) and len(value) > 1:
        yield from (value[:1], value[: len(value) // 2])
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from (number for number in (0, 1, int(value / 2)) if abs(number) < abs(value))


def _smaller_object(schema: Schema, flat: Flat, value: dict[str, Json], depth: int) -> Iterator[Json]:
    required = flat.node.get("required", ())
    properties = flat.node.get("properties", {})
    optional = [name for name in value if name not in required]
    if len(optional) > 1:
        yield {name: inner for name, inner in value.items() if name in required}
    for name in reversed(optional):
        yield {key: inner for key, inner in value.items() if key != name}
    for name in value:
        default = _default(schema, properties.get(name, True))
        if default is not None:
            yield {**value, name: default}
    if depth >= _MAX_DEPTH:
        return
    inner_first = sorted(value, key=lambda name: not isinstance(value[name], dict | list))
    for name in inner_first:
        for smaller in _smaller(schema, properties.get(name, True), value[name], depth + 1):
            yield {**value, name: smaller}


def _smaller_array(schema: Schema, flat: Flat, value: list[Json], depth: int) -> Iterator[Json]:
    if len(value) > 1:
        yield value[:1]
        yield value[: len(value) // 2]
        for index in range(min(len(value), 8)):
            yield [*value[:index], *value[index + 1 :]]
    elif value:
        yield []
    if depth >= _MAX_DEPTH:
        return
    first, rest = first_items(flat.node), rest_items(flat.node)
    for index, item in enumerate(value[:8]):
        node = first[index] if index < len(first) else rest
        for smaller in _smaller(schema, node, item, depth + 1):
            yield [*value[:index], smaller, *value[index + 1 :]]


def _default(schema: Schema, node: Node) -> Json:
    try:
        default: Json = flatten(schema, node).node.get("default")
    except UnsatisfiableError:
        return None
    return default
