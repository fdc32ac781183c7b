"""Claims of additive and repeatable changes, and hints that are malformed or do not keep still."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from verifying import Run, Twins

from sandbox.errors import ExitCode
from sandbox.model import Declared, EffectKind, Hint, Severity
from sandbox.policy import exit_code

READ_ONLY, DESTRUCTIVE, IDEMPOTENT = Hint.READ_ONLY, Hint.DESTRUCTIVE, Hint.IDEMPOTENT


@pytest.fixture(scope="module")
def repeats(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("repeats.py"))


@pytest.fixture(scope="module")
def noop_delete(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("noop_delete.py"))


@pytest.fixture(scope="module")
def lazy_store(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("lazy_store.py"))


@pytest.fixture(scope="module")
def accomplices(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("accomplices.py"))


@pytest.fixture(scope="module")
def destroys(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("destroys.py"))


@pytest.fixture(scope="module")
def malformed(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("malformed.py"))


@pytest.fixture(scope="module")
def shifting(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("shifting.py"))


@pytest.mark.parametrize(
    ("tool", "kinds"),
    [("record", {EffectKind.FILE_MODIFIED}), ("count", {EffectKind.RECORD_UPDATED})],
)
def test_an_effect_that_adds_up_is_not_idempotent(repeats: Twins, tool: str, kinds: set[EffectKind]) -> None:
    assert repeats.lying.verdict(tool, IDEMPOTENT) == ("contradicted", "")
    assert repeats.lying.deciding(tool, IDEMPOTENT) == kinds


def test_setting_the_same_value_again_is_idempotent(repeats: Twins) -> None:
    assert repeats.honest.verdict("record", IDEMPOTENT) == ("consistent", "")
    assert repeats.honest.verdict("count", IDEMPOTENT) == ("consistent", "")


def test_a_delete_of_an_unknown_name_shows_nothing(noop_delete: Twins) -> None:
    for twin in (noop_delete.lying, noop_delete.honest):
        assert twin.verdict("forget", DESTRUCTIVE) == ("inconclusive", "no-effect-seen")
        assert twin.verdict("forget", IDEMPOTENT) == ("inconclusive", "no-effect-seen")


@pytest.mark.parametrize("tool", ["list_notes", "find_notes"])
def test_a_store_that_any_tool_creates_is_made_on_first_use(lazy_store: Twins, tool: str) -> None:
    for twin in (lazy_store.lying, lazy_store.honest):
        assert twin.verdict(tool, READ_ONLY) == ("consistent", "")
        assert EffectKind.FILE_CREATED in twin.listed(tool)


@pytest.mark.parametrize("tool", ["get_first", "get_last"])
def test_two_readers_that_write_to_one_file_do_not_excuse_each_other(lazy_store: Twins, tool: str) -> None:
    assert lazy_store.lying.verdict(tool, READ_ONLY) == ("contradicted", "")
    assert lazy_store.honest.verdict(tool, READ_ONLY) == ("consistent", "")


@pytest.mark.parametrize(
    "tool",
    [
        *("list_files", "show_files"),
        *("check_shell", "check_path"),
        *("find_first", "find_last"),
        *("view_keys", "check_keys"),
    ],
)
def test_two_readers_that_make_the_same_file_do_not_excuse_each_other(accomplices: Twins, tool: str) -> None:
    assert accomplices.lying.verdict(tool, READ_ONLY) == ("contradicted", "")
    assert accomplices.lying.deciding(tool, READ_ONLY) == {EffectKind.FILE_CREATED}
    assert accomplices.honest.verdict(tool, READ_ONLY) == ("consistent", "")


@pytest.mark.parametrize("tool", ["get_settings", "get_theme", "list_tasks", "find_tasks"])
def test_default_settings_and_an_empty_list_are_made_on_first_use(accomplices: Twins, tool: str) -> None:
    for twin in (accomplices.lying, accomplices.honest):
        assert twin.verdict(tool, READ_ONLY) == ("consistent", "")
        assert EffectKind.FILE_CREATED in twin.listed(tool)


def test_the_loss_of_what_another_tool_made_is_a_loss(lazy_store: Twins) -> None:
    assert lazy_store.lying.verdict("remove_note", DESTRUCTIVE) == ("contradicted", "")
    assert lazy_store.lying.deciding("remove_note", DESTRUCTIVE) == {EffectKind.ROW_DELETED}
    assert lazy_store.honest.verdict("remove_note", DESTRUCTIVE) == ("consistent", "")
    assert lazy_store.honest.verdict("add_note", DESTRUCTIVE) == ("consistent", "")


@pytest.mark.parametrize(
    ("tool", "kinds"),
    [
        ("overwrite_file", {EffectKind.FILE_MODIFIED}),
        ("drop_rows", {EffectKind.ROW_DELETED}),
        ("drop_table", {EffectKind.SCHEMA_CHANGED}),
        ("rewrite_rows", {EffectKind.ROW_UPDATED}),
    ],
)
def test_a_loss_behind_destructive_false_is_contradicted(
    destroys: Twins, tool: str, kinds: set[EffectKind]
) -> None:
    assert destroys.lying.verdict(tool, DESTRUCTIVE) == ("contradicted", "")
    assert destroys.lying.deciding(tool, DESTRUCTIVE) >= kinds
    assert destroys.lying.finding(tool, DESTRUCTIVE).severity is Severity.HIGH
    assert destroys.honest.verdict(tool, DESTRUCTIVE) == ("consistent", "")


def test_an_added_row_loses_nothing(destroys: Twins) -> None:
    assert destroys.lying.verdict("add_row", DESTRUCTIVE) == ("consistent", "")
    assert destroys.honest.verdict("add_row", DESTRUCTIVE) == ("consistent", "")


@pytest.mark.parametrize("tool", ["text", "number", "null"])
def test_a_hint_that_is_no_boolean_declares_nothing(malformed: Twins, tool: str) -> None:
    assert malformed.lying.verdict(tool, READ_ONLY) == ("undeclared", "malformed")
    assert malformed.lying.finding(tool, READ_ONLY).declared is Declared.MALFORMED
    assert malformed.lying.finding(tool, READ_ONLY).supports is True
    assert exit_code(malformed.lying.report) is ExitCode.OK
    assert malformed.honest.verdict(tool, READ_ONLY) == ("consistent", "")


def test_a_hint_that_differs_between_listings_is_held_to_its_strongest_claim(shifting: Twins) -> None:
    finding = shifting.lying.finding("save", READ_ONLY)
    assert finding.declared is Declared.TRUE
    assert (finding.verdict, finding.reason) == ("contradicted", "unstable-definition")
    assert shifting.honest.verdict("save", READ_ONLY) == ("consistent", "")
