"""Streamable HTTP over sockets that somebody else connects."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import anyio
import pytest
from serving import HERE

from sandbox.client import ClientSettings, HandshakeError, converse_http
from sandbox.model import Call, Outcome, Tool

pytestmark = pytest.mark.anyio

TOOL = Tool.read({"name": "t", "inputSchema": {"type": "object"}})
GENEROUS_MS = 60_000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def honest() -> Iterator[int]:
    """The port of an SDK server under uvicorn."""
    port = free_port()
    words = [sys.executable, str(HERE / "honest_server.py"), "http", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield port
    process.kill()
    process.wait()


@pytest.fixture
def canned() -> Iterator[Callable[[bytes], int]]:
    """Serve the same bytes to every connection, then hang up; gives the port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run(response: bytes) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(1 << 16)
                connection.sendall(response)

    def start(response: bytes) -> int:
        threading.Thread(target=run, args=(response,), daemon=True).start()
        return int(listener.getsockname()[1])

    yield start
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


def to(port: int) -> Callable[[], socket.socket]:
    return lambda: socket.create_connection(("127.0.0.1", port))


@pytest.mark.parametrize(("era", "protocol"), [("legacy", "2025-11-25"), ("modern", "2026-07-28")])
async def test_an_sdk_server_is_spoken_to_in_either_era(honest: int, era: str, protocol: str) -> None:
    settings = ClientSettings(era=era, roots=("/srv/work",), handshake_timeout_s=60)
    url = f"http://127.0.0.1:{honest}/mcp"
    async with converse_http(url, to(honest), settings=settings) as conversation:
        tools = {tool.name: tool for tool in (await conversation.list_tools()).tools}

        async def call(name: str, **arguments: str) -> str:
            reply = await conversation.call(Call(name, arguments), tools[name], GENEROUS_MS)
            assert reply.outcome is Outcome.ACCEPTED, reply
            return reply.text

        assert await call("echo", text="hello") == "hello"
        assert '"size":"small","count":2' in await call("order")
        assert "canned completion" in await call("sample")
        assert await call("roots") == "file:///srv/work"
        assert await call("progress") == "done"
        assert await call("mirrored", region="Zürich") == "Zürich"
        refused = await conversation.call(Call("fail", {}), tools["fail"], GENEROUS_MS)

    assert refused.reason == "is-error"
    assert (conversation.facts.protocol, conversation.facts.transport) == (protocol, "http")
    assert {direction for _, direction, _ in conversation.wire.dump()} == {"<", ">"}


async def test_connecting_may_be_asynchronous(honest: int) -> None:
    async def connect() -> socket.socket:
        return await anyio.to_thread.run_sync(to(honest))

    settings = ClientSettings(handshake_timeout_s=60)
    async with converse_http(f"http://127.0.0.1:{honest}/mcp", connect, settings=settings) as conversation:
        assert conversation.facts.name == "honest"


async def test_a_server_that_goes_away_crashes_the_call_and_not_the_conversation() -> None:
    port = free_port()
    words = [sys.executable, str(HERE / "honest_server.py"), "http", str(port)]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        settings = ClientSettings(handshake_timeout_s=60)
        async with converse_http(f"http://127.0.0.1:{port}/mcp", to(port), settings=settings) as conversation:
            process.kill()
            await anyio.to_thread.run_sync(process.wait)
            replies = [
                await conversation.call(Call("echo", {"text": "x"}), TOOL, GENEROUS_MS) for _ in range(2)
            ]
    finally:
        process.kill()
        process.wait()

    assert [reply.outcome for reply in replies] == [Outcome.CRASHED, Outcome.CRASHED]


async def test_nobody_listening_is_a_failed_handshake() -> None:
    port = free_port()
    # A refusal is waited out for four fifths of the time; the last fifth must do for telling it.
    with pytest.raises(HandshakeError) as caught:
        async with converse_http(
            f"http://127.0.0.1:{port}/mcp", to(port), settings=ClientSettings(handshake_timeout_s=4)
        ):
            pass

    assert "before it answered initialize" in str(caught.value)
    assert "Connection refused" in str(caught.value)


async def test_a_port_that_says_nothing_fails_the_handshake_at_its_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        settings = ClientSettings(handshake_timeout_s=0.3)
        with (
            anyio.fail_after(60),
            pytest.raises(HandshakeError, match="did not answer initialize"),
        ):
            async with converse_http(f"http://127.0.0.1:{port}/mcp", to(port), settings=settings):
                pass


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


@pytest.mark.parametrize(
    "response",
    [
        b"",
        b"not HTTP at all\n",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops",
        b"HTTP/1.1 302 Found\r\nLocation: http://198.51.100.1/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\n<html",
        HEAD % 3 + b"{{{",
        HEAD % 100 + b'{"jsonrpc"',
        HEAD % (3 << 20) + b'"' + b"x" * (3 << 20),
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {nonsense\n\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n",
    ],
    ids=[
        "nothing",
        "no-http",
        "404",
        "500",
        "302",
        "202",
        "html",
        "no-json",
        "short",
        "long",
        "sse-junk",
        "sse-empty",
    ],
)
async def test_whatever_the_port_says_is_a_failed_handshake_and_nothing_worse(
    canned: Callable[[bytes], int], response: bytes
) -> None:
    port = canned(response)
    settings = ClientSettings(handshake_timeout_s=5, max_line=1 << 20)
    with anyio.fail_after(60), pytest.raises(HandshakeError):
        async with converse_http(f"http://127.0.0.1:{port}/mcp", to(port), settings=settings):
            pass


def test_no_descriptor_is_left_open(honest: int) -> None:
    async def talk() -> None:
        settings = ClientSettings(handshake_timeout_s=60)
        async with converse_http(
            f"http://127.0.0.1:{honest}/mcp", to(honest), settings=settings
        ) as conversation:
            await conversation.call(Call("echo", {"text": "x"}), TOOL, GENEROUS_MS)

    anyio.run(talk)
    before = len(os.listdir("/proc/self/fd"))
    anyio.run(talk)
    assert len(os.listdir("/proc/self/fd")) == before
