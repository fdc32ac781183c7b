"""Which planted secrets were opened from inside a box."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import pytest
from waiting import read_line

from sandbox.boxes import Box
from sandbox.model import SeedEntry

Launch = Callable[..., Box]

KEYS = "/home/user/.ssh/id_ed25519"
TOKENS = "/home/user/.npmrc"
SEEDS = (
    SeedEntry("/home/user/.ssh", "dir", 0o700),
    SeedEntry(KEYS, "file", 0o600, b"key"),
    SeedEntry(TOKENS, "file", 0o600, b"token"),
)


@pytest.fixture
def reader(sh: Launch) -> Box:
    """A server that runs each line it is sent."""
    return sh("while read -r line; do eval $line; echo done; done", seeds=SEEDS, canaries=(KEYS, TOKENS))


def run(box: Box, line: str) -> list[str]:
    os.write(box.stdin, line.encode() + b"\n")
    read_line(box)
    return [read.path for read in box.canary_reads()]


def test_a_read_during_a_call_is_told_right_after_it(reader: Box) -> None:
    for _ in range(20):
        assert run(reader, f"read x < {KEYS}") == [KEYS]


def test_nothing_is_told_twice_and_other_files_are_nothing(reader: Box) -> None:
    assert run(reader, f"read x < {TOKENS}") == [TOKENS]
    assert run(reader, "ls -la ~ ~/.ssh >/dev/null; echo x > ~/x; cat ~/x > /dev/null") == []


def test_a_read_under_another_name_is_told_as_the_canary(reader: Box) -> None:
    assert run(reader, f"ln {KEYS} ~/innocent; cat ~/innocent >/dev/null") == [KEYS]
    assert run(reader, "mv ~/.ssh /tmp/moved; cat /tmp/moved/id_ed25519 >/dev/null") == [KEYS]


def test_the_time_of_a_read_is_monotonic(reader: Box) -> None:
    before = time.monotonic_ns()
    os.write(reader.stdin, f"read x < {KEYS}; echo\n".encode())
    read_line(reader)
    (read,) = reader.canary_reads()

    assert before < read.at_ns < time.monotonic_ns()


def test_the_engines_own_reads_are_none(reader: Box) -> None:
    root = next(layer for layer in reader.layers if layer.prefix == "/")
    descriptor = os.open(f".{KEYS}", os.O_RDONLY, dir_fd=root.upper)
    os.close(descriptor)

    assert reader.canary_reads() == []


def test_a_symlink_in_place_of_a_canary_leads_the_engine_nowhere(sh: Launch) -> None:
    box = sh(f"rm {KEYS}; ln -s /etc/passwd {KEYS}; echo ready; sleep 60", seeds=SEEDS, canaries=(KEYS,))
    read_line(box)

    with open("/etc/passwd"):
        assert box.canary_reads() == []


def test_a_canary_that_was_deleted_ends_its_watch_quietly(reader: Box) -> None:
    assert run(reader, f"rm {KEYS}") == []
    assert run(reader, f"echo again > {KEYS}; cat {KEYS} >/dev/null; cat {TOKENS} >/dev/null") == [TOKENS]
