"""Filling an elicitation form: a valid value for every field of a ``requestedSchema``.

The schema language is the flat subset that elicitation allows (MCP 2025-11-25, client/elicitation):
strings, numbers, booleans and enums, single or several.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from sandbox.model import Json

Field: TypeAlias = str | int | float | bool | list[str]

_MAX_FIELDS = 200
_MAX_LENGTH = 10_000
"""A form that wants a longer answer is not one that a person could fill: declined."""

_FORMATS = {
    "email": "user@example.com",
    "uri": "https://example.com/",
    "date": "2025-01-15",
    "date-time": "2025-01-15T12:00:00Z",
    "time": "12:00:00Z",
    "uuid": "123e4567-e89b-42d3-a456-426614174000",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
}


def fill_form(schema: Json) -> dict[str, Json] | None:
    """Values for all properties of ``schema``, or None where a required one cannot be filled."""
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return {}
    required = schema.get("required") if isinstance(schema, dict) else None
    wanted = required if isinstance(required, list) else []
    if len(properties) > _MAX_FIELDS:
        return None
    form: dict[str, Json] = {}
    for name, field in properties.items():
        value = _value(field) if isinstance(field, dict) else None
        if value is not None:
            form[name] = [*value] if isinstance(value, list) else value
        elif name in wanted:
            return None
    return form


def _value(field: Mapping[str, Json]) -> Field | None:
    if (chosen := _chosen(field)) is not None:
        return chosen
    kind = field.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), None)
    match kind:
        case "boolean":
            # Accepting the form means agreeing: confirmations are what booleans in forms ask for.
            return True
        case "integer" | "number":
            return _number(field, whole=kind == "integer")
        case "array":
            return _several(field)
        case "string" | None:
            return _string(field)
        case _:
            return None


def _chosen(field: Mapping[str, Json]) -> Field | None:
    """The value that the schema itself names: its default, its const, or the first of its choices."""
    candidates = [field.get("default"), field.get("const"), *_choices(field)]
    allowed = _choices(field)
    for value in candidates:
        if isinstance(value, str | int | float) and (not allowed or value in allowed):
            return value
        if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
            return [str(one) for one in value]
    return None


def _choices(field: Mapping[str, Json]) -> list[Json]:
    enum = field.get("enum")
    if isinstance(enum, list):
        return enum
    titled = field.get("oneOf") or field.get("anyOf")
    if isinstance(titled, list):
        return [one["const"] for one in titled if isinstance(one, dict) and "const" in one]
    return []


def _several(field: Mapping[str, Json]) -> list[str] | None:
    items = field.get("items")
    choices = [one for one in _choices(items) if isinstance(one, str)] if isinstance(items, dict) else []
    least = max(1, _bound(field, "minItems", 1))
    return choices[:least] if len(choices) >= least else None


def _number(field: Mapping[str, Json], *, whole: bool) -> int | float | None:
    low, high = field.get("minimum"), field.get("maximum")
    above, below = field.get("exclusiveMinimum"), field.get("exclusiveMaximum")
    least = low if isinstance(low, int | float) else above if isinstance(above, int | float) else None
    most = high if isinstance(high, int | float) else below if isinstance(below, int | float) else None
    value: float = 1
    if least is not None and value <= least:
        value = least if above is None else least + 1
    if most is not None and value >= most:
        value = most if below is None else most - 1
        if least is not None and value < least:
            value = (least + most) / 2
    return int(value) if whole or value == int(value) else value


def _string(field: Mapping[str, Json]) -> str | None:
    form = field.get("format")
    text = _FORMATS.get(form, "example") if isinstance(form, str) else "example"
    least, most = _bound(field, "minLength", 0), _bound(field, "maxLength", _MAX_LENGTH)
    if least > _MAX_LENGTH or least > most:
        return None
    return text.ljust(least, "x")[: max(most, 0)]


def _bound(field: Mapping[str, Json], name: str, default: int) -> int:
    value = field.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else default
