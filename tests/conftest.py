"""Which hosts the contract is tried on, and Ctrl-C for all that the tests start."""

from __future__ import annotations

import signal

import pytest

# A shell has its background jobs ignore it, and whatever these start: an interrupted command would go on.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--hosts",
        default="local",
        metavar="NAME[,NAME]",
        help="the hosts that the contract (tests/contract) is tried on: local, docker, or both",
    )
