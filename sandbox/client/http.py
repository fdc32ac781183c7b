"""Streamable HTTP to a server inside a box: the SDK's transport over sockets that somebody else connects.

The SDK's transport ends a whole session at an error of one request's connection. Here such errors become
JSON-RPC errors of that request, bodies are bounded, and every message passes the same gate as on stdio.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import anyio
import httpcore2
import httpx2
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, JSONRPCError

from sandbox.client.conversation import Carried, Conversation, speak
from sandbox.client.intake import Intake
from sandbox.client.messages import plain
from sandbox.client.remarks import quote
from sandbox.client.settings import ClientSettings
from sandbox.client.sockets import Connect, SocketBackend
from sandbox.client.wire import WireLog
from sandbox.model import Json

_NOTIFY_S = 5.0
"""How long a server may take to acknowledge what is no request: the SDK sends nothing else meanwhile."""

_NETWORK_ERRORS = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException)

_BROKEN = "The connection failed"
_SDK_BROKEN = "SSE stream "
"""How the error messages begin that we and the SDK's transport make up where no response came."""


@asynccontextmanager
async def converse_http(
    url: str, connect: Connect, *, settings: ClientSettings
) -> AsyncIterator[Conversation]:
    """Hold a conversation over Streamable HTTP with the server that ``connect`` reaches.

    ``url`` is what the server believes to be called (``http://127.0.0.1:8000/mcp``); nothing is resolved.

    Raises:
        HandshakeError: as ``converse``; also where nobody listens.
    """
    wire = WireLog(settings.wire_bytes)
    intake = Intake(wire)
    # A little less than the handshake may take, so that "connection refused" is what is told.
    backend = SocketBackend(connect, settings.handshake_timeout_s * 0.8)
    transport = _BoxTransport(backend, intake, settings.max_line)
    # No timeouts of its own: each request is bounded by the call's.
    timeout = httpx2.Timeout(None)
    carried = Carried()
    async with (
        httpx2.AsyncClient(transport=transport, timeout=timeout, trust_env=False) as client,
        # DELETE could make leaving wait for the server, which is thrown away anyway.
        streamable_http_client(
            url, http_client=client, terminate_on_close=False, max_sse_event_size=settings.max_line
        ) as (read, write),
    ):
        dispatcher = JSONRPCDispatcher(_TapRead(read, intake), _TapWrite(write, intake, wire))
        with carried:
            async with speak(dispatcher, intake, wire, settings, "http") as conversation:
                yield conversation
    carried.release()


class _TapRead:
    """The SDK's read stream, every message of it logged and judged."""

    def __init__(self, inner: Any, intake: Intake) -> None:
        self._inner = inner
        self._intake = intake
        self._ready: deque[SessionMessage] = deque()

    async def receive(self) -> SessionMessage:
        while not self._ready:
            item: SessionMessage | Exception = await self._inner.receive()
            if isinstance(item, Exception):
                self._intake.remarks.add(
                    "http-junk", f"sends an event that is no message: {quote(str(item))}"
                )
                continue
            if isinstance(item.message, JSONRPCError) and _made_up(item.message):
                # Not the server's words: past the ledger, so that the call ends as closed and not as refused.
                self._intake.remarks.add("http-broken", quote(item.message.error.message))
                return item
            self._ready.extend(
                self._intake.read(json.dumps(plain(item.message), separators=(",", ":")).encode())
            )
        return self._ready.popleft()

    def __aiter__(self) -> _TapRead:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> _TapRead:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._inner.__aexit__(kind, error, trace)


class _TapWrite:
    """The SDK's write stream, every message of it logged."""

    def __init__(self, inner: Any, intake: Intake, wire: WireLog) -> None:
        self._inner = inner
        self._intake = intake
        self._wire = wire

    async def send(self, item: SessionMessage, /) -> None:
        message = plain(item.message)
        self._wire.record(">", json.dumps(message, separators=(",", ":")).encode())
        await self._inner.send(item)
        self._intake.ledger.wrote(message.get("id"))

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> _TapWrite:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._inner.__aexit__(kind, error, trace)


class _BoxTransport(httpx2.AsyncBaseTransport):
    """HTTP/1.1 over sockets from ``connect``; an error of the network is a response that tells it."""

    def __init__(self, backend: SocketBackend, intake: Intake, max_body: int) -> None:
        self._pool = httpcore2.AsyncConnectionPool(network_backend=backend)
        self._intake = intake
        self._max_body = max_body

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        asks = request.method != "POST" or (b'"method"' in request.content and b'"id"' in request.content)
        with anyio.move_on_after(None if asks else _NOTIFY_S):
            try:
                return await self._send(request)
            except _NETWORK_ERRORS as error:
                return _failed(f"{_BROKEN}: {type(error).__name__}: {error}")
        self._intake.remarks.add(
            "notification-not-acknowledged", "does not answer the POST of a notification"
        )
        return httpx2.Response(202)

    async def _send(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        response = await self._pool.handle_async_request(
            httpcore2.Request(
                method=request.method,
                url=httpcore2.URL(
                    scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        body = _Body(response, self._intake, self._max_body)
        return httpx2.Response(
            response.status, headers=response.headers, stream=body, extensions=response.extensions
        )

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    """A response's bytes; ends early at an error of the network, and at the bound where it is one message."""

    def __init__(self, response: httpcore2.Response, intake: Intake, limit: int) -> None:
        self._response = response
        self._intake = intake
        kind = response.headers
        streams = any(name.lower() == b"content-type" and b"event-stream" in value for name, value in kind)
        self._left: float = float("inf") if streams else limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._response.aiter_stream():
                self._left -= len(part)
                if self._left < 0:
                    self._intake.remarks.add("line-too-long", "sends a body beyond the limit of one message")
                    return
                yield part
        except _NETWORK_ERRORS as error:
            self._intake.remarks.add("http-broken", f"breaks off a response: {type(error).__name__}: {error}")

    async def aclose(self) -> None:
        await self._response.aclose()


def _made_up(message: JSONRPCError) -> bool:
    error = message.error
    return error.code == CONNECTION_CLOSED and error.message.startswith((_BROKEN, _SDK_BROKEN))


def _failed(why: str) -> httpx2.Response:
    error: dict[str, Json] = {"code": CONNECTION_CLOSED, "message": why}
    return httpx2.Response(503, json={"jsonrpc": "2.0", "id": None, "error": error})
