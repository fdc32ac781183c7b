"""The pool ends every session that it started, however its block ends."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import pytest

from sandbox.session import Ground, SessionPool

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
