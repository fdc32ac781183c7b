"""The machine's Docker engine, the engine's image, and a tiny image for tests that need no engine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from dockertools import tiny_image

from sandbox.containers.connection import Docker, connect
from sandbox.containers.ownimage import find_image


@pytest.fixture(scope="session")
def docker() -> Iterator[Docker]:
    with connect() as connected:
        yield connected


@pytest.fixture(scope="session")
def image(docker: Docker) -> str:
    return find_image(docker)


@pytest.fixture(scope="session")
def tiny(docker: Docker) -> Iterator[str]:
    made = tiny_image(docker)
    yield made
    docker.client.api.remove_image(made, force=True)
