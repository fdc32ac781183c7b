"""Copy a schema without what would make a validator raise, loop or reach out."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sandbox.model import Json

Node: TypeAlias = "dict[str, Any] | bool"
"""A sanitised schema."""

_TYPES = frozenset({"string", "number", "integer", "boolean", "array", "object", "null"})
_MAX_DEPTH = 48
_MAX_NODES = 60_000
_ONE = frozenset(
    "not if then else contains additionalProperties additionalItems unevaluatedProperties unevaluatedItems propertyNames".split()
)
_MANY = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_DROPPED = frozenset("$id id $anchor $dynamicAnchor $recursiveAnchor $vocabulary $comment nullable".split())
_PLAIN = frozenset(
    {"title", "description", "default", "const", "examples", "example", "deprecated", "readOnly", "writeOnly"}
)
_IN_PLACE_ONE = ("not", "if", "then", "else")
_IN_PLACE_MANY = ("allOf", "anyOf", "oneOf")


def sanitise(raw: Mapping[str, Json], *, modern: bool) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The schema to work with, and notes on what was changed. ``modern`` is whether its dialect is 2020-12.

    References are made local or dropped, loops that no value can satisfy are cut, and what lies deeper than
    48 levels or beyond 60,000 nodes is taken as "anything".
    """
    return _Copy(modern).whole(raw)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_count(value: object) -> bool:
    return _is_number(value) and isinstance(value, int | float) and value >= 0 and float(value).is_integer()


