"""Aimed values: what a field is filled with names things that exist, in the way that the tool will use them."""

from __future__ import annotations

import base64
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from argument_schemas import Propose, fields

from sandbox.arguments import Proposal
from sandbox.workspace import Surroundings, furnish

TEXT: dict[str, Any] = {"type": "string"}


def column(made: list[Proposal], name: str) -> list[Any]:
    """The values of one field over all proposals that have it."""
    return [proposal.arguments[name] for proposal in made if name in proposal.arguments]


def test_a_reader_is_given_text_files_that_exist(proposals: Propose, here: Surroundings) -> None:
    paths = column(proposals(fields(path=TEXT), name="read_file", description="Read a file"), "path")
    kinds = {file.path: file.kind for file in here.files}
    assert len(set(paths)) > 1
    assert {kinds[path] for path in paths} == {"text"}


@pytest.mark.parametrize(
    ("name", "field", "kind"),
    [
        ("read_media_file", "path", "image"),
        ("describe", "image_path", "image"),
        ("import_csv", "csv_file", "csv"),
        ("load_json", "json_file", "json"),
        ("open_database", "db_path", "sqlite"),
    ],
)
def test_a_file_of_the_kind_that_is_named_is_chosen(
    name: str, field: str, kind: str, proposals: Propose, here: Surroundings
) -> None:
    made = proposals(fields(**{field: TEXT}), name=name)
    assert {file.path: file.kind for file in here.files}[made[0].arguments[field]] == kind


def test_a_lister_is_given_folders(proposals: Propose, here: Surroundings) -> None:
    paths = column(proposals(fields(path=TEXT), name="list_directory"), "path")
    assert set(paths) <= set(here.folders)
    assert here.workspace in paths


@pytest.mark.parametrize(
    ("name", "field"),
    [("write_file", "path"), ("export_report", "output_path"), ("take_snapshot", "save_to_file")],
)
def test_a_writer_is_given_a_new_file_first_and_then_an_existing_one(
    name: str, field: str, proposals: Propose, here: Surroundings
) -> None:
    made = proposals(fields(**{field: TEXT}), name=name)
    existing = {file.path for file in here.files}
    paths = column(made, field)
    assert paths[0] not in existing
    assert paths[0].startswith(here.workspace + "/")
    assert paths[1] in existing
    assert made[1].label == f"{field}: existing file"


def test_what_names_a_part_of_a_file_works_on_an_existing_file_first(
    proposals: Propose, here: Surroundings
) -> None:
    made = proposals(fields(path=TEXT, sheet=TEXT, cell=TEXT), name="write_cell")
    existing = {file.path for file in here.files if file.path.endswith(".xlsx")}
    assert made[0].arguments["path"] in existing
    assert made[1].arguments["path"] not in existing
    assert (made[0].arguments["sheet"], made[0].arguments["cell"]) == ("Sheet1", "A1")


def test_the_place_to_work_in_goes_with_every_call_but_the_minimal(
    proposals: Propose, here: Surroundings
) -> None:
    properties = {
        "path": {"type": "string", "default": "."},
        "limit": {"type": "integer"},
        "all": {"type": "boolean"},
    }
    made = proposals({"type": "object", "properties": properties}, name="git_log", description="Show the log")
    assert made[0].arguments == {}
    assert {proposal.arguments["path"] for proposal in made[1:]} == {here.repositories[0].path, "."}


def test_an_action_takes_along_the_fields_that_are_said_to_belong_to_it(proposals: Propose) -> None:
    properties = {
        "mode": {"enum": ["list", "create"]},
        "tag": {"type": "string", "description": "Name, required for create"},
        "note": TEXT,
    }
    made = proposals({"type": "object", "properties": properties, "required": ["mode"]}, name="tags")
    creating = next(proposal for proposal in made if proposal.label == "mode=create")
    assert set(creating.arguments) == {"mode", "tag"}


def test_a_folder_is_made_anew_and_where_one_is(proposals: Propose, here: Surroundings) -> None:
    paths = column(proposals(fields(path=TEXT), name="create_directory"), "path")
    assert paths[0] not in here.folders
    assert paths[1] in here.folders


def test_a_mover_gets_an_existing_source_and_a_new_place_of_the_same_sort(
    proposals: Propose, here: Surroundings
) -> None:
    made = proposals(
        fields(source=TEXT, destination=TEXT), name="move_file", description="Move or rename files."
    )
    existing = {file.path for file in here.files}
    assert made[0].arguments["source"] in existing
    assert made[0].arguments["destination"] not in existing
    assert made[1].arguments["destination"] in existing
    assert made[1].arguments["destination"] != made[1].arguments["source"]


def test_a_remover_of_files_gets_an_existing_one(proposals: Propose, here: Surroundings) -> None:
    made = proposals(
        fields(path={"type": "string", "description": "Path of the file to delete"}), name="delete_file"
    )
    assert made[0].arguments["path"] in {file.path for file in here.files}


