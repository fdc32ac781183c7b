from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import closing

import pytest
from warden import Warden

from sandbox.world import World


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    with closing(World.start()) as started:
        yield started


@pytest.fixture
def box(world: World) -> Iterator[Warden]:
    with closing(Warden(world)) as attached:
        yield attached


@pytest.fixture
def trusting(world: World) -> ssl.SSLContext:
    """A client context that trusts the run's authority, as strictly as Python 3.13 does."""
    context = ssl.create_default_context(cadata=world.ca_pem.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context
