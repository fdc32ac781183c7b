"""A form is filled with values that are valid under its own schema, or declined."""

import jsonschema
import pytest

from sandbox.client.answers import answer_elicitation
from sandbox.client.forms import fill_form
from sandbox.model import Json

FIELDS: list[dict[str, Json]] = [
    {"type": "string"},
    {"type": "string", "minLength": 30},
    {"type": "string", "maxLength": 3},
    {"type": "string", "format": "email"},
    {"type": "string", "format": "uri"},
    {"type": "string", "format": "date"},
    {"type": "string", "format": "date-time"},
    {"type": "string", "enum": ["a", "b"]},
    {"type": "string", "enum": ["a", "b"], "default": "b"},
    {"type": "string", "enum": ["a", "b"], "default": "c"},
    {"type": "string", "oneOf": [{"const": "x", "title": "X"}, {"const": "y", "title": "Y"}]},
    {"const": "only"},
    {"type": "integer"},
    {"type": "integer", "minimum": 5},
    {"type": "integer", "maximum": -5},
    {"type": "integer", "minimum": 3, "maximum": 3},
    {"type": "integer", "exclusiveMinimum": 5},
    {"type": "number", "minimum": 0.25, "maximum": 0.75},
    {"type": "number", "exclusiveMaximum": 0},
    {"type": "boolean"},
    {"type": "boolean", "default": False},
    {"type": ["string", "null"]},
    {"type": "array", "items": {"type": "string", "enum": ["a", "b", "c"]}, "minItems": 2},
    {"type": "array", "items": {"anyOf": [{"const": "p"}, {"const": "q"}]}},
]


@pytest.mark.parametrize("field", FIELDS, ids=str)
def test_every_kind_of_field_gets_a_valid_value(field: dict[str, Json]) -> None:
    schema: dict[str, Json] = {"type": "object", "properties": {"f": field}, "required": ["f"]}
    form = fill_form(schema)

    jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker()).validate(form)


def test_defaults_win_where_they_are_allowed() -> None:
    fields = {
        "a": {"type": "integer", "default": 7},
        "b": {"enum": ["x", "y"], "default": "y"},
        "c": {"enum": ["x"], "default": "z"},
    }
    assert fill_form({"properties": fields}) == {"a": 7, "b": "y", "c": "x"}


@pytest.mark.parametrize(
    "field",
    [{"type": "object"}, {"type": "string", "minLength": 1_000_000_000}, {"type": "array", "items": {}}, 7],
)
def test_a_field_that_cannot_be_filled_is_left_out_and_declines_the_form_where_it_is_required(
    field: Json,
) -> None:
    assert fill_form({"properties": {"f": field}}) == {}
    assert fill_form({"properties": {"f": field}, "required": ["f"]}) is None


@pytest.mark.parametrize(
    ("params", "action"),
    [
        ({"requestedSchema": {"properties": {}}}, "accept"),
        ({"requestedSchema": "nonsense"}, "accept"),
        ({"requestedSchema": {"properties": {"f": 1}, "required": ["f"]}}, "decline"),
        ({"requestedSchema": {"properties": {str(number): {} for number in range(500)}}}, "decline"),
        ({"mode": "url", "url": "https://example.com/login"}, "accept"),
        ({"mode": "url", "url": "file:///etc/passwd"}, "decline"),
        ({"mode": "url"}, "decline"),
    ],
)
def test_elicitations_are_accepted_where_a_person_could_have(params: dict[str, Json], action: str) -> None:
    assert answer_elicitation(params)["action"] == action