def test_a_remover_of_folders_gets_an_empty_one_and_one_with_files(
    proposals: Propose, here: Surroundings
) -> None:
    paths = column(proposals(fields(path=TEXT), name="delete_directory"), "path")
    full = [any(file.path.startswith(path + "/") for file in here.files) for path in paths]
    assert full[:2] == [False, True]


def test_text_to_replace_occurs_in_the_file_that_is_named(proposals: Propose) -> None:
    contents = {seed.path: seed.content.decode(errors="replace") for seed in furnish(None).seeds}
    edit = fields(oldText=TEXT, newText=TEXT)
    for proposal in proposals(fields(path=TEXT, edits={"type": "array", "items": edit}), name="edit_file"):
        for one in proposal.arguments["edits"]:  # type: ignore[union-attr]
            assert one["oldText"] in contents[str(proposal.arguments["path"])]  # type: ignore[index, call-overload, operator]
    for first, second in (("old_string", "new_string"), ("find_text", "replace_text"), ("needle", "repl")):
        made = proposals(fields(**{"file_path": TEXT, first: TEXT, second: TEXT}), name="replace_in_file")
        assert str(made[0].arguments[first]) in contents[str(made[0].arguments["file_path"])]


def test_a_path_is_relative_where_the_description_says_so(proposals: Propose, here: Surroundings) -> None:
    made = proposals(
        fields(path={"type": "string", "description": "Path relative to the project"}), name="read_file"
    )
    path = made[0].arguments["path"]
    assert f"{here.workspace}/{path}" in {file.path for file in here.files}


def test_an_extension_that_the_tool_names_is_used(proposals: Propose) -> None:
    made = proposals(
        fields(filename={"type": "string", "description": "Name of the .docx file"}), name="create_document"
    )
    assert str(made[0].arguments["filename"]).endswith(".docx")
    assert "/" not in str(made[0].arguments["filename"])


def test_a_bare_name_is_only_used_for_what_lies_in_the_workspace_itself(
    proposals: Propose, here: Surroundings
) -> None:
    near = proposals(fields(filename=TEXT), name="get_text")[0].arguments["filename"]
    deep = proposals(fields(filename=TEXT), name="get_document_text")[0].arguments["filename"]
    paths = {file.path for file in here.files}
    assert f"{here.workspace}/{near}" in paths
    assert deep in paths


def test_a_name_that_is_a_file_name_names_a_file_of_the_workspace(
    proposals: Propose, here: Surroundings
) -> None:
    name = fields(name={"type": "string", "description": "File name of the note"})
    paths = {file.path for file in here.files}
    for tool in ("read_note", "delete_note"):
        assert f"{here.workspace}/{proposals(name, name=tool)[0].arguments['name']}" in paths
    written = column(proposals(name, name="write_note"), "name")
    assert {f"{here.workspace}/{one}" in paths for one in written} == {True, False}


def test_git_tools_get_the_repository_its_branches_commits_and_files(
    proposals: Propose, here: Surroundings
) -> None:
    repo = here.repositories[0]
    where = {"type": "string", "description": "Path to the git repository"}

    def first(name: str, **properties: Any) -> dict[str, Any]:
        return dict(proposals(fields(repo_path=where, **properties), name=name)[0].arguments)

    assert first("git_status")["repo_path"] == repo.path
    assert first("git_checkout", branch_name=TEXT)["branch_name"] == "feature"
    assert first("git_create_branch", branch_name=TEXT)["branch_name"] not in repo.branches
    assert first("git_create_branch", base_branch=TEXT)["base_branch"] == repo.head
    assert first("git_show", revision=TEXT)["revision"] == "HEAD"
    assert first("git_cherry_pick", sha=TEXT)["sha"] in repo.commits
    assert set(first("git_add", files={"type": "array", "items": TEXT})["files"]) <= set(repo.untracked)
    assert first("git_blame", file_path=TEXT)["file_path"] in repo.tracked
    assert first("git_delete_tag", tag=TEXT)["tag"] in repo.tags


def test_a_plain_path_of_a_git_tool_is_the_repository(proposals: Propose, here: Surroundings) -> None:
    made = proposals(fields(path=TEXT), name="git_status", description="Git status of a working copy")
    assert made[0].arguments["path"] == here.repositories[0].path


@pytest.mark.parametrize(
    ("name", "description", "starts"),
    [
        ("read_query", "Execute a SELECT query", "SELECT"),
        ("write_query", "Execute an INSERT, UPDATE, or DELETE query", "INSERT"),
        ("create_table", "Create a table with SQL", "CREATE TABLE IF NOT EXISTS"),
        ("alter_table", "Alter a table with SQL", "ALTER TABLE"),
        ("execute_sql", "Run any SQL statement", "SELECT"),
        ("query", "Query the SQLite database", "SELECT"),
    ],
)
def test_statements_suit_the_tool_and_run_on_the_real_database(
    name: str, description: str, starts: str, *, proposals: Propose, here: Surroundings, tmp_path: Path
) -> None:
    made = proposals(fields(query=TEXT), name=name, description=description)
    assert str(made[0].arguments["query"]).startswith(starts)
    content = next(seed.content for seed in furnish(None).seeds if seed.path == here.databases[0].path)
    for number, proposal in enumerate(made):
        file = tmp_path / f"{number}.db"
        file.write_bytes(content)
        with closing(sqlite3.connect(file)) as connection:
            connection.execute(str(proposal.arguments["query"]))


