"""A box behaves the same on every host: the table of behaviours, asked of each."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from behaviours import ANYTHING, GROUPS, TABLE, Behaviour
from hostruns import TOKEN, Ran

Runs = Callable[[str, str], Ran]


@pytest.mark.parametrize("behaviour", TABLE, ids=lambda each: each.slug)
def test_a_box_behaves_as_the_table_says(host: str, behaviour: Behaviour, ran: Runs) -> None:
    run, tool = ran(host, behaviour.group), behaviour.tool
    reply = run.first(tool).reply
    assert reply is not None
    if behaviour.outcome:
        assert reply.outcome == behaviour.outcome, reply.text
    if behaviour.answer is not ANYTHING:
        assert run.answer(tool) == behaviour.answer
    if behaviour.effects is not None:
        assert run.effects(tool) == behaviour.effects
    assert behaviour.later <= run.later(tool)
    verdicts = run.verdicts(tool)
    assert {hint: verdicts[hint] for hint in behaviour.verdicts} == behaviour.verdicts
    limits = [text for code, text in run.first(tool).unreached if code == "box-limit"]
    assert [behaviour.limit in text for text in limits] == [True] * bool(behaviour.limit)


@pytest.mark.parametrize("group", GROUPS)
def test_a_run_is_whole(host: str, group: str, ran: Runs) -> None:
    run = ran(host, group)
    assert run.report["complete"]
    assert run.report["missing"] == []
    verdicts = {verdict for tool in run.evidence for verdict in run.verdicts(tool).values()}
    assert run.exit_code == int(any(each.startswith("contradicted") for each in verdicts))
    assert {each.tool for each in TABLE if each.group == group} == set(run.evidence)


@pytest.mark.parametrize("group", GROUPS)
def test_a_run_leaves_the_host_as_it_was(host: str, group: str, ran: Runs) -> None:
    ground = ran(host, group).ground
    assert ground.changes() == []
    assert ground.visits == []


@pytest.mark.parametrize("group", GROUPS)
def test_a_secret_of_the_user_is_written_nowhere(host: str, group: str, ran: Runs) -> None:
    run = ran(host, group)
    assert TOKEN not in run.errors
    holders = [path for path in run.run.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert holders == []
