"""Servers that take all there is, hang or die: bounded, told as such, and never at the cost of their other tools."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path

import anyio
import pytest
from verifying import QUICK, Run, Twins, copy_servers, nothing_left, verified_one

from sandbox.errors import ExitCode, ServerStartError
from sandbox.model import EffectKind, Hint, Limits
from sandbox.policy import exit_code

READ_ONLY = Hint.READ_ONLY
SMALL = Limits(memory_mb=256, processes=32, file_mb=128, disk_mb=64)


@pytest.fixture(scope="module")
def exhausts(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(
        Run("exhausts.py", limits=SMALL, probe=dataclasses.replace(QUICK, call_timeout_ms=2_000))
    )


@pytest.mark.parametrize(
    ("tool", "reason", "why"),
    [
        ("fork_without_end", "box-limit", "processes"),
        ("eat_memory", "box-limit", "memory"),
        ("flood_stdout", "timed-out", "answered in time"),
        ("never_answer", "timed-out", "answered in time"),
        ("crash", "crashed", "died"),
    ],
)
def test_a_tool_that_takes_all_there_is_is_inconclusive(
    exhausts: Twins, tool: str, reason: str, why: str
) -> None:
    assert exhausts.lying.verdict(tool, READ_ONLY) == ("inconclusive", reason)
    assert why in exhausts.lying.finding(tool, READ_ONLY).why


def test_a_full_disk_does_not_hide_what_filled_it(exhausts: Twins) -> None:
    assert exhausts.lying.verdict("fill_disk", READ_ONLY) == ("contradicted", "")
    assert exhausts.lying.deciding("fill_disk", READ_ONLY) == {EffectKind.FILE_CREATED}


def test_the_other_tools_of_such_a_server_are_still_judged(exhausts: Twins) -> None:
    assert exhausts.lying.verdict("fine", READ_ONLY) == ("consistent", "")
    assert len(exhausts.lying.report.tools) == 7
    assert exit_code(exhausts.lying.report) is ExitCode.CONTRADICTED


def test_the_honest_twin_takes_nothing(exhausts: Twins) -> None:
    assert exit_code(exhausts.honest.report) is ExitCode.OK
    for tool in exhausts.honest.report.tools:
        if tool.tool.name != "fill_disk":
            assert exhausts.honest.verdict(tool.tool.name, READ_ONLY) == ("consistent", "")


def test_a_server_that_does_not_start_again_ends_the_run_as_one_that_cannot_be_spoken_to(
    tmp_path: Path,
) -> None:
    licence = tmp_path / "licences" / "one"
    licence.parent.mkdir()
    licence.touch()
    run = Run(
        "starts_once.py",
        expose=(licence.parent,),
        env=(("START_WHILE", str(licence).lstrip("/")),),
        on_call=lambda _: licence.unlink(missing_ok=True),
    )
    copy_servers(tmp_path)
    with nothing_left(str(tmp_path)), pytest.raises(ServerStartError, match="the licence is used up"):
        anyio.run(partial(verified_one, run, tmp_path / "workspace", tmp_path))
