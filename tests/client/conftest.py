"""Servers to talk to: real processes on pipes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from serving import Served, serve


@pytest.fixture
def launch() -> Iterator[Callable[..., Served]]:
    """Start a server script of this folder; it is killed when the test ends."""
    with ExitStack() as stack:
        yield lambda script, *words: stack.enter_context(serve(script, *words))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
