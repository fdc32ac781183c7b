"""However a run ends, its container goes, and no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from dockertools import ANYBODY, PATIENCE_S, SecondEngine, names, tiny_image, wait_until

from sandbox.containers.connection import Docker, connect
from sandbox.containers.container import EngineContainer
from sandbox.containers.spec import ContainerSpec
from sandbox.containers.sweep import sweep

pytestmark = pytest.mark.docker

HOLDER = Path(__file__).with_name("holder.py")
ENGINE = ("sh", "-c", "echo ready; cat >/dev/null")
"""Ends with its stdin, as the engine does."""

DEAF = ("sh", "-c", "echo ready; while :; do sleep 1000; done")
"""An engine that hangs: the end of its stdin does not move it."""

Hold = Callable[..., tuple[subprocess.Popen[str], str]]


@contextmanager
def second_engine() -> Iterator[SecondEngine]:
    """A Docker engine that only these tests use: every start of a container, by whatever test, looks for what others
    have left. Its sockets need a short path."""
    with tempfile.TemporaryDirectory(prefix="hintproof-docker-") as folder:
        engine = SecondEngine(Path(folder))
        try:
            engine.start()
            yield engine
        finally:
            engine.clean()


@pytest.fixture(scope="module")
def docker() -> Iterator[Docker]:
    with pytest.MonkeyPatch.context() as patch, second_engine() as engine:
        patch.setenv("DOCKER_HOST", engine.address)
        with connect() as connected:
            yield connected


@pytest.fixture(scope="module")
def tiny(docker: Docker) -> str:
    return tiny_image(docker)


def start_holder(image: str, command: tuple[str, ...]) -> tuple[subprocess.Popen[str], str]:
    """A client in a process of its own, and the name of its running container."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    client = subprocess.Popen(
        [sys.executable, str(HOLDER), image, *command], stdout=subprocess.PIPE, text=True, env=environment
    )
    assert client.stdout is not None
    name, said = client.stdout.readline().split()
    assert said == "ready"
    return client, name


@pytest.fixture
def hold(tiny: str) -> Iterator[Hold]:
    clients = []

    def started(*command: str) -> tuple[subprocess.Popen[str], str]:
        clients.append(start_holder(tiny, command))
        return clients[-1]

    yield started
    for client, _ in clients:
        finish(client)


def finish(client: subprocess.Popen[str]) -> None:
    client.kill()
    client.wait()
    if client.stdout is not None:
        client.stdout.close()


@pytest.fixture
def bystanders(docker: Docker, tiny: str) -> Iterator[set[str]]:
    """Containers that nobody may touch: one of a living owner, one that is not hintproof's, one of another machine."""
    api = docker.client.api
    others = {
        f"hintproof-test-stranger-{os.getpid()}": {},
        f"hintproof-test-away-{os.getpid()}": foreign_labels(),
    }
    for name, labels in others.items():
        api.create_container(tiny, list(DEAF), name=name, labels=labels)
    with EngineContainer.start(docker, ContainerSpec(tiny, DEAF, ANYBODY)) as living:
        yield {living.name, *others}
        assert {living.name, *others} <= names(docker)
    for name in others:
        api.remove_container(name, force=True)


def foreign_labels() -> dict[str, str]:
    return {
        "hintproof.owner.machine": "0123456789abcdef",
        "hintproof.owner.boot": "another",
        "hintproof.owner.space": "pid:[1]",
        "hintproof.owner.pid": "999999999",
        "hintproof.owner.started": "1",
    }


@pytest.mark.usefixtures("bystanders")
def test_ctrl_c_removes_the_container(docker: Docker, hold: Hold) -> None:
    client, name = hold(*DEAF)
    client.send_signal(signal.SIGINT)
    assert client.wait(PATIENCE_S) != 0
    assert name not in names(docker)


@pytest.mark.usefixtures("bystanders")
def test_a_killed_client_takes_its_container_along(docker: Docker, hold: Hold) -> None:
    client, name = hold(*ENGINE)
    assert name in names(docker)
    client.kill()
    wait_until(lambda: name not in names(docker))


@pytest.mark.usefixtures("bystanders")
def test_what_a_killed_client_cannot_take_along_goes_at_the_next_start(
    docker: Docker, hold: Hold, tiny: str
) -> None:
    client, name = hold(*DEAF)
    assert sweep(docker) == ()
    finish(client)
    assert name in names(docker)
    with EngineContainer.start(docker, ContainerSpec(tiny, DEAF, ANYBODY)):
        wait_until(lambda: name not in names(docker))


@pytest.mark.usefixtures("bystanders")
def test_a_container_that_was_never_started_goes_at_the_next_start(docker: Docker, tiny: str) -> None:
    code = (
        "import sys, os; from sandbox.containers.connection import connect;"
        "from sandbox.containers.owner import this_process\n"
        "with connect() as docker:\n"
        "  print(docker.client.api.create_container(sys.argv[1], 'sh', labels=this_process().labels())['Id'], flush=True)\n"
        "  os._exit(9)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    made = subprocess.run(
        [sys.executable, "-c", code, tiny], capture_output=True, text=True, env=environment, check=False
    )
    (found,) = docker.client.api.containers(all=True, filters={"id": made.stdout.strip()})
    assert sweep(docker) == (found["Names"][0].removeprefix("/"),)


@pytest.mark.usefixtures("bystanders")
def test_an_engine_that_crashes_ends_the_run_and_leaves_nothing(docker: Docker, tiny: str) -> None:
    crash = ("sh", "-c", "echo ready; echo so long >&2; kill -9 $$")
    with EngineContainer.start(docker, ContainerSpec(tiny, crash, ANYBODY)) as container:
        assert list(container.lines()) == [b"ready"]
        assert container.wait() == 137
        assert container.stderr_tail() == "so long\n"
        assert container.name not in names(docker)


@pytest.fixture
def second() -> Iterator[SecondEngine]:
    """A Docker engine that a test may kill."""
    with second_engine() as engine:
        yield engine


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["restarted", "killed"])
def test_a_docker_that_goes_away_ends_the_run_and_leaves_nothing(
    second: SecondEngine, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", second.address)
    with connect() as docker:
        image = tiny_image(docker)
        docker.client.api.create_container(image, list(DEAF), name="stranger")
        docker.client.api.start("stranger")
    client, _ = start_holder(image, DEAF)
    try:
        second.end(number)
        # A Docker that is stopped may still say how its containers ended.
        assert client.wait(PATIENCE_S) in ((3,) if number == signal.SIGKILL else (0, 3))
    finally:
        finish(client)
    second.start()
    with connect() as docker, EngineContainer.start(docker, ContainerSpec(image, DEAF, ANYBODY)) as container:
        wait_until(lambda: names(docker) == {"stranger", container.name})
