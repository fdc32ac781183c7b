"""Chains: what one call made or told is what the next call names."""

from __future__ import annotations

import json
from typing import Any

import pytest
from argument_schemas import Propose, fields

from sandbox.arguments import Learned, propose
from sandbox.model import Call, Json, Outcome, Reply, Tool
from sandbox.workspace import Repo, Surroundings

TEXT: dict[str, Any] = {"type": "string"}


def reply(text: str = "", *, structured: Json = None, outcome: Outcome = Outcome.ACCEPTED) -> Reply:
    """A reply as a server sends it."""
    raw: dict[str, Json] = {"content": [{"type": "text", "text": text}]}
    if structured is not None:
        raw["structuredContent"] = structured
    return Reply(outcome, raw, text[:4_096], 1.0)


def many(**properties: Any) -> dict[str, Any]:
    """An array of objects."""
    return {"type": "array", "items": fields(**properties)}


ENTITY = many(
    name={"type": "string", "description": "The name of the entity"},
    entityType=TEXT,
    observations={"type": "array", "items": TEXT},
)
ADDED = many(
    entityName={"type": "string", "description": "The name of the entity to add the observations to"},
    contents={"type": "array", "items": TEXT},
)
FROM_TO = many(**{"from": {"type": "string", "description": "The name of the entity where the relation starts"}, "to": {"type": "string", "description": "The name of the entity where the relation ends"}})  # fmt: skip


def test_what_was_created_is_added_to_related_and_deleted(proposals: Propose) -> None:
    learned = Learned()
    names = []
    for made in proposals(fields(entities=ENTITY), name="create_entities")[:2]:
        names.append(made.arguments["entities"][0]["name"])  # type: ignore[index, call-overload]
        learned.absorb(Call("create_entities", made.arguments), reply("[]"))
    newest, older = names[1], names[0]

    def first(name: str, **properties: Any) -> dict[str, Any]:
        return dict(proposals(fields(**properties), name=name, learned=learned)[0].arguments)

    assert first("add_observations", observations=ADDED)["observations"][0]["entityName"] == newest
    relation = first("create_relations", relations=FROM_TO)["relations"][0]
    assert (relation["from"], relation["to"]) == (newest, older)
    assert first("delete_entities", entityNames={"type": "array", "items": TEXT})["entityNames"] == [newest]
    assert first("open_nodes", names={"type": "array", "items": TEXT})["names"] == [newest]


def test_a_creator_goes_on_making_new_names(proposals: Propose) -> None:
    learned = Learned()
    made = proposals(fields(name=TEXT), name="create_user")[0]
    learned.absorb(Call("create_user", made.arguments), reply("ok"))
    again = proposals(fields(name=TEXT), name="create_group", learned=learned)
    assert again[0].arguments != made.arguments
    assert "existing" in again[1].label
    assert again[1].arguments == made.arguments


@pytest.mark.parametrize(
    ("told", "field", "expected"),
    [
        (json.dumps({"id": "u-17", "name": "x"}), "id", "u-17"),
        (json.dumps([{"userId": "u-18"}]), "userId", "u-18"),
        (json.dumps({"session": {"id": "s-1"}}), "session_id", "s-1"),
        ("Started. sessionId: abc-123\nMore text", "sessionId", "abc-123"),
        ("Created note my-note successfully", "note", "my-note"),
        ('Task saved with id "t_9".\nid: t_9', "task_id", "t_9"),
        ("Process started with PID 4242", "pid", "4242"),
        ("path: notes/n1.md", "path_id", None),
        ("uri = memo://x/1", "uri", "memo://x/1"),
    ],
)
def test_ids_are_read_from_json_and_from_plain_text(told: str, field: str, expected: str | None) -> None:
    learned = Learned()
    learned.absorb(Call("get_thing", {}), reply(told))
    values = learned.values_for(field, {"type": "string"})
    assert (values[0] if values else None) == expected


def test_structured_content_teaches() -> None:
    learned = Learned()
    learned.absorb(Call("list_jobs", {}), reply("", structured={"jobs": [{"jobId": 7}, {"jobId": 8}]}))
    assert learned.values_for("jobId", {"type": "integer"})[:2] == [8, 7]
    assert learned.values_for("job_ids", {"type": "string"})[:2] == ["8", "7"]


def test_a_number_told_as_text_fits_a_number(proposals: Propose) -> None:
    learned = Learned()
    learned.absorb(Call("start_process", {"command": "x"}), reply("Process started with PID 4242"))
    made = proposals(fields(pid={"type": "number"}), name="kill_process", learned=learned)
    assert made[0].arguments == {"pid": 4242}


def test_refused_calls_teach_nothing() -> None:
    learned = Learned()
    learned.absorb(Call("create_user", {"name": "x"}), reply("id: 5", outcome=Outcome.REFUSED))
    assert learned.values_for("name") == learned.values_for("id") == []


def test_a_created_table_is_read_and_written(proposals: Propose) -> None:
    learned = Learned()
    creation = {"query": "CREATE TABLE IF NOT EXISTS planets (id INTEGER PRIMARY KEY, title TEXT, mass REAL)"}
    learned.absorb(Call("create_table", creation), reply("Table created"))
    read = proposals(fields(query=TEXT), name="read_query", learned=learned)[0]
    assert read.arguments["query"] == "SELECT * FROM planets LIMIT 5"
    write = proposals(fields(query=TEXT), name="write_query", learned=learned)[0]
    assert write.arguments["query"] == "INSERT INTO planets (title, mass) VALUES ('sample', 1)"
    described = proposals(fields(table_name=TEXT), name="describe_table", learned=learned)[0]
    assert described.arguments == {"table_name": "planets"}


def test_the_newest_comes_first() -> None:
    learned = Learned()
    for number in range(3):
        learned.absorb(Call("get", {}), reply(json.dumps({"id": f"i{number}"})))
    assert learned.values_for("id") == ["i2", "i1", "i0"]


def test_learning_from_a_flood_is_bounded_and_sendable() -> None:
    learned = Learned()
    flood = {f"key{n}_id": f"v{n}" for n in range(50_000)} | {
        "bad_id": "\ud800",
        "long_id": "x" * 100_000,
        "multi_id": "a\nb",
    }
    learned.absorb(Call("get", {}), reply(structured=flood))
    learned.absorb(Call("get", {}), reply("id: 1 " * 100_000))
    nested: Json = "end"
    for _ in range(5_000):
        nested = [nested]
    learned.absorb(Call("get", {}), reply(structured=nested))
    learned.absorb(Call("get", {}), reply("[" * 50_000))
    for name in ("bad_id", "long_id", "multi_id"):
        assert not {"\ud800", "x" * 100_000, "a\nb"} & set(map(str, learned.values_for(name)))
    assert len(learned.values_for("id")) <= 24


def test_a_branch_that_a_call_created_is_what_a_checkout_switches_to() -> None:
    learned = Learned()
    created = Call("git_create_branch", {"repo_path": "/w", "branch_name": "sample-1"})
    learned.absorb(created, Reply(Outcome.ACCEPTED, {}, "Created branch 'sample-1' from 'main'", 1.0))
    properties = {"repo_path": TEXT, "branch_name": TEXT}
    schema = {"type": "object", "properties": properties, "required": ["branch_name"]}
    tool = Tool.read({"name": "git_checkout", "description": "Switches branches", "inputSchema": schema})
    surroundings = Surroundings("/w", "/home/user", repositories=(Repo("/w", ("main",), "main"),))
    proposals = propose(tool, surroundings, learned, seed=0, limit=4)
    assert proposals[0].arguments["branch_name"] == "sample-1"
