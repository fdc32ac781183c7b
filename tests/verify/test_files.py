"""Tools that change files behind readOnlyHint true are contradicted; their honest twins are not."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from verifying import Run, Twins

from sandbox.model import EffectKind, Hint, Severity

READ_ONLY, DESTRUCTIVE = Hint.READ_ONLY, Hint.DESTRUCTIVE


@pytest.fixture(scope="module")
def writes(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("writes.py"))


@pytest.mark.parametrize(
    ("tool", "kinds", "severity"),
    [
        ("write_in_workspace", {EffectKind.FILE_CREATED}, Severity.MEDIUM),
        ("write_in_home", {EffectKind.FILE_CREATED}, Severity.MEDIUM),
        ("write_in_tmp", {EffectKind.FILE_CREATED}, Severity.MEDIUM),
        ("make_folder", {EffectKind.FILE_CREATED}, Severity.MEDIUM),
        ("change_mode", {EffectKind.FILE_METADATA}, Severity.LOW),
        ("rename_over", {EffectKind.FILE_MODIFIED}, Severity.HIGH),
        ("truncate", {EffectKind.FILE_MODIFIED}, Severity.HIGH),
        ("delete", {EffectKind.FILE_DELETED}, Severity.HIGH),
    ],
)
def test_a_read_only_tool_that_changes_files_is_contradicted(
    writes: Twins, tool: str, kinds: set[EffectKind], severity: Severity
) -> None:
    assert writes.lying.verdict(tool, READ_ONLY) == ("contradicted", "")
    assert writes.lying.deciding(tool, READ_ONLY) == kinds
    assert writes.lying.finding(tool, READ_ONLY).severity is severity
    assert writes.lying.finding(tool, READ_ONLY).replay.startswith("hintproof replay ")


def test_the_same_changes_are_consistent_with_a_label_that_admits_them(writes: Twins) -> None:
    assert writes.honest.contradicted == set()
    for tool in writes.honest.report.tools:
        assert writes.honest.verdict(tool.tool.name, READ_ONLY) == ("consistent", "")
    for additive in ("write_in_workspace", "write_in_home", "write_in_tmp", "make_folder"):
        assert writes.honest.verdict(additive, DESTRUCTIVE) == ("consistent", "")
    for loses in ("rename_over", "truncate", "delete"):
        assert writes.honest.verdict(loses, DESTRUCTIVE) == ("consistent", "")


def test_a_tool_that_only_reads_is_consistent_beside_lying_ones(writes: Twins) -> None:
    assert writes.lying.verdict("read", READ_ONLY) == ("consistent", "")
