"""A network backend for ``httpcore2`` over sockets that somebody else connects, inside a box's network."""

from __future__ import annotations

import inspect
import select
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeAlias

import anyio
import httpcore2

Connect: TypeAlias = Callable[[], socket.socket | Awaitable[socket.socket]]
"""Yields a socket connected to the server's port inside the box; raises OSError where nobody listens, and
ConnectionAbortedError where nobody ever will."""

_RETRY_S = 0.05


class SocketBackend(httpcore2.AsyncNetworkBackend):
    """Asks ``connect`` for every connection; waits up to ``patience_s`` for the server to listen at first."""

    def __init__(self, connect: Connect, patience_s: float) -> None:
        self._connect = connect
        self._patience_s = patience_s
        self._reached = False

    async def connect_tcp(
        self,
        host: str,  # noqa: ARG002 - the socket is connected already
        port: int,  # noqa: ARG002
        timeout: float | None = None,  # noqa: ARG002
        local_address: str | None = None,  # noqa: ARG002
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002
    ) -> httpcore2.AsyncNetworkStream:
        """A stream over a fresh socket.

        Raises:
            httpcore2.ConnectError: nobody listens (any more).
        """
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                made = self._connect()
                connected = await made if inspect.isawaitable(made) else made
            except OSError as error:
                hopeless = self._reached or isinstance(error, ConnectionAbortedError)
                if hopeless or time.monotonic() > deadline:
                    raise httpcore2.ConnectError(str(error)) from error
                await anyio.sleep(_RETRY_S)
            else:
                self._reached = True
                return _SocketStream(connected)

    async def sleep(self, seconds: float) -> None:
        """Between retries of the pool."""
        await anyio.sleep(seconds)


class _SocketStream(httpcore2.AsyncNetworkStream):
    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        self._socket = connected

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            with anyio.fail_after(timeout):
                while True:
                    try:
                        return self._socket.recv(max_bytes)
                    except BlockingIOError:
                        await anyio.wait_readable(self._socket)
        except TimeoutError as error:
            raise httpcore2.ReadTimeout from error
        except (OSError, anyio.ClosedResourceError) as error:
            raise httpcore2.ReadError(str(error)) from error

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        left = memoryview(buffer)
        try:
            with anyio.fail_after(timeout):
                while left:
                    try:
                        left = left[self._socket.send(left) :]
                    except BlockingIOError:
                        await anyio.wait_writable(self._socket)
        except TimeoutError as error:
            raise httpcore2.WriteTimeout from error
        except (OSError, anyio.ClosedResourceError) as error:
            raise httpcore2.WriteError(str(error)) from error

    async def aclose(self) -> None:
        if self._socket.fileno() >= 0:
            anyio.notify_closing(self._socket)
            self._socket.close()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,  # noqa: ARG002
        server_hostname: str | None = None,  # noqa: ARG002
        timeout: float | None = None,  # noqa: ARG002
    ) -> httpcore2.AsyncNetworkStream:
        raise httpcore2.ConnectError("TLS to a server inside a box is not spoken: use an http:// URL")

    def get_extra_info(self, info: str) -> object:
        """``is_readable`` tells the pool that an idle connection was closed by the server."""
        if info == "is_readable":
            poll = select.poll()
            poll.register(self._socket, select.POLLIN)
            return bool(poll.poll(0))
        return None
