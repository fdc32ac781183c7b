"""One node of a schema without combinators: references followed, ``allOf`` merged, one branch of each choice taken."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

from sandbox.arguments.sanitise import Node
from sandbox.arguments.schema import Schema, canonical, types_of

_COMBINATORS = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
_HIGHER = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"})
_LOWER = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"})
_MAX_DEPTH = 40
_MAX_OPTIONS = 24
_MAX_PARTS = 2_000


class UnsatisfiableError(Exception):
    """No value was found for a field; the message says why."""


@dataclass(frozen=True, slots=True)
class Flat:
    """A node as one set of keywords.

    ``types`` are its JSON types without null, "" in it where it names none. ``options`` is how many branches
    (or types) could have been taken, ``nullable`` whether null is one more. ``refs`` are the references that
    were followed: meeting one again inside means recursion.
    """

    node: Mapping[str, Any]
    types: tuple[str, ...]
    options: int = 1
    nullable: bool = False
    refs: frozenset[str] = frozenset()


def flatten(schema: Schema, node: Node, pick: int = 0) -> Flat:
    """Flatten a node, taking branch ``pick`` of its first choice and the first fitting branch of the others.

    Raises UnsatisfiableError for the schema ``false`` and for choices of which no branch fits.
    """
    return _Flattener(schema, count()).flat(node, pick, 0)


class _Flattener:
    def __init__(self, schema: Schema, parts: Iterator[int]) -> None:
        self.schema = schema
        self.parts = parts
        self.refs: set[str] = set()
        self.nullable = False

    def flat(self, node: Node, pick: int, depth: int) -> Flat:
        made, groups = self.gather(node, depth)
        options = 1
        for index, group in enumerate(groups):
            branches, nullable = self.branches(group, depth)
            self.nullable = self.nullable or nullable
            if not branches:
                if not nullable:
                    raise UnsatisfiableError("no branch of a choice can be met")
                made = merge(made, {"type": "null"}) if "type" not in made else made
                continue
            if all("const" in one or "enum" in one for one in branches):
                listed = [
                    value for one in branches for value in ([one["const"]] if "const" in one else one["enum"])
                ]
                made = merge(made, {"enum": listed})
                continue
            fitting = [one for one in branches if _fit(made, one)] or branches
            if index == 0:
                options = len(fitting)
            made = merge(made, fitting[pick % len(fitting)] if index == 0 else fitting[0])
        types = types_of(made)
        if "null" in types and (len(types) > 1 or "enum" in made):
            self.nullable = True
            types = tuple(kind for kind in types if kind != "null")
        if "enum" in made and None in made["enum"] and len(made["enum"]) > 1:
            self.nullable = True
            made["enum"] = [value for value in made["enum"] if value is not None]
        if {"integer", "number"} <= set(types):
            types = tuple(kind for kind in types if kind != "integer")
        if options == 1 and len(types) > 1 and "enum" not in made and "const" not in made:
            options = len(types)
            types = (types[pick % len(types)],)
        return Flat(made, types or ("",), options, self.nullable, frozenset(self.refs))

    def gather(self, node: Node, depth: int) -> tuple[dict[str, Any], list[list[Node]]]:
        """The keywords of a node with references and ``allOf`` merged in, and the choices left to make."""
        if node is False:
            raise UnsatisfiableError("the schema forbids every value")
        if next(self.parts) > _MAX_PARTS:
            raise UnsatisfiableError("the schema is put together from too many parts")
        if node is True or depth > _MAX_DEPTH:
            return {}, []
        assert isinstance(node, dict)
        made: dict[str, Any] = {key: value for key, value in node.items() if key not in _COMBINATORS}
        groups: list[list[Node]] = []
        parts: list[Node] = list(node.get("allOf", ()))
        if "$ref" in node:
            self.refs.add(node["$ref"])
            parts.insert(0, self.schema.target(node["$ref"]))
        for part in parts:
            inner, choices = self.gather(part, depth + 1)
            made = merge(made, inner)
            groups += choices
        groups += [node[name] for name in ("anyOf", "oneOf") if name in node]
        return made, groups

    def branches(self, group: list[Node], depth: int) -> tuple[list[dict[str, Any]], bool]:
        """The branches of a choice that can be met, flat, and whether null is one of them."""
        found: list[dict[str, Any]] = []
        nullable = False
        for option in group[:_MAX_OPTIONS] if depth < _MAX_DEPTH else []:
            try:
                inner = _Flattener(self.schema, self.parts).flat(option, 0, depth + 1)
            except UnsatisfiableError:
                continue
            self.refs |= inner.refs
            nullable = nullable or inner.nullable or inner.types == ("null",)
            if inner.types != ("null",):
                kinds = {"type": list(inner.types)} if inner.types != ("",) and "type" in inner.node else {}
                found.append({**inner.node, **kinds})
        return found, nullable


def _fit(made: Mapping[str, Any], branch: Mapping[str, Any]) -> bool:
    left, right = set(types_of(made)), set(types_of(branch))
    if "type" not in made or not right:
        return True
    return (
        bool(left & right)
        or ("number" in left and "integer" in right)
        or ("integer" in left and "number" in right)
    )


def merge(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> dict[str, Any]:
    """Both sets of keywords at once. Where a keyword says what a value is for, the outer one counts."""
    made = dict(outer)
    for key, value in inner.items():
        made[key] = _both(key, made[key], value) if key in made else value
    return made


def _both(key: str, outer: Any, inner: Any) -> Any:
    if key in {"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}:
        shared = {name: _together(one, inner[name]) for name, one in outer.items() if name in inner}
        return {**outer, **inner, **shared}
    if key == "required":
        return list(dict.fromkeys([*outer, *inner]))
    if key == "type":
        return _types(outer, inner)
    if key == "enum":
        known = set(map(canonical, inner))
        return [value for value in outer if canonical(value) in known] or outer
    if key in _HIGHER:
        return max(outer, inner)
    if key in _LOWER:
        return min(outer, inner)
    if key == "multipleOf" and isinstance(outer, int) and isinstance(inner, int):
        return math.lcm(outer, inner)
    if key in {"items", "additionalProperties"}:
        return _together(outer, inner)
    if key == "dependentRequired":
        return {**inner, **outer}
    return outer


def _together(outer: Node, inner: Node) -> Node:
    if outer is True or outer == inner:
        return inner
    if inner is True:
        return outer
    return False if outer is False or inner is False else {"allOf": [outer, inner]}


def _types(outer: Any, inner: Any) -> Any:
    left = outer if isinstance(outer, list) else [outer]
    right = inner if isinstance(inner, list) else [inner]
    shared = [kind for kind in left if kind in right or (kind == "integer" and "number" in right)]
    shared += [kind for kind in right if kind == "integer" and "number" in left and kind not in shared]
    return shared or outer


def first_items(node: Mapping[str, Any]) -> list[Node]:
    """The schemas of an array's first items, in either spelling."""
    listed = node.get("prefixItems", node.get("items"))
    return list(listed) if isinstance(listed, list) else []


def rest_items(node: Mapping[str, Any]) -> Node:
    """The schema of an array's items after the first ones, in either spelling."""
    if isinstance(node.get("items"), list):
        rest: Node = node.get("additionalItems", True)
        return rest
    found: Node = node.get("items", True)
    return found


def properties_of(flat: Flat) -> Iterator[tuple[str, Node]]:
    """The properties of an object's schema; a required name without a schema may hold anything."""
    properties = flat.node.get("properties", {})
    yield from properties.items()
    for name in flat.node.get("required", ()):
        if name not in properties:
            extra = flat.node.get("additionalProperties", True)
            yield name, True if extra is False else extra
