"""The pool ends every session that it started, however its block ends."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from sandbox.model import Instrument
from sandbox.session import Ground, SessionPool
from sandbox.world import World

SERVER = str(Path(__file__).with_name("http_server.py"))
PORT = 8124

pytestmark = pytest.mark.anyio


async def fail_after_a_cancelled_take(ground: Ground) -> None:
    async with SessionPool(ground, spares=0) as pool:
        with anyio.move_on_after(0.3):
            await pool.take()
        raise ZeroDivisionError


async def test_an_error_ends_the_pool_although_a_taker_was_cancelled(ground: Callable[..., Ground]) -> None:
    silent = ground("-c", "import time; time.sleep(600)", port=8123, handshake_s=600.0)
    with anyio.move_on_after(60) as patience, pytest.raises(ZeroDivisionError):
        await fail_after_a_cancelled_take(silent)
    assert not patience.cancel_called


async def test_a_gateway_that_is_gone_saw_nothing(ground: Callable[..., Ground]) -> None:
    world = World.start()
    try:
        plan = ground(SERVER, str(PORT), port=PORT)
        async with SessionPool(dataclasses.replace(plan, world=world), spares=0) as pool:
            session = await pool.take()
            await session.idle(1)
            assert Instrument.GATEWAY in session.instruments
            os.kill(world.pid, signal.SIGKILL)
            deadline = time.monotonic() + 30
            while world.alive and time.monotonic() < deadline:
                await anyio.sleep(0.01)
            await session.idle(1)
            assert Instrument.GATEWAY not in session.instruments
    finally:
        world.close()
