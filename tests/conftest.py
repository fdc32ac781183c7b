"""Which hosts the contract is tried on, which tests share a process, and Ctrl-C for all that the tests start."""

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


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one file share what they run. Those in Docker take turns: some count this machine's containers."""
    for item in items:
        group = "docker" if item.get_closest_marker("docker") else item.path.stem
        item.add_marker(pytest.mark.xdist_group(group))
