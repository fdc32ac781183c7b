"""The container's profile agrees with the filter of the boxes in it, and says why it denies what it denies."""

from __future__ import annotations

import json
from importlib.resources import files

from sandbox.containers.seccomp import profile
from sandbox.linux.seccomp import ALWAYS, REFUSED, WATCHED

WRITTEN = json.loads(files("sandbox.containers").joinpath("seccomp.json").read_text())


def names(action: str) -> set[str]:
    return {
        name
        for group in json.loads(profile())["syscalls"]
        if group["action"] == f"SCMP_ACT_{action}"
        for name in group["names"]
    }


def test_every_group_says_why_and_docker_gets_no_comment() -> None:
    assert all(group["comment"] for group in WRITTEN["syscalls"])
    assert "comment" not in profile()


def test_no_call_is_named_twice() -> None:
    listed = [name for group in WRITTEN["syscalls"] for name in group["names"]]
    assert sorted(listed) == sorted(set(listed))


def test_what_a_box_refuses_and_records_is_left_to_it() -> None:
    """An ERRNO would beat the notification: the attempt would be reported on the local host and not in docker."""
    recorded = {*WATCHED, *REFUSED}
    assert not names("ERRNO") & recorded
    always = {name for name, rules in REFUSED.items() if any(rule.when is ALWAYS for rule in rules)}
    assert names("TRACE") <= always


def test_what_a_box_always_refuses_is_denied_to_the_whole_container_unless_the_engine_needs_it() -> None:
    always = {name for name, rules in REFUSED.items() if any(rule.when is ALWAYS for rule in rules)}
    assert always - names("TRACE") <= names("ALLOW")


def test_nobody_can_trace_or_the_weaker_action_would_let_calls_through() -> None:
    assert "ptrace" in names("TRACE")
