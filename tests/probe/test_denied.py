"""A write that only the box's user may not make proves nothing, so it is told; one that the server could make is not."""

import os
from collections.abc import Mapping

import pytest

from sandbox.model import SyscallEvent
from sandbox.probe.denied import denied_writes

USER = 61000
FOLDER, FILE = 0o040000, 0o100000
SHOWN: Mapping[str, tuple[int, int]] = {
    "/usr": (FOLDER | 0o755, 0),
    "/usr/kept": (FILE | 0o644, 0),
    "/home/user": (FOLDER | 0o755, USER),
    "/home/user/own": (FILE | 0o644, USER),
    "/home/user/theirs": (FILE | 0o644, 0),
    "/home/user/locked": (FILE | 0o444, USER),
    "/tmp": (FOLDER | 0o1777, 0),
}


def look(path: str) -> os.stat_result | None:
    if path not in SHOWN:
        return None
    mode, owner = SHOWN[path]
    return os.stat_result((mode, 1, 1, 1, owner, owner, 0, 0, 0, 0))


def event(name: str, path: str, flags: int = 0, *, denied: bool = False) -> SyscallEvent:
    return SyscallEvent(1, 2, "server", name, path=path, flags=flags, denied=denied)


CREATE = os.O_WRONLY | os.O_CREAT


@pytest.mark.parametrize(
    ("what", "is_told"),
    [
        (event("openat", "/usr/new", CREATE), True),
        (event("openat", "/usr/kept", os.O_WRONLY | os.O_TRUNC), True),
        (event("openat", "/home/user/theirs", CREATE), True),
        (event("openat", "/home/user/locked", CREATE), True),
        (event("mkdir", "/usr/folder"), True),
        (event("unlink", "/usr/kept"), True),
        (event("rename", "/usr/kept"), True),
        (event("mkdir", "/usr"), False),
        (event("mkdirat", "/home/user"), False),
        (event("unlink", "/usr/gone"), False),
        (event("rename", "/usr/gone"), False),
        (event("openat", "/usr/kept", os.O_RDWR), False),
        (event("openat", "/home/user/new", CREATE), False),
        (event("openat", "/home/user/own", CREATE), False),
        (event("unlink", "/home/user/theirs"), False),
        (event("openat", "/tmp/new", CREATE), False),
        (event("openat", "/nowhere/new", CREATE), False),
        (event("openat", "/dev/null", CREATE), False),
        (event("openat", "/proc/self/comm", CREATE), False),
        (event("openat", "relative", CREATE), False),
        (event("mount", "/usr", denied=True), False),
        (event("chmod", "/usr/kept"), False),
    ],
    ids=lambda value: (
        f"{value.name} {value.path} {value.flags:o}" if isinstance(value, SyscallEvent) else None
    ),
)
def test_an_attempt_is_told_where_the_user_of_the_box_lacks_the_permission(
    what: SyscallEvent, is_told: bool
) -> None:
    assert bool(denied_writes([what], look, USER)) is is_told


def test_each_path_is_told_once() -> None:
    attempts = [event("unlink", "/usr/kept"), event("rename", "/usr/kept")]
    assert denied_writes(attempts, look, USER) == ("the box's user may not write /usr/kept",)


@pytest.mark.parametrize(("path", "is_told"), [("/home/user/locked", False), ("/usr/kept", True)])
def test_the_permissions_that_a_server_changed_itself_tell_nothing(path: str, is_told: bool) -> None:
    attempts = [event("fchmodat", path), event("openat", path, CREATE), event("fchmodat", path)]
    assert bool(denied_writes(attempts, look, USER)) is is_told
