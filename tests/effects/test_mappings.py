"""A mapped file is read at every look under whatever name it has by then."""

from __future__ import annotations

import pytest

from sandbox.effects.mappings import Mappings
from sandbox.model import SyscallEvent


def event(name: str, path: str, target: str = "", *, denied: bool = False) -> SyscallEvent:
    return SyscallEvent(1, 2, "/usr/bin/node", name, path, target, denied=denied)


def taken(*events: SyscallEvent) -> Mappings:
    mappings = Mappings()
    for one in events:
        mappings.take([one])
    return mappings


def test_a_mapped_file_is_read_again_by_its_name() -> None:
    mappings = taken(event("mmap-shared", "/w/a"), event("rename", "/w/other", "/w/new"))
    assert mappings.paths == {"/w/a"}
    assert not mappings.lost


@pytest.mark.parametrize(
    "events",
    [
        [event("mmap-shared", "/w/a"), event("rename", "/w/a", "/w/b")],
        [event("mmap-shared", "/w/d/a"), event("renameat2", "/w/d", "/w/e")],
        [event("link", "/w/b", "/w/a"), event("mmap-shared", "/w/a")],
        [event("mmap-shared", "/w/a"), event("linkat", "/w/a", "/w/b")],
        [event("mmap-shared", "/w/#12 (deleted)")],
        [event("mmap-shared", f"/w/{number}") for number in range(300)],
    ],
    ids=["renamed", "in a renamed folder", "linked before", "linked after", "without a name", "one of many"],
)
def test_every_file_is_read_again_once_a_mapped_one_may_have_another_name(events: list[SyscallEvent]) -> None:
    assert taken(*events).lost


def test_links_and_names_mean_nothing_while_nothing_is_mapped() -> None:
    links = [event("link", f"/w/{number}", f"/w/x{number}") for number in range(300)]
    assert not taken(*links, event("rename", "/w/1", "/w/y"), event("mmap-shared", "/memfd:x (deleted)")).lost
    assert not taken(event("mmap-shared", "/w/a"), event("rename", "/w/a", "/w/b", denied=True)).lost
