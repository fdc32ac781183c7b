"""Schemas that are missing, wrong or hostile: survived, in bounded work, with nothing fetched."""

from __future__ import annotations

import socket
import time
from typing import Any

import pytest

from sandbox.arguments import Learned, propose
from sandbox.arguments.patterns import search
from sandbox.model import Tool
from sandbox.workspace import Surroundings

ODD: dict[str, Any] = {
    "missing": None,
    "a list": [],
    "a text": "object",
    "empty": {},
    "no type": {"properties": {"a": {"type": "string"}}},
    "properties is a list": {"type": "object", "properties": [1]},
    "required is true": {"type": "object", "properties": {"a": {"type": "string", "required": True}}, "required": "a"},
    "unknown type": {"type": "object", "properties": {"a": {"type": "any"}}, "required": ["a"]},
    "numbers as texts": {"type": "object", "properties": {"a": {"type": "integer", "minimum": "1"}}, "required": ["a"]},
    "empty enum": {"type": "object", "properties": {"a": {"enum": []}}, "required": ["a"]},
    "reference to nowhere": {"type": "object", "properties": {"a": {"$ref": "#/$defs/None"}}, "required": ["a"]},
    "reference to itself": {"$defs": {"A": {"$ref": "#/$defs/A"}}, "type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}},
    "references in a ring": {
        "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/B"}]}, "B": {"allOf": [{"$ref": "#/$defs/A"}]}},
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/A"}},
        "required": ["a"],
    },
    "root refers to itself": {"$ref": "#"},
    "broken pattern": {"type": "object", "properties": {"a": {"type": "string", "pattern": "["}}},
    "openapi nullable": {"type": "object", "properties": {"a": {"type": "string", "nullable": True}}},
    "not a number in default": {"type": "object", "properties": {"a": {"type": "number", "default": float("nan")}}, "required": ["a"]},
    "lone surrogate": {"type": "object", "properties": {"a": {"enum": ["\ud800", "ok"]}}, "required": ["a"]},
}  # fmt: skip


def deep(levels: int) -> dict[str, Any]:
    """An object in an object in an object."""
    node: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        node = {"type": "object", "properties": {"x": node}, "required": ["x"]}
    return node


def widening(levels: int) -> dict[str, Any]:
    """Definitions that each apply the next one twice: two to the power of ``levels`` checks for a naive validator."""
    pairs = {f"L{n}": {"allOf": [{"$ref": f"#/$defs/L{n + 1}"}] * 2} for n in range(levels)}
    return {
        "$defs": {**pairs, f"L{levels}": {"type": "string"}},
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/L0"}},
    }


HOSTILE: dict[str, dict[str, Any]] = {
    "100,000 listed values": {"type": "object", "properties": {"a": {"enum": [f"v{n}" for n in range(100_000)]}}, "required": ["a"]},
    "10,000 optional properties": {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(10_000)}},
    "10,000 required properties": {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(10_000)}, "required": [f"p{n}" for n in range(10_000)]},
    "400 levels": {"type": "object", "properties": {"a": deep(400)}},
    "required for ever": {"$defs": {"A": {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "required": ["a"]}}, "$ref": "#/$defs/A"},
    "wide recursion": {"$defs": {"T": {"type": "object", "properties": {f"k{n}": {"$ref": "#/$defs/T"} for n in range(30)}}}, "type": "object", "properties": {"t": {"$ref": "#/$defs/T"}}},
    "exponential allOf": widening(40),
    "exponential pattern": {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$", "examples": ["a" * 60 + "!"]}}, "required": ["a"]},
    "nested repeats": {"type": "object", "properties": {"a": {"type": "string", "pattern": "^((a{0,50}){0,50}){0,50}$", "default": "a" * 200 + "!"}}},
    "short nested repeats": {"type": "object", "properties": {"a": {"type": "string", "pattern": "^((((((a{1,9}){1,9}){1,9}){1,9}){1,9}){1,9}){1,9}$", "default": "a" * 40 + "!"}}},
    "ambiguous branches": {"type": "object", "properties": {"a": {"type": "string", "pattern": "^" + "(a|a)" * 40 + "$", "default": "a" * 40 + "!"}}},
    "ambiguous options": {"type": "object", "properties": {"a": {"type": "string", "pattern": "^" + "a?" * 40 + "a{40}b$", "default": "a" * 40}}},
    "fixed nested repeats": {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(((([a-z]{1000}){1000}){1000}){1000}){1000}$"}}, "required": ["a"]},
    "repeats of nothing": {"type": "object", "properties": {"a": {"type": "string", "pattern": "^((((((a{0}){99}){99}){99}){99}){99}){99}b$"}}, "required": ["a"]},
    "polynomial pattern": {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(.*)(.*)(.*)(.*)(.*)(.*)=$", "default": "b" * 5_000}}},
    "a million items": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}, "minItems": 1_000_000}}},
    "an endless text": {"type": "object", "properties": {"a": {"type": "string", "minLength": 10**12}}},
    "a long description": {"type": "object", "properties": {"a": {"type": "string", "description": "'x' e.g. " * 100_000}}},
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
def test_an_odd_schema_still_gives_a_call(case: str, here: Surroundings) -> None:
    made = propose(Tool.read({"name": "odd", "inputSchema": ODD[case]}), here, Learned(), seed=0, limit=20)
    assert made
    assert all(isinstance(proposal.arguments, dict) for proposal in made)


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_schema_takes_bounded_work(case: str, here: Surroundings) -> None:
    tool = Tool.read({"name": "hostile", "inputSchema": HOSTILE[case]})
    started = time.process_time()
    made = propose(tool, here, Learned(), seed=0, limit=20)
    # Seconds of processor time against hours or for ever: the bound needs no precision.
    assert time.process_time() - started < 20
    assert len(made) <= 20


def test_a_reference_that_leaves_the_schema_is_never_fetched_and_noted(
    here: Surroundings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("something was fetched")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    schema = {
        "type": "object",
        "properties": {"a": {"$ref": "https://example.com/schema.json#/a"}},
        "required": ["a"],
    }
    (first, *_) = propose(Tool.read({"name": "t", "inputSchema": schema}), here, Learned(), seed=0, limit=4)
    assert "a" in first.arguments
    assert "leaves the schema" in first.origin


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^(a+)+$", "a" * 40, True),
        ("^(a+)+$", "a" * 40 + "!", False),
        (r"^(\w+\s?)*$", "two words", True),
        (r"^([a-z]+(-[a-z]+)*)+$", "a-b-c", True),
        (r"^([a-z]+(-[a-z]+)*)+$", "a--b", False),
        (r"^((?!bad).)*$", "a bad thing", False),
        (r"^((?!bad).)*$", "a good thing", True),
        (r"^(\b[a-z]+\b ?)+$", "one two", True),
        ("x$", "x\n", False),
        (r"^\p{L}+$", "Grüße", True),
        ("^(?<year>\\d{4})$", "2024", True),
        ("[", "x", None),
    ],
)
def test_patterns_are_matched_as_ecma_means_them(pattern: str, text: str, matches: bool | None) -> None:
    assert search(pattern, text) is matches
