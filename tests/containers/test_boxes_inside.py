"""The walls of a box that stands in the engine's container, on each rung of both."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox.containers.connection import Docker
from sandbox.containers.container import EngineContainer
from sandbox.containers.ownimage import PYTHON
from sandbox.containers.spec import ContainerRung, ContainerSpec, Mount, rungs

pytestmark = pytest.mark.docker

EXERCISE = Path(__file__).parents[1] / "boxes" / "exercise.py"
ORDINARY = ContainerRung("user", "4321:8765", (), "no capability, as an ordinary user")
ENGINES = {"user": "user", "root": "mapped", "admin": "mapped", "plain": "plain"}
"""The rung of the boxes by the rung of the container."""


@pytest.fixture(scope="module")
def exercised(docker: Docker, image: str) -> dict[str, dict[str, Any]]:
    """What the exercise of boxes saw in the container, by the container's rung."""
    found = {}
    for rung in {rung.name: rung for rung in (ORDINARY, *rungs(docker.facts))}.values():
        spec = ContainerSpec(
            image, (PYTHON, "/exercise.py"), rung, mounts=(Mount(str(EXERCISE), "/exercise.py"),)
        )
        with EngineContainer.start(docker, spec) as container:
            lines = list(container.lines())
            assert container.wait() == 0, container.stderr_tail()
        found[rung.name] = json.loads(lines[-1])
    return found


def test_each_rung_of_the_container_carries_a_rung_of_boxes(exercised: dict[str, dict[str, Any]]) -> None:
    assert {name: told["rung"] for name, told in exercised.items()} == {
        name: ENGINES[name] for name in exercised
    }
    assert set(exercised) >= {"user", "admin", "plain"}


def test_the_server_has_no_capability_and_is_never_the_containers_root(
    exercised: dict[str, dict[str, Any]],
) -> None:
    for told in exercised.values():
        box = told["box"]
        assert (box["capabilities"], box["no_new_privileges"]) == (["0" * 16], "1")
        assert 0 not in box["user"]
        assert box["settings"] == ["Read-only file system"] * 2


def test_the_containers_root_and_processes_are_out_of_reach(exercised: dict[str, dict[str, Any]]) -> None:
    for told in exercised.values():
        assert told["box"]["others"] == "No such file or directory 1"


def test_no_route_leads_out(exercised: dict[str, dict[str, Any]]) -> None:
    for told in exercised.values():
        assert (told["box"]["interfaces"], told["box"]["contact"]) == ("lo", "192.0.2.7")


def test_the_engine_sees_all_that_the_server_did(exercised: dict[str, dict[str, Any]]) -> None:
    for told in exercised.values():
        box = told["box"]
        assert set(box["changes"]) == {"/home/user/private", "/seeded/doomed"}
        assert box["canaries"] == ["/seeded/canary"]
        assert (box["executable"], box["writer"], box["looked"], box["ended"]) == (True, True, True, -9)