def _is_names(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


_CHECKS: Mapping[str, Callable[[Any], bool]] = {
    "type": lambda v: (
        (isinstance(v, str) and v in _TYPES)
        or (isinstance(v, list) and bool(v) and all(isinstance(t, str) and t in _TYPES for t in v))
    ),
    "enum": lambda v: isinstance(v, list) and bool(v),
    "required": _is_names,
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    "multipleOf": lambda v: _is_number(v) and v > 0,
    **dict.fromkeys(
        (
            "minLength",
            "maxLength",
            "minItems",
            "maxItems",
            "minProperties",
            "maxProperties",
            "minContains",
            "maxContains",
        ),
        _is_count,
    ),
    "pattern": lambda v: isinstance(v, str),
    "format": lambda v: isinstance(v, str),
    "uniqueItems": lambda v: isinstance(v, bool),
    "dependentRequired": lambda v: isinstance(v, dict) and all(map(_is_names, v.values())),
}


class _Copy:
    def __init__(self, modern: bool) -> None:
        self.modern = modern
        self.notes: list[str] = []
        self.nodes = 0
        self.anchors: dict[str, str] = {}
        self.base = ""
        self.references: list[tuple[dict[str, Any], str]] = []

    def whole(self, raw: Mapping[str, Json]) -> tuple[dict[str, Any], tuple[str, ...]]:
        identity = raw.get("$id")
        self.base = identity.rstrip("#") if isinstance(identity, str) else ""
        root = self.node(dict(raw), "#", 0)
        if not isinstance(root, dict):
            root = {}
        if isinstance(raw.get("$schema"), str):
            root["$schema"] = raw["$schema"]
        # Tool arguments are always an object, whatever the schema forgot to say.
        root["type"] = "object"
        for node, reference in self.references:
            self.settle(root, node, reference)
        _cut_loops(root, self.note)
        return root, tuple(dict.fromkeys(self.notes))

    def note(self, text: str) -> None:
        if len(self.notes) < 32:
            self.notes.append(text)

    def node(self, raw: object, at: str, depth: int) -> Node:
        self.nodes += 1
        if isinstance(raw, bool):
            return raw
        if not isinstance(raw, dict):
            return True
        if depth > _MAX_DEPTH or self.nodes > _MAX_NODES:
            self.note("the schema is too large; its far parts are taken as anything")
            return True
        for name in ("$anchor", "$dynamicAnchor"):
            if isinstance(raw.get(name), str):
                self.anchors[raw[name]] = at
        made: dict[str, Any] = {}
        for key, value in raw.items():
            self.keyword(made, key, value, at, depth)
        self.mend(made, raw)
        return made

    def keyword(self, made: dict[str, Any], key: str, value: Any, at: str, depth: int) -> None:
        below = f"{at}/{key.replace('~', '~0').replace('/', '~1')}"
        if key in _DROPPED or key == "$schema":
            return
        if key in {"$ref", "$dynamicRef", "$recursiveRef"}:
            if isinstance(value, str):
                self.references.append((made, value))
        elif key in _PLAIN:
            made[key] = value
        elif key in _CHECKS:
            if _CHECKS[key](value):
                made[key] = int(value) if _CHECKS[key] is _is_count else value
            elif key not in {"required", "exclusiveMinimum", "exclusiveMaximum"}:
                self.note(f"{key} at {at} has no meaning and is ignored")
        elif key == "items" and isinstance(value, list):
            made["prefixItems" if self.modern else "items"] = self.nodes_of(value, below, depth)
        elif key in _ONE or key == "items":
            if isinstance(value, dict | bool):
                made[key] = self.node(value, below, depth + 1)
        elif key in _MANY:
            if isinstance(value, list) and value:
                made[key] = self.nodes_of(value, below, depth)
        elif key in _NAMED:
            if isinstance(value, dict):
                made[key] = {
                    name: self.node(one, f"{below}/{name}", depth + 1) for name, one in value.items()
                }
        elif key == "dependencies" and isinstance(value, dict):
            made[key] = {
                name: one if _is_names(one) else self.node(one, f"{below}/{name}", depth + 1)
                for name, one in value.items()
            }
        elif isinstance(value, dict):
            # Not a keyword, but a reference may point into it.
            made[key] = self.node(value, below, depth + 1)

    def nodes_of(self, values: list[Any], at: str, depth: int) -> list[Node]:
        return [self.node(value, f"{at}/{index}", depth + 1) for index, value in enumerate(values)]

    def mend(self, made: dict[str, Any], raw: dict[str, Any]) -> None:
        for name, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            # The draft-04 spelling; under every later dialect a boolean there has no meaning.
            if raw.get(name) is True and bound in made:
                made[name] = made.pop(bound)
        if raw.get("nullable") is True and "type" in made:
            named = made["type"] if isinstance(made["type"], list) else [made["type"]]
            made["type"] = list(dict.fromkeys([*named, "null"]))
            if "enum" in made and None not in made["enum"]:
                made["enum"] = [*made["enum"], None]

    def settle(self, root: dict[str, Any], node: dict[str, Any], reference: str) -> None:
        """Make one reference a local pointer, or leave it out."""
        local = reference.removeprefix(self.base) if self.base else reference
        if not local.startswith("#"):
            self.note(f"$ref {reference[:80]} leaves the schema: taken as anything")
            return
        if local[1:] in self.anchors:
            local = self.anchors[local[1:]]
        found: Any = root
        for part in local.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~").replace("%24", "$")
            if isinstance(found, dict):
                found = found.get(key)
            elif isinstance(found, list) and key.isdecimal() and len(key) < 6 and int(key) < len(found):
                found = found[int(key)]
            else:
                found = None
        if isinstance(found, dict | bool) and (local == "#" or local.startswith("#/")):
            node["$ref"] = local
        else:
            self.note(f"$ref {reference[:80]} points nowhere: taken as anything")


def _cut_loops(root: dict[str, Any], note: Callable[[str], None]) -> None:
    """Cut references that lead back to themselves without going into the value: no validator ends on these."""
    done: set[int] = set()
    open_: set[int] = set()

    def resolve(pointer: str) -> Any:
        found: Any = root
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            found = found[int(key)] if isinstance(found, list) else found[key]
        return found

    def visit(node: Any, depth: int) -> bool:
        """Visit what applies to the same value; False where that closes a loop."""
        if not isinstance(node, dict) or id(node) in done:
            return True
        if id(node) in open_ or depth > 100:
            return False
        open_.add(id(node))
        if "$ref" in node and not visit(resolve(node["$ref"]), depth + 1):
            note(f"$ref {node['$ref']} leads back to itself: taken as anything")
            del node["$ref"]
        for name in _IN_PLACE_ONE:
            if name in node and not visit(node[name], depth + 1):
                node[name] = True
        for name in _IN_PLACE_MANY:
            for index, branch in enumerate(node.get(name, ())):
                if not visit(branch, depth + 1):
                    node[name][index] = True
        open_.discard(id(node))
        done.add(id(node))
        return True

    waiting: list[Any] = [root]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, dict):
            visit(node, 0)
            waiting.extend(value for key, value in node.items() if key not in _PLAIN and key != "enum")
        elif isinstance(node, list):
            waiting.extend(node)
