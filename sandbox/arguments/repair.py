"""Repair arguments that a validator refuses: what ``if``/``then``, dependencies and ``not`` ask for shows only there."""

from __future__ import annotations

from typing import Any

from jsonschema import ValidationError

from sandbox.arguments.build import Builder
from sandbox.arguments.flat import UnsatisfiableError, flatten
from sandbox.arguments.plan import ITEMS, Path, Plan, Spot
from sandbox.arguments.scene import Field
from sandbox.arguments.schema import TooCostlyError, canonical
from sandbox.model import Json

_ROUNDS = 16


def repaired(builder: Builder, arguments: dict[str, Json], plan: Plan) -> dict[str, Json] | None:
    """The arguments, changed as little as makes them valid; None where that was not managed in a few rounds.

    Fields are added, set to what is asked for, or dropped where they are optional.
    """
    for _ in range(_ROUNDS):
        try:
            errors = builder.schema.errors(arguments)
        except TooCostlyError:
            return None
        if not errors:
            return arguments
        try:
            if not any(_mend(builder, arguments, plan, error) for error in errors[:4]):
                return None
        except UnsatisfiableError:
            return None
    return None


def _mend(builder: Builder, arguments: dict[str, Json], plan: Plan, error: ValidationError) -> bool:
    """Answer one error; whether anything was changed."""
    while error.validator in {"anyOf", "oneOf"} and error.context:
        branches: dict[Any, list[ValidationError]] = {}
        for inner in error.context:
            branches.setdefault(inner.schema_path[0], []).append(inner)
        error = min(branches.values(), key=len)[0]
    place = list(error.absolute_path)
    wanted: Any = error.validator_value
    here = _at(arguments, place)
    schema = error.schema if isinstance(error.schema, dict) else {}
    if isinstance(here, dict):
        if missing := _missing(error, here):
            node = schema.get("properties", {}).get(missing, _property(builder, place, missing))
            path = (*_path(place), missing)
            here[missing] = builder.value(
                node, Spot(path, Field(missing, "", "", tuple(here), {}), plan, len(path))
            )
            return True
        if error.validator in {
            "additionalProperties",
            "unevaluatedProperties",
            "propertyNames",
            "maxProperties",
        }:
            return _drop_extra(here, schema)
    if error.validator in {"const", "enum"}:
        return _set(arguments, place, wanted if error.validator == "const" else wanted[0])
    if error.validator == "uniqueItems" and isinstance(here, list):
        here[:] = {canonical(item): item for item in here}.values()
        return True
    if error.validator in {
        "type",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "pattern",
        "format",
        "minItems",
        "multipleOf",
    }:
        path = _path(place)
        name = next((str(part) for part in reversed(place) if isinstance(part, str)), "")
        return _set(
            arguments, place, builder.value(schema, Spot(path, Field(name, "", "", (), {}), plan, len(path)))
        )
    return _drop(builder, arguments, place)


def _missing(error: ValidationError, here: dict[str, Json]) -> str:
    wanted: Any = error.validator_value
    if error.validator == "required":
        return next((name for name in wanted if name not in here), "")
    if error.validator in {"dependentRequired", "dependencies"} and isinstance(wanted, dict):
        needed = [
            name for key, names in wanted.items() if key in here and isinstance(names, list) for name in names
        ]
        return next((name for name in needed if name not in here), "")
    return ""


def _property(builder: Builder, place: list[Any], name: str) -> Any:
    """The schema of a property somewhere in the arguments, as the whole schema has it."""
    node: Any = builder.schema.root
    for part in [*place, name]:
        try:
            flat = flatten(builder.schema, node)
        except UnsatisfiableError:
            return True
        node = (
            flat.node.get("items", True)
            if isinstance(part, int)
            else flat.node.get("properties", {}).get(part, True)
        )
        if isinstance(node, list):
            return True
    return node


def _drop_extra(here: dict[str, Json], schema: dict[str, Any]) -> bool:
    known = schema.get("properties", {})
    extra = next((name for name in reversed(here) if name not in known), None) or next(
        (name for name in reversed(here) if name not in schema.get("required", ())), None
    )
    if extra is None:
        return False
    del here[extra]
    return True


def _drop(builder: Builder, arguments: dict[str, Json], place: list[Any]) -> bool:
    """Leave out the innermost field around the error that is optional; failing that, the last optional one."""
    for end in range(len(place) - 1, -1, -1):
        parent = _at(arguments, place[:end])
        if isinstance(parent, dict) and place[end] not in _required(builder, place[:end]):
            del parent[place[end]]
            return True
    needed = _required(builder, [])
    optional = [name for name in arguments if name not in needed]
    if optional:
        del arguments[optional[-1]]
    return bool(optional)


def _required(builder: Builder, place: list[Any]) -> list[str]:
    node = _property(builder, place[:-1], place[-1]) if place else builder.schema.root
    try:
        return list(flatten(builder.schema, node).node.get("required", ()))
    except UnsatisfiableError:
        return []


def _at(value: Any, place: list[Any]) -> Any:
    for part in place:
        value = value[part]
    return value


def _set(arguments: dict[str, Json], place: list[Any], value: Json) -> bool:
    if not place:
        return False
    parent = _at(arguments, place[:-1])
    if canonical(parent[place[-1]]) == canonical(value):
        return False
    parent[place[-1]] = value
    return True


def _path(place: list[Any]) -> Path:
    return tuple(ITEMS if isinstance(part, int) else part for part in place)
