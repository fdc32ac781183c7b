"""Servers that listen inside their box are spoken to over Streamable HTTP."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from sandbox.errors import ServerStartError
from sandbox.model import Call, Instrument, Outcome, Reply
from sandbox.session import Ground, Session, SessionPool

pytestmark = pytest.mark.anyio

SERVER = str(Path(__file__).with_name("http_server.py"))
PORT = 8123
GENEROUS_MS = 60_000
Grounds = Callable[..., Ground]


async def call(session: Session, name: str, **arguments: str) -> Reply:
    tools = {tool.name: tool for tool in (await session.conversation.list_tools()).tools}
    reply, _ = await session.call(Call(name, arguments), tools[name], GENEROUS_MS)
    return reply


async def until_open(descriptors: set[str]) -> None:
    """Wait until these descriptors are open and no others: a box's packet tap is closed in the background."""
    deadline = time.monotonic() + 30
    while (left := set(os.listdir("/proc/self/fd"))) != descriptors and time.monotonic() < deadline:
        await anyio.sleep(0.01)
    assert left == descriptors


async def start_error(ground: Ground) -> str:
    async with SessionPool(ground, spares=0) as pool:
        with pytest.raises(ServerStartError) as caught:
            await pool.take()
    assert pool.opened == 1  # the other era would not be heard either
    return str(caught.value)


@pytest.mark.parametrize("words", [(), ("late",), ("v6",)], ids=["at-once", "late", "on-ipv6"])
async def test_a_server_is_spoken_to_once_it_listens(ground: Grounds, words: tuple[str, ...]) -> None:
    async with SessionPool(ground(SERVER, str(PORT), *words, port=PORT), spares=0) as pool:
        session = await pool.take()
        assert session.conversation.facts.transport == "http"
        assert session.conversation.facts.name == "notes"
        assert (await call(session, "count_notes")).text == "0"


async def test_calls_have_the_servers_effects_and_none_of_ours(ground: Grounds) -> None:
    async with SessionPool(ground(SERVER, str(PORT), port=PORT), spares=0) as pool:
        session = await pool.take()
        await session.idle(50)
        tools = {tool.name: tool for tool in (await session.conversation.list_tools()).tools}
        _, quiet = await session.call(Call("count_notes", {}), tools["count_notes"], GENEROUS_MS)
        reply, loud = await session.call(Call("remember", {"text": "x"}), tools["remember"], GENEROUS_MS)

        assert reply.outcome is Outcome.ACCEPTED
        assert session.instruments == frozenset(Instrument)
    assert [event.path for event in loud.events if event.name == "openat"] == ["/tmp/notes.txt"]
    for observed in (quiet, loud):
        assert observed.packets == observed.exchanges == ()
        assert not {"connect", "bind", "socket"} & {event.name for event in observed.events}


async def test_a_server_that_talks_on_stdout_is_not_held_up(ground: Grounds) -> None:
    async with SessionPool(ground(SERVER, str(PORT), "chatty", port=PORT), spares=0) as pool:
        session = await pool.take()
        assert (await call(session, "count_notes")).outcome is Outcome.ACCEPTED
        assert "all work and no play" in session.box.stderr_tail()


async def test_sessions_end_cleanly_while_a_call_is_under_way(ground: Grounds) -> None:
    before = set(os.listdir("/proc/self/fd"))
    async with SessionPool(ground(SERVER, str(PORT), port=PORT), spares=1) as pool:
        session = await pool.take()
        box = session.box
        await pool.give_back(session)
        assert not box.alive
        assert await pool.take() is not session
    await until_open(before)


async def test_a_server_on_another_port_is_named_in_the_error(ground: Grounds) -> None:
    error = await start_error(ground(SERVER, "8124", port=PORT))
    assert f"listens on port 8124 and not on port {PORT}" in error
    assert "--port 8124" in error


async def test_a_server_that_never_listens_is_an_error_that_says_so(ground: Grounds) -> None:
    silent = "import sys, time; print('only this', flush=True); time.sleep(600)"
    # Time enough to start and to say what must be quoted.
    error = await start_error(ground("-c", silent, port=PORT, handshake_s=5.0))
    assert f"did not listen on port {PORT} within 5 s" in error
    assert "only this" in error


async def test_a_server_that_ends_before_it_listens_is_not_waited_for(ground: Grounds) -> None:
    started = time.monotonic()
    with anyio.fail_after(60):
        error = await start_error(ground("-c", "raise SystemExit('no key')", port=PORT, handshake_s=300.0))
    assert "ended (exit status 1) before it listened" in error
    assert "no key" in error
    assert time.monotonic() - started < 60


async def test_a_port_that_speaks_something_else_fails_the_handshake(ground: Grounds) -> None:
    files = "import http.server as h; h.ThreadingHTTPServer(('127.0.0.1', 8123), h.SimpleHTTPRequestHandler).serve_forever()"
    async with SessionPool(ground("-c", files, port=PORT), spares=0) as pool:
        with pytest.raises(ServerStartError, match="initialize"):
            await pool.take()
