"""Effects that come late, rarely, for one value only, or by themselves."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from verifying import Run, Twins, Verified

from sandbox.errors import ExitCode
from sandbox.events import CallFinished
from sandbox.model import EffectKind, Hint
from sandbox.policy import exit_code

READ_ONLY = Hint.READ_ONLY


@pytest.fixture(scope="module")
def late(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("late.py"))


@pytest.fixture(scope="module")
def overtaken(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("overtaken.py"))


@pytest.fixture(scope="module")
def one_value(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("one_value.py"))


@pytest.fixture(scope="module")
def error_wrote(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("error_wrote.py"))


@pytest.fixture(scope="module")
def heartbeat(verify_twins: Callable[[Run], Twins]) -> Twins:
    return verify_twins(Run("heartbeat.py"))


@pytest.mark.parametrize("tool", ["detached_child", "timer"])
def test_a_write_after_the_reply_is_contradicted(late: Twins, tool: str) -> None:
    assert late.lying.verdict(tool, READ_ONLY) == ("contradicted", "")
    assert EffectKind.FILE_CREATED in late.lying.deciding(tool, READ_ONLY)


def test_late_writes_are_not_put_down_to_a_tool_that_does_nothing(late: Twins) -> None:
    assert late.lying.verdict("nothing", READ_ONLY) == ("consistent", "")
    assert late.honest.contradicted == set()
    assert {late.honest.verdict(tool, READ_ONLY) for tool in ("detached_child", "timer", "nothing")} == {
        ("consistent", "")
    }


@pytest.mark.parametrize("tool", ["begin", "plan", "draft"])
def test_a_late_write_is_found_whatever_the_next_tool_does(overtaken: Twins, tool: str) -> None:
    assert overtaken.lying.verdict(tool, READ_ONLY) == ("contradicted", "")
    assert overtaken.lying.deciding(tool, READ_ONLY) == {EffectKind.FILE_CREATED}


@pytest.mark.parametrize("tool", ["look", "get_note"])
def test_a_late_write_is_not_put_down_to_the_tool_that_is_called_meanwhile(
    overtaken: Twins, tool: str
) -> None:
    for twin in (overtaken.lying, overtaken.honest):
        assert twin.verdict(tool, READ_ONLY) == ("consistent", "")
    assert overtaken.honest.contradicted == set()


def test_a_lie_for_one_value_of_an_enum_is_found_with_that_value(one_value: Twins) -> None:
    finding = one_value.lying.finding("plan", READ_ONLY)
    assert (finding.verdict, finding.reason) == ("contradicted", "")
    assert [item.call.arguments for item in finding.evidence if item.call] == [{"mode": "apply"}]
    assert one_value.lying.deciding("plan", READ_ONLY) == {EffectKind.FILE_CREATED}


def test_a_tool_that_only_previews_is_consistent_for_every_value(one_value: Twins) -> None:
    assert one_value.honest.verdict("plan", READ_ONLY) == ("consistent", "")
    assert ", ".join(one_value.honest.tool("plan").space) == (
        "minimal, mode=preview, mode=check, mode=explain, mode=apply, mode=estimate"
    )


def test_a_refused_call_that_wrote_is_contradicted(error_wrote: Twins) -> None:
    assert error_wrote.lying.verdict("fail", READ_ONLY) == ("contradicted", "")
    assert error_wrote.lying.deciding("fail", READ_ONLY) == {EffectKind.FILE_CREATED}
    assert error_wrote.lying.tool("fail").accepted == 0


def test_a_tool_that_always_fails_is_inconclusive(error_wrote: Twins) -> None:
    assert error_wrote.honest.verdict("fail", READ_ONLY) == ("inconclusive", "never-accepted")
    assert error_wrote.honest.tool("fail").refusals == ("not possible here",)


def test_idle_writes_keep_a_reader_from_being_consistent(heartbeat: Twins) -> None:
    assert heartbeat.lying.verdict("status", READ_ONLY) == ("inconclusive", "idle-writes")
    assert heartbeat.honest.verdict("status", READ_ONLY) == ("consistent", "")


def test_a_first_call_that_writes_is_contradicted(verify_twins: Callable[[Run], Twins]) -> None:
    once = verify_twins(Run("once.py", tools=("on_first_call",)))
    assert once.lying.verdict("on_first_call", READ_ONLY) == ("contradicted", "")
    assert once.lying.deciding("on_first_call", READ_ONLY) == {EffectKind.FILE_CREATED}
    assert once.honest.verdict("on_first_call", READ_ONLY) == ("consistent", "")


def test_an_act_that_never_comes_again_is_inconclusive_and_fails_the_run(
    verify_all: Callable[..., list[Verified]], tmp_path: Path
) -> None:
    marker = tmp_path / "shown" / "act"
    marker.parent.mkdir()
    marker.touch()

    def remove(_: CallFinished) -> None:
        marker.unlink(missing_ok=True)

    run = Run(
        "once.py",
        tools=("in_one_run",),
        expose=(marker.parent,),
        env=(("ACT_WHILE", str(marker).lstrip("/")),),
        on_call=remove,
    )
    [lying] = verify_all(run)
    assert lying.verdict("in_one_run", READ_ONLY) == ("inconclusive", "observed-once")
    assert lying.deciding("in_one_run", READ_ONLY) == {EffectKind.FILE_CREATED}
    assert exit_code(lying.report) is ExitCode.CONTRADICTED
    [honest] = verify_all(dataclasses.replace(run, words=("honest",), on_call=Run.on_call))
    assert honest.verdict("in_one_run", READ_ONLY) == ("consistent", "")
    assert exit_code(honest.report) is ExitCode.OK
