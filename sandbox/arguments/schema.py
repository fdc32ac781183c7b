"""A tool's input schema made safe to work with, and the validator that every proposal must pass.

What servers send is taken as it is meant: keywords of the wrong type are dropped (a validator would raise),
an OpenAPI ``nullable`` becomes a null type, a draft-04 boolean ``exclusiveMinimum`` the number it stands for,
a list of ``items`` in a schema of 2020-12 ``prefixItems``. A reference that leaves the schema is never
fetched: it is taken as "anything" and noted. The result is judged under the schema's own dialect
(``$schema``; 2020-12 where it names none, as MCP says).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from jsonschema import ValidationError, validators
from jsonschema.validators import Draft3Validator, Draft202012Validator
from referencing import Registry

from sandbox.arguments.patterns import search
from sandbox.arguments.sanitise import Node, sanitise
from sandbox.model import Json

_MAX_STEPS = 20_000
_MANY = 64


class TooCostlyError(Exception):
    """A validation took more steps than any honest schema needs."""


class Schema:
    """A schema ready for use. ``root`` is the sanitised schema, ``notes`` what was taken otherwise than it
    was written."""

    def __init__(self, raw: Mapping[str, Json]) -> None:
        self.dialect = validators.validator_for(raw, default=Draft202012Validator)
        if self.dialect is Draft3Validator:
            self.dialect = Draft202012Validator
        self.root, self.notes = sanitise(raw, modern=self.dialect is Draft202012Validator)
        self._steps = 0
        self._enums: dict[int, frozenset[str]] = {}
        overrides = {"pattern": _pattern, "enum": self._enum}
        counted = ("$ref", "allOf", "anyOf", "oneOf", "if", "not", "contains", "dependentSchemas")
        overrides |= {
            name: self._counted(self.dialect.VALIDATORS[name])
            for name in counted
            if name in self.dialect.VALIDATORS
        }
        bounded = validators.extend(self.dialect, overrides)  # type: ignore[no-untyped-call]
        self._validator = bounded(self.root, format_checker=self.dialect.FORMAT_CHECKER, registry=Registry())

    def errors(self, value: Json, node: Node | None = None) -> list[ValidationError]:
        """What is wrong with a value, under the whole schema or one node of it.

        Raises TooCostlyError when that cannot be told in a bounded number of steps.
        """
        self._steps = 0
        validator = self._validator if node is None else self._validator.evolve(schema=node)
        try:
            found = list(validator.iter_errors(value))
        except RecursionError as error:
            raise TooCostlyError("the schema nests too deeply") from error
        return sorted(found, key=lambda error: (len(error.absolute_path), str(error.validator)))

    def accepts(self, value: Json, node: Node | None = None) -> bool:
        """Whether a value is valid; False where it cannot be told in a bounded number of steps."""
        try:
            return not self.errors(value, node)
        except TooCostlyError:
            return False

    def target(self, pointer: str) -> Node:
        """The node that a local ``$ref`` points to."""
        found: Any = self.root
        for part in pointer.removeprefix("#").split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            found = found[int(key)] if isinstance(found, list) else found[key]
        return found if isinstance(found, dict | bool) else True

    def _counted(self, keyword: Any) -> Any:
        def check(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
            self._steps += 1
            if self._steps > _MAX_STEPS:
                raise TooCostlyError("the validation takes too many steps")
            yield from keyword(validator, value, instance, schema) or ()

        return check

    def _enum(
        self, _validator: Any, values: list[Json], instance: Json, _schema: Any
    ) -> Iterator[ValidationError]:
        if len(values) > _MANY:
            known = self._enums.get(id(values))
            if known is None:
                known = self._enums[id(values)] = frozenset(map(canonical, values))
            allowed = canonical(instance) in known
        else:
            allowed = canonical(instance) in map(canonical, values)
        if not allowed:
            yield ValidationError("not one of the values listed")


def _pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    # A pattern that cannot be read forbids nothing here; one that takes too long is taken as not met.
    if validator.is_type(instance, "string") and search(pattern, instance) is False:
        yield ValidationError(f"does not match {pattern[:80]}")


def canonical(value: Json) -> str:
    """One text per JSON value: equal values (1 and 1.0 too) have equal texts."""
    return json.dumps(_plain(value), sort_keys=True, separators=(",", ":"))


def _plain(value: Json) -> Json:
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value


def sendable(value: Json) -> bool:
    """Whether a value can be sent as JSON text: finite numbers, no lone surrogates."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    return True


def types_of(node: Mapping[str, Any]) -> tuple[str, ...]:
    """The JSON types that a node allows, as far as it says; guessed from its other keywords where it names none."""
    named = node.get("type")
    if isinstance(named, str):
        return (named,)
    if isinstance(named, list) and named:
        return tuple(named)
    if "const" in node:
        return (type_of(node["const"]),)
    if "enum" in node:
        return tuple(dict.fromkeys(type_of(value) for value in node["enum"][:_MANY]))
    return tuple(_guessed(node))


def _guessed(node: Mapping[str, Any]) -> Iterable[str]:
    hints = {
        "object": ("properties", "required", "additionalProperties", "patternProperties", "minProperties"),
        "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"),
        "string": ("pattern", "minLength", "maxLength", "format"),
        "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    }
    return [kind for kind, keywords in hints.items() if any(keyword in node for keyword in keywords)][:1]


def type_of(value: Json) -> str:
    """The JSON type of a value; integers are ``integer``."""
    for kind, of in (
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (list, "array"),
    ):
        if isinstance(value, kind):
            return of
    return "null" if value is None else "object"
