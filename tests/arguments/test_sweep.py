"""The sweep: what parts of the input space the proposals cover, and in which order."""

from __future__ import annotations

from typing import Any

from argument_schemas import Propose, fields

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "mode": {"type": "string", "enum": ["rewrite", "append", "prepend"]},
        "note": {"type": "string"},
        "flag": {"type": "boolean", "default": False},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "options": {
            "type": "object",
            "properties": {"depth": {"type": "string", "enum": ["one", "all"]}, "force": {"type": "boolean"}},
        },
        "steps": {
            "type": "array",
            "items": {"type": "object", "properties": {"kind": {"enum": ["click", "type"]}}},
        },
    },
    "required": ["mode"],
}


def test_the_first_call_holds_the_required_fields_only(proposals: Propose) -> None:
    first = proposals(SCHEMA)[0]
    assert first.label.startswith("minimal")
    assert set(first.arguments) == {"mode"}


def test_one_call_holds_every_field(proposals: Propose) -> None:
    full = next(proposal for proposal in proposals(SCHEMA) if proposal.label.split(", ")[0] == "full")
    assert set(full.arguments) == set(SCHEMA["properties"])


def test_every_listed_value_is_sent_inside_objects_and_arrays_too(proposals: Propose) -> None:
    made = [proposal.arguments for proposal in proposals(SCHEMA)]
    assert {arguments["mode"] for arguments in made} == {"rewrite", "append", "prepend"}
    assert {arguments["options"].get("depth") for arguments in made if "options" in arguments} >= {
        "one",
        "all",
    }
    kinds = {step.get("kind") for arguments in made for step in arguments.get("steps", [])}
    assert kinds >= {"click", "type"}


def test_both_values_of_every_switch_are_sent(proposals: Propose) -> None:
    made = [proposal.arguments for proposal in proposals(SCHEMA)]
    assert {arguments["flag"] for arguments in made if "flag" in arguments} == {True, False}
    inner = [arguments["options"] for arguments in made if "options" in arguments]
    assert {options["force"] for options in inner if "force" in options} == {True, False}


def test_every_optional_field_is_sent_without_the_others_once(proposals: Propose) -> None:
    alone = {frozenset(proposal.arguments) for proposal in proposals(SCHEMA)}
    for name in ("note", "flag", "limit", "options", "steps"):
        assert {"mode", name} in alone


def test_null_and_a_value_are_both_sent(proposals: Propose) -> None:
    limits = [proposal.arguments["limit"] for proposal in proposals(SCHEMA) if "limit" in proposal.arguments]
    assert None in limits
    assert any(isinstance(limit, int) for limit in limits)


def test_labels_tell_what_is_covered(proposals: Propose) -> None:
    labels = {part for proposal in proposals(SCHEMA) for part in proposal.label.split(", ")}
    wanted = {
        "minimal",
        "full",
        "mode=rewrite",
        "mode=append",
        "mode=prepend",
        "flag=true",
        "flag=false",
        "with limit",
    }
    assert labels >= wanted | {"limit=null", "options.depth=all", "options.force=true", "steps[].kind=type"}


def test_no_set_of_arguments_is_sent_twice(proposals: Propose) -> None:
    made = [repr(proposal.arguments) for proposal in proposals(SCHEMA)]
    assert len(made) == len(set(made))


def test_a_limit_keeps_the_most_telling_ones(proposals: Propose) -> None:
    every = proposals(SCHEMA)
    some = proposals(SCHEMA, limit=5)
    assert [proposal.arguments for proposal in some] == [proposal.arguments for proposal in every[:5]]
    assert {"minimal", "full"} <= {part for proposal in some for part in proposal.label.split(", ")}


def test_every_branch_of_a_choice_is_sent(proposals: Propose) -> None:
    branches = [
        {"type": "string"},
        {"type": "array", "items": {"type": "string"}},
        fields(only={"type": "integer"}),
    ]
    made = proposals(fields(filter={"anyOf": branches}))
    assert {type(proposal.arguments["filter"]) for proposal in made} == {str, list, dict}


def test_an_action_is_tried_with_everything_that_it_may_need(proposals: Propose) -> None:
    schema = {
        "type": "object",
        "properties": {"action": {"enum": ["list", "create"]}, "name": {"type": "string"}},
        "required": ["action"],
    }
    made = [proposal.arguments for proposal in proposals(schema)]
    assert any(arguments["action"] == "create" and "name" in arguments for arguments in made)


def test_an_example_that_the_tool_writes_out_is_sent(proposals: Propose) -> None:
    schema = fields(query={"type": "string"}, depth={"type": "integer"})
    made = proposals(schema, description='Example: {"query": "cats", "depth": 3} finds cats.')
    assert {"query": "cats", "depth": 3} in [proposal.arguments for proposal in made]


def test_every_value_says_why_it_was_chosen(proposals: Propose) -> None:
    for proposal in proposals(fields(path={"type": "string"}, limit={"type": "integer", "default": 9})):
        assert "path:" in proposal.origin
        assert "limit: the schema's default" in proposal.origin or "another" in proposal.label
        assert "\n" not in proposal.origin
