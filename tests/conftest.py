"""Which hosts the contract is tried on."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--hosts",
        default="local",
        metavar="NAME[,NAME]",
        help="the hosts that the contract (tests/contract) is tried on: local, docker, or both",
    )