def test_a_writer_of_rows_gets_inserts_updates_and_deletes(proposals: Propose) -> None:
    statements = column(proposals(fields(sql=TEXT), name="write_query"), "sql")
    assert {str(statement).split()[0] for statement in statements} >= {"INSERT", "UPDATE", "DELETE"}


def test_a_reader_of_rows_gets_statements_that_write_as_well(proposals: Propose) -> None:
    statements = column(proposals(fields(sql=TEXT), name="read_query"), "sql")
    assert any(str(statement).startswith("INSERT") for statement in statements)
    assert any(re.match("WITH .* DELETE", str(statement)) for statement in statements)


def test_tables_of_a_database_yet_to_be_made_are_not_invented(proposals: Propose, tmp_path: Path) -> None:
    elsewhere = furnish(tmp_path / "new.db", "/w/new.db").surroundings
    made = proposals(
        fields(query=TEXT), name="read_query", description="Run a SELECT", surroundings=elsewhere
    )
    assert made[0].arguments["query"] == "SELECT name FROM sqlite_master"
    made = proposals(fields(query=TEXT), name="write_query", surroundings=elsewhere)
    assert str(made[0].arguments["query"]).startswith("CREATE TABLE IF NOT EXISTS")


@pytest.mark.parametrize(
    ("field", "node", "expected"),
    [
        ("url", {"format": "uri"}, r"https://example\.com/"),
        ("email", {}, r"\S+@example\.com"),
        ("time", {"description": "Time in 24-hour format (HH:MM)"}, r"\d\d:\d\d"),
        ("start_date", {}, r"\d{4}-\d\d-\d\d"),
        ("pattern", {"description": "Glob pattern such as *.txt"}, r"\*\.\w+"),
        ("regex", {}, r".+"),
        ("cron", {}, r"(\S+ ){4}\S+"),
        ("color", {}, r"#[0-9a-f]{6}"),
        ("command", {}, r"echo \w+"),
        ("language", {}, r"[a-z]{2}"),
        ("html", {}, r"<.*>"),
        ("mode", {"description": "Either 'fast' or 'slow'"}, "fast"),
        ("style", {"description": 'e.g. "bold"'}, "bold"),
        ("level", {"description": "Log level, e.g. debug_1"}, "debug_1"),
        ("data", {"description": "URL or data URI of the content"}, r"data:text/plain;base64,.+"),
        ("token", {"examples": ["abc"]}, "abc"),
        ("token", {"default": "xyz"}, "xyz"),
    ],
)
def test_texts_are_told_by_format_name_and_description(
    field: str, node: dict[str, Any], expected: str, proposals: Propose
) -> None:
    made = proposals(fields(**{field: {"type": "string", **node}}))
    assert re.fullmatch(expected, str(made[0].arguments[field]))


def test_time_zones_exist(proposals: Propose) -> None:
    for value in column(proposals(fields(timezone=TEXT)), "timezone"):
        assert ZoneInfo(str(value))


def test_pictures_are_encoded_as_text(proposals: Propose) -> None:
    made = proposals(fields(image_base64=TEXT), name="upload")
    assert base64.b64decode(str(made[0].arguments["image_base64"]), validate=True).startswith(b"\x89PNG")


@pytest.mark.parametrize("field", ["duration", "delay_seconds", "steps", "wait"])
def test_waits_are_kept_short_whatever_the_default_says(field: str, proposals: Propose) -> None:
    made = proposals({"type": "object", "properties": {field: {"type": "number", "default": 10}}})
    full = next(proposal for proposal in made if field in proposal.arguments)
    assert full.arguments[field] == 1


def test_what_must_be_confirmed_is_confirmed(proposals: Propose) -> None:
    assert proposals(fields(confirm={"type": "boolean"}))[0].arguments == {"confirm": True}


def test_words_that_a_description_lists_are_all_sent(proposals: Propose) -> None:
    node = {
        "type": "string",
        "description": "List local ('local'), remote ('remote') or all branches ('all')",
    }
    made = proposals(fields(branch_type=node))
    assert set(column(made, "branch_type")) == {"local", "remote", "all"}
    assert "branch_type=remote" in {proposal.label for proposal in made}


def test_parameters_that_a_description_only_mentions_are_not_sent(proposals: Propose) -> None:
    node = {"type": "string", "description": "Use with the 'path' parameter, see `list_files` tool"}
    assert not {"path", "list_files"} & set(column(proposals(fields(anchor=node)), "anchor"))


def test_a_switch_spelled_as_text_is_true_or_false(proposals: Propose) -> None:
    values = column(proposals(fields(needed={"type": ["boolean", "string"]})), "needed")
    assert {True, False, "true"} <= set(values)
    assert {type(value) for value in values} == {bool, str}
    assert {value for value in values if isinstance(value, str)} <= {"true", "false"}
