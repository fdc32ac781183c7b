"""Every feature of JSON Schema that servers use: proposals are made, and a plain validator accepts each."""

from __future__ import annotations

import json
from typing import Any

import pytest
from argument_schemas import Propose, fields

EMAIL = r"^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$"
UUID = r"^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$"
MOMENT = r"^\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\d|3[01])|(0[469]|11)-(0[1-9]|[12]\d|30))T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?Z$"
DRAFT7 = "http://json-schema.org/draft-07/schema#"

FEATURES: dict[str, dict[str, Any]] = {
    "plain types": fields(a={"type": "string"}, b={"type": "integer"}, c={"type": "number"}, d={"type": "boolean"}),
    "null type": fields(a={"type": "null"}),
    "type list": fields(a={"type": ["string", "null"]}, b={"type": ["integer", "string"]}),
    "enum": fields(a={"enum": ["x", 1, None, True]}),
    "const": fields(a={"const": {"deep": [1, 2]}}),
    "pydantic optional": fields(a={"anyOf": [{"type": "integer", "minimum": 3}, {"type": "null"}], "default": None}),
    "pydantic model": {
        "$defs": {"Item": fields(name={"type": "string"}, tags={"items": {"type": "string"}, "type": "array"})},
        **fields(item={"$ref": "#/$defs/Item"}, items={"items": {"$ref": "#/$defs/Item"}, "type": "array", "minItems": 2}),
    },
    "pydantic tuple": fields(
        a={"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "minItems": 2, "maxItems": 2}
    ),
    "pydantic discriminator": {
        "$defs": {
            "Cat": fields(kind={"const": "cat", "type": "string"}, lives={"type": "integer"}),
            "Dog": fields(kind={"const": "dog", "type": "string"}, name={"type": "string"}),
        },
        **fields(
            pet={
                "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}],
                "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/$defs/Cat"}},
            }
        ),
    },
    "zod tuple": {"$schema": DRAFT7, **fields(a={"type": "array", "items": [{"type": "number"}, {"type": "string"}], "additionalItems": False})},
    "zod definitions": {
        "$schema": DRAFT7,
        "definitions": {"P": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"], "additionalProperties": False}},
        **fields(p={"$ref": "#/definitions/P"}),
    },
    "zod long patterns": {
        "$schema": DRAFT7,
        **fields(email={"type": "string", "pattern": EMAIL}, id={"type": "string", "pattern": UUID}, at={"type": "string", "pattern": MOMENT}),
    },
    "zod record": {"$schema": DRAFT7, **fields(a={"type": "object", "additionalProperties": {"type": "number"}, "propertyNames": {"type": "string"}})},
    "recursion": {"$defs": {"T": {"type": "object", "properties": {"v": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/T"}}}, "required": ["v", "kids"]}}, **fields(t={"$ref": "#/$defs/T"})},
    "recursion through the root": {"type": "object", "properties": {"next": {"$ref": "#"}, "v": {"type": "integer"}}, "required": ["v"]},
    "nullable recursion": {"$defs": {"N": fields(v={"type": "integer"}, next={"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]})}, **fields(n={"$ref": "#/$defs/N"})},
    "ranges": fields(a={"type": "integer", "minimum": 7, "maximum": 9}, b={"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 0.1}),
    "exclusive integers": fields(a={"type": "integer", "exclusiveMinimum": 4, "exclusiveMaximum": 6}),
    "steps": fields(a={"type": "integer", "multipleOf": 7, "minimum": 10}, b={"type": "number", "multipleOf": 0.25, "minimum": 0.3}),
    "negative": fields(a={"type": "integer", "maximum": -5}, limit={"type": "number", "maximum": -0.5}),
    "lengths": fields(a={"type": "string", "minLength": 40}, b={"type": "string", "maxLength": 2}, c={"type": "string", "minLength": 3, "maxLength": 3}),
    "pattern": fields(a={"type": "string", "pattern": "^[a-z]{3}-[0-9]{4}$"}, b={"type": "string", "pattern": r"\.json$"}),
    "pattern with lengths": fields(a={"type": "string", "pattern": "^[a-z]+$", "minLength": 12, "maxLength": 14}),
    "formats": fields(**{f"f{index}": {"type": "string", "format": form} for index, form in enumerate(("date-time", "date", "time", "duration", "email", "uri", "uuid", "ipv4", "ipv6", "hostname", "regex", "json-pointer", "no-such-format"))}),
    "items": fields(a={"type": "array", "items": {"type": "integer", "minimum": 3}, "minItems": 3, "maxItems": 5}),
    "unique items": fields(a={"type": "array", "items": {"enum": ["x", "y", "z"]}, "minItems": 3, "uniqueItems": True}),
    "unique texts": fields(a={"type": "array", "items": {"type": "string"}, "minItems": 2, "uniqueItems": True}),
    "contains": fields(a={"type": "array", "contains": {"const": 5}}),
    "no items": fields(a={"type": "array", "maxItems": 0}),
    "free object": fields(a={"type": "object"}, b={}),
    "closed object": {**fields(a={"type": "string"}), "additionalProperties": False},
    "least properties": fields(a={"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}}),
    "pattern properties": fields(a={"type": "object", "patternProperties": {"^x-[a-z]+$": {"type": "integer"}}, "additionalProperties": False, "minProperties": 1}),
    "required without schema": {"type": "object", "required": ["a"]},
    "dependent required": {"type": "object", "properties": {"card": {"type": "string"}, "zip": {"type": "string"}}, "dependentRequired": {"card": ["zip"]}},
    "old dependencies": {"$schema": DRAFT7, "type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "dependencies": {"a": ["b"]}},
    "dependent schemas": {"type": "object", "properties": {"a": {"type": "string"}}, "dependentSchemas": {"a": {"required": ["b"], "properties": {"b": {"type": "integer"}}}}},
    "if then else": {
        **fields(kind={"enum": ["point", "line"]}),
        "if": {"properties": {"kind": {"const": "line"}}},
        "then": {"required": ["length"], "properties": {"length": {"type": "integer"}}},
        "else": {"required": ["x"], "properties": {"x": {"type": "number"}}},
    },
    "all of": {"allOf": [fields(a={"type": "string"}), fields(b={"type": "integer"})], "type": "object"},
    "all of on one field": fields(a={"allOf": [{"type": "integer"}, {"minimum": 4}, {"maximum": 4}]}),
    "any of at the top": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "one of at the top": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]},
    "one of titled constants": fields(a={"oneOf": [{"const": "x", "title": "X"}, {"const": "y", "title": "Y"}]}),
    "any of mixed": fields(a={"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}, {"type": "object"}]}),
    "not": fields(a={"type": "string", "not": {"enum": ["", "sample"]}}),
    "boolean schemas": {"type": "object", "properties": {"a": True, "b": False}, "required": ["a"]},
    "unevaluated": {"allOf": [fields(a={"type": "string"})], "type": "object", "properties": {"b": {"type": "integer"}}, "unevaluatedProperties": False},
    "default and examples": fields(a={"type": "string", "default": "d"}, b={"type": "integer", "examples": [42]}),
    "wrong default": fields(a={"type": "integer", "default": "not a number"}),
    "nested": fields(a=fields(b=fields(c={"type": "array", "items": fields(d={"enum": [1, 2]})}))),
    "odd names": fields(**{"a b": {"type": "string"}, "": {"type": "integer"}, "ünïcode": {"type": "boolean"}, "$x": {"type": "string"}}),
    "percent of a definition": {"$defs": {"a/b": {"type": "integer"}}, **fields(a={"$ref": "#/$defs/a~1b"})},
    "anchor": {"$defs": {"A": {"$anchor": "here", "type": "integer"}}, **fields(a={"$ref": "#here"})},
    "own identity": {"$id": "https://example.com/s.json", "$defs": {"A": {"type": "integer"}}, **fields(a={"$ref": "#/$defs/A"})},
    "draft 4": {"$schema": "http://json-schema.org/draft-04/schema#", **fields(a={"type": "integer", "minimum": 3, "exclusiveMinimum": True})},
    "unknown dialect": {"$schema": "https://example.com/own-dialect", **fields(a={"type": "integer"})},
}  # fmt: skip


@pytest.mark.parametrize("feature", FEATURES)
def test_every_proposal_is_valid(feature: str, proposals: Propose) -> None:
    made = proposals(FEATURES[feature])
    assert made
    for proposal in made:
        json.dumps(proposal.arguments, allow_nan=False, ensure_ascii=False).encode()


@pytest.mark.parametrize("feature", FEATURES)
def test_the_same_seed_gives_the_same_proposals(feature: str, proposals: Propose) -> None:
    assert proposals(FEATURES[feature], seed=3) == proposals(FEATURES[feature], seed=3)


def test_another_seed_gives_other_new_names(proposals: Propose) -> None:
    schema = fields(name={"type": "string"})
    assert proposals(schema, name="create_user", seed=1) != proposals(schema, name="create_user", seed=2)


def test_an_unreadable_pattern_leaves_an_optional_field_out(proposals: Propose) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "pattern": "^[a-z]{2}$(?!)"}, "b": {"type": "string"}},
    }
    made = proposals(schema)
    assert {"b"} in [set(proposal.arguments) for proposal in made]
    assert not [proposal for proposal in made if "a" in proposal.arguments]
    assert any("a: left out" in proposal.origin for proposal in made)
