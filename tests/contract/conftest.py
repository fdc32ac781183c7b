"""Each group of behaviours is verified once per host, all that a session needs side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from behaviours import Behaviour
from ground import ground
from hostruns import HOSTS, Ran, verify

AT_ONCE = 3
"""Runs side by side: each of them waits for quiet most of the time."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test of a host is made for each host that was asked for."""
    if "host" not in metafunc.fixturenames:
        return
    hosts = metafunc.config.getoption("--hosts").split(",")
    if unknown := [host for host in hosts if host not in HOSTS]:
        raise pytest.UsageError(f"--hosts: {', '.join(unknown)} is none of {', '.join(HOSTS)}")
    marks = {"docker": [pytest.mark.docker]}
    metafunc.parametrize(
        "host", [pytest.param(host, marks=marks.get(host, [])) for host in hosts], scope="session"
    )


@pytest.fixture(scope="session")
def ran(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str, str], Ran]]:
    """The run of one group on one host. The first question starts all runs that the session will ask for."""
    with ExitStack() as stack, ThreadPoolExecutor(AT_ONCE) as pool:
        runs: dict[tuple[str, str], Future[Ran]] = {}

        def start(host: str, group: str) -> Future[Ran]:
            place: Path = tmp_path_factory.mktemp(f"{host}-{group}") / "runs"
            return pool.submit(verify, host, group, stack.enter_context(ground()), place)

        def result(host: str, group: str) -> Ran:
            if not runs:
                runs.update({each: start(*each) for each in _asked_for(request.session.items)})
            return runs[host, group].result()

        yield result


def _asked_for(items: list[pytest.Item]) -> list[tuple[str, str]]:
    """The host and group of every run that one of these tests will ask for."""
    asked: dict[tuple[str, str], None] = {}
    for item in items:
        call = getattr(item, "callspec", None)
        if call is None or "ran" not in getattr(item, "fixturenames", ()):
            continue
        behaviour = call.params.get("behaviour")
        group = behaviour.group if isinstance(behaviour, Behaviour) else call.params["group"]
        asked[call.params["host"], group] = None
    return list(asked)
