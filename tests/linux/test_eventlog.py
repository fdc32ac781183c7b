"""The log between observer and engine."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from sandbox.linux.eventlog import AppendLog, EventLog, LogTail, encode_event
from sandbox.model import SyscallEvent


@pytest.fixture
def log() -> Iterator[int]:
    descriptor = os.memfd_create("log")
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def tail(log: int) -> Iterator[LogTail]:
    reader = LogTail(os.dup(log))
    yield reader
    reader.close()


def _line(event: SyscallEvent) -> str:
    return encode_event(**{name: getattr(event, name) for name in SyscallEvent.__slots__})


def test_records_arrive_once_and_in_order(log: int, tail: LogTail) -> None:
    writer = AppendLog(log)
    assert tail.read_records() == []
    writer.append([1, "a"])
    writer.append([2, ["b"], None])
    assert tail.read_records() == [[1, "a"], [2, ["b"], None]]
    writer.append([3])
    assert tail.read_records() == [[3]]
    assert tail.read_records() == []


def test_a_line_that_is_half_written_is_kept_until_it_is_whole(log: int, tail: LogTail) -> None:
    os.pwrite(log, b'["who', 0)
    assert tail.read_records() == []
    os.pwrite(log, b'le"]\n["ne', 5)
    assert tail.read_records() == [["whole"]]
    os.pwrite(log, b'xt"]\n', 14)
    assert tail.read_records() == [["next"]]


def test_a_log_larger_than_one_read_arrives_whole(log: int, tail: LogTail) -> None:
    writer = AppendLog(log)
    records = [[number, "x" * 1000] for number in range(3000)]
    for record in records:
        writer.append(record)
    assert tail.read_records() == records


def test_a_full_log_tells_its_overflow_once_and_takes_no_more(log: int, tail: LogTail) -> None:
    writer = AppendLog(log, cap=100)
    for number in range(100):
        writer.append([number, "x" * 10])
    size = os.fstat(log).st_size
    assert size <= 100 + len(b'["overflow"]\n')
    assert not tail.overflowed
    records = tail.read_records()
    assert [number for number, _ in records] == list(range(len(records)))
    assert 0 < len(records) < 100
    assert tail.overflowed
    writer.append([1])
    assert os.fstat(log).st_size == size


@pytest.mark.parametrize(
    "event",
    [
        SyscallEvent(1, 2, "/usr/bin/sh", "fork"),
        SyscallEvent(1, 2, "", "execve", path="/a", argv=("a", "", 'b"c', "d\ne"), flags=3),
        SyscallEvent(1, 2, "x", "rename", path="/\u2028ä", target="/\0\x1b[31m", denied=True),
        SyscallEvent(1 << 62, 2, "x", "connect", address="[::1]:80", flags=1 << 63),
        SyscallEvent(1, 2, "x", "unlink", path=os.fsdecode(b"/tmp/\xff\xfe")),
    ],
    ids=lambda event: event.name,
)
def test_an_event_comes_out_as_it_went_in(log: int, event: SyscallEvent) -> None:
    AppendLog(log).append_line(_line(event))
    reader = EventLog(os.dup(log))
    assert reader.read_new() == [event]
    reader.close()


def test_names_that_are_no_text_keep_their_bytes(log: int) -> None:
    AppendLog(log).append_line(_line(SyscallEvent(1, 2, "x", "unlink", path=os.fsdecode(b"/\xff"))))
    os.pread(log, 1000, 0).decode("ascii")
    reader = EventLog(os.dup(log))
    assert os.fsencode(reader.read_new()[0].path) == b"/\xff"
    reader.close()


def test_closing_twice_is_harmless(log: int) -> None:
    reader = EventLog(os.dup(log))
    reader.close()
    reader.close()
