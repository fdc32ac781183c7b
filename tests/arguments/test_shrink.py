"""Shrinking: smaller, valid, most taken away first."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator

from sandbox.arguments import shrink

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 2},
        "items": {"type": "array", "items": {"type": "integer", "minimum": 2}, "minItems": 1},
        "limit": {"type": "integer", "default": 5},
        "flag": {"type": "boolean"},
        "options": {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}},
    },
    "required": ["path", "items"],
}
ARGUMENTS: dict[str, Any] = {
    "path": "/some/where",
    "items": [10, 20, 30],
    "limit": 9,
    "flag": True,
    "options": {"a": "xx", "b": "yy"},
}


def test_every_candidate_is_valid_new_and_given_once() -> None:
    candidates = list(shrink(ARGUMENTS, SCHEMA))
    validator = Draft202012Validator(SCHEMA)
    assert candidates
    assert all(validator.is_valid(candidate) for candidate in candidates)
    texts = [json.dumps(candidate, sort_keys=True) for candidate in candidates]
    assert len(texts) == len(set(texts))
    assert json.dumps(ARGUMENTS, sort_keys=True) not in texts


def test_all_optional_fields_go_first_then_each_alone() -> None:
    first, *rest = islice(shrink(ARGUMENTS, SCHEMA), 4)
    assert set(first) == {"path", "items"}
    assert {frozenset(set(ARGUMENTS) - set(candidate)) for candidate in rest} == {
        frozenset({name}) for name in ("limit", "flag", "options")
    }


def test_repeating_it_reaches_the_least() -> None:
    def effect(arguments: dict[str, Any]) -> bool:
        return 20 in arguments["items"] and arguments.get("options", {}).get("a") is not None

    best, steps = ARGUMENTS, 0
    while steps < 50:
        smaller = next((candidate for candidate in shrink(best, SCHEMA) if effect(candidate)), None)
        if smaller is None:
            break
        best, steps = smaller, steps + 1
    assert best["items"] == [20]
    assert set(best["options"]) == {"a"}
    assert set(best) == {"path", "items", "options"}


def test_it_ends_on_arguments_that_cannot_be_made_smaller() -> None:
    assert list(shrink({}, {"type": "object"})) == []
    assert (
        list(shrink({"a": "x"}, {"type": "object", "properties": {"a": {"const": "x"}}, "required": ["a"]}))
        == []
    )


def test_a_large_set_of_arguments_gives_a_bounded_number() -> None:
    large = {f"k{n}": ["x" * 50] * 50 for n in range(200)}
    assert len(list(shrink(large, {"type": "object"}))) <= 200
