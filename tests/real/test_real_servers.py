"""Eight public servers, each verified once with no configuration: every tool reached, no honest label accused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from realservers import SERVERS, RealServer, Verified

from sandbox.model import Effect, EffectKind, Outcome, StepKind, Weight

pytestmark = pytest.mark.real

Verifier = Callable[[str], Verified]
each_server = pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)

LISTED = 62
ACCEPTED = 56


def effects_of_accepted(verified: Verified, tool: str) -> list[Effect]:
    """What the accepted calls of a tool left, over all trials of the run; what passed is left out."""
    return [
        effect
        for evidence in verified.evidence.values()
        for trial in evidence.trials
        for step in trial.steps
        if step.call is not None and step.call.tool == tool and step.kind is not StepKind.SETTLE
        if step.reply is not None and step.reply.outcome is Outcome.ACCEPTED
        for effect in step.effects
        if effect.weight is Weight.MATERIAL
    ]


@each_server
def test_every_tool_is_listed_and_accepted_at_least_once(verified: Verifier, server: RealServer) -> None:
    accepted = verified(server.name).accepted()
    assert len(accepted) == server.tools
    assert [tool for tool, calls in accepted.items() if calls == 0] == []


@each_server
def test_no_honest_label_is_contradicted(verified: Verifier, server: RealServer) -> None:
    run = verified(server.name)
    accused = [
        f"{finding['tool']} {finding['hint']}: {finding['why']}"
        for finding in run.findings()
        if finding["verdict"] == "contradicted" or finding["reason"] in ("observed-once", "not-reproduced")
    ]
    assert accused == []
    assert run.exit_code == run.report["exit_code"] == 0


@each_server
def test_no_instrument_is_lost(verified: Verifier, server: RealServer) -> None:
    report = verified(server.name).report
    assert report["missing"] == []
    assert report["complete"] is True


def test_together_they_list_62_tools_and_accept_at_least_56(verified: Verifier) -> None:
    accepted = [calls for server in SERVERS for calls in verified(server.name).accepted().values()]
    assert len(accepted) == LISTED
    assert sum(calls > 0 for calls in accepted) >= ACCEPTED


def test_a_tool_that_can_only_be_called_as_a_task_is_called_as_a_task(verified: Verifier) -> None:
    run = verified("everything")
    calls = [
        request["params"]
        for request in run.requests("tools/call")
        if request["params"]["name"] == "simulate-research-query"
    ]
    assert calls
    assert all("task" in call for call in calls)
    assert run.requests("tasks/result")
    assert run.accepted()["simulate-research-query"] >= 1


def test_git_status_that_refreshes_the_index_only_reads(verified: Verifier) -> None:
    run = verified("git")
    assert run.verdict("git_status", "readOnlyHint") == "consistent"
    assert effects_of_accepted(run, "git_status") == []


def test_a_commit_moves_a_ref_and_loses_nothing(verified: Verifier) -> None:
    run = verified("git")
    left = effects_of_accepted(run, "git_commit")
    assert EffectKind.REF_MOVED in {effect.kind for effect in left}
    assert [effect.summary for effect in left if effect.loses] == []
    assert run.verdict("git_commit", "readOnlyHint") == "consistent"
    assert run.verdict("git_commit", "destructiveHint") == "consistent"


def test_memory_that_rewrites_its_file_with_a_record_more_loses_nothing(verified: Verifier) -> None:
    run = verified("memory")
    assert EffectKind.FILE_CREATED in {effect.kind for effect in effects_of_accepted(run, "create_entities")}
    # The graph exists before the relation is made: the whole file is written again.
    left = effects_of_accepted(run, "create_relations")
    assert EffectKind.RECORD_ADDED in {effect.kind for effect in left}
    assert [effect.summary for effect in left if effect.loses] == []
    for tool in ("create_entities", "create_relations"):
        assert run.verdict(tool, "destructiveHint") == "consistent"


def test_writing_over_a_file_is_a_loss_and_making_a_folder_is_none(verified: Verifier) -> None:
    run = verified("filesystem")
    assert run.verdict("write_file", "destructiveHint") == "consistent"
    assert any(effect.loses for effect in effects_of_accepted(run, "write_file"))
    assert run.verdict("create_directory", "destructiveHint") == "consistent"
    assert run.verdict("create_directory", "idempotentHint") == "consistent"


def test_contact_is_seen_where_it_is_declared_and_nowhere_else(verified: Verifier) -> None:
    assert verified("fetch").verdict("fetch", "openWorldHint") == "consistent"
    assert verified("everything").verdict("gzip-file-as-resource", "openWorldHint") == "consistent"
    for server, tool in (("filesystem", "read_text_file"), ("git", "git_log"), ("time", "convert_time")):
        assert verified(server).verdict(tool, "openWorldHint") == "consistent"


def test_labels_that_are_not_there_are_proposed_from_what_happened(verified: Verifier) -> None:
    run = verified("sqlite")
    assert {finding["verdict"] for finding in run.findings()} == {"undeclared"}
    assert run.finding("read_query", "readOnlyHint")["supports"] is True
    assert run.finding("create_table", "readOnlyHint")["supports"] is False
    assert run.finding("write_query", "readOnlyHint")["supports"] is False
