"""Once anything is mapped shared, no name that a system call told decides which files are read again."""

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


@pytest.mark.parametrize("path", ["/w/a", "/w/#12 (deleted)", "/usr/lib/decoy", "/memfd:decoy (deleted)", ""])
def test_every_file_is_read_again_once_one_is_mapped_whatever_its_name_was(path: str) -> None:
    assert taken(event("mmap-shared", path), event("openat", "/w/b")).any


def test_nothing_is_read_again_while_nothing_is_mapped() -> None:
    assert not taken(event("link", "/w/a", "/w/b"), event("rename", "/w/b", "/w/c")).any
    assert not taken(event("mmap-shared", "/w/a", denied=True)).any
