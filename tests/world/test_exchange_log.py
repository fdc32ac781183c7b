from __future__ import annotations

import os
from contextlib import closing

from sandbox.model import Exchange
from sandbox.world.exchanges import ExchangeLog, Journal

SEEN = Exchange(
    at_ns=1,
    kind="http",
    host="a.org",
    address="22.1.2.3",
    port=443,
    method="POST",
    url="https://a.org/ü\n\x1b",
    headers=(("accept", "*/*"), ("x", "\udcff")),
    body_digest="00",
    body_head="{}",
    body_size=2,
    note="HTTP/2",
)


def test_what_is_recorded_is_read_back_once() -> None:
    descriptor = os.memfd_create("log")
    with closing(Journal(os.dup(descriptor))) as journal, closing(ExchangeLog(descriptor)) as log:
        journal.record(SEEN)

        assert log.read_new() == [SEEN]
        assert log.read_new() == []
        assert not log.overflowed


def test_a_full_log_says_so_and_grows_no_more() -> None:
    descriptor = os.memfd_create("log")
    with closing(Journal(os.dup(descriptor), cap=1000)) as journal, closing(ExchangeLog(descriptor)) as log:
        for _ in range(100):
            journal.record(SEEN)

        assert 0 < len(log.read_new()) < 10
        assert log.overflowed
        assert os.fstat(descriptor).st_size < 1100
