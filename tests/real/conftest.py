"""Each real server is verified once in a session, by the first test that looks at it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from realservers import SERVERS, Verified, make_arguments, verify


@pytest.fixture(scope="session")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Verified]:
    """The verification of the server of that name."""
    root = tmp_path_factory.mktemp("real")
    arguments = make_arguments(root)
    by_name = {server.name: server for server in SERVERS}

    @cache
    def once(name: str) -> Verified:
        return verify(by_name[name], arguments, root / "runs")

    return once
