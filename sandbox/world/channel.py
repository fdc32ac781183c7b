"""Byte streams to the clients of a box: plain, or TLS inside of another one."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

_CHUNK = 65_536
_WRITE_S = 10.0
_FAREWELL_S = 1.0

_Result = TypeVar("_Result")


class Channel(ABC):
    """A byte stream to one client. One task reads and writes it.

    Bytes that were read to see what they are can be put back, so a channel can change its protocol at any
    byte.
    """

    def __init__(self) -> None:
        self._put_back = b""

    async def read(self) -> bytes:
        """The next bytes, at most 64 KiB of new ones; empty at the end and after a reset."""
        if self._put_back:
            data, self._put_back = self._put_back, b""
            return data
        return await self._receive()

    def put_back(self, data: bytes) -> None:
        """Make ``data`` what is read next."""
        self._put_back = data + self._put_back

    @abstractmethod
    async def write(self, data: bytes) -> None:
        """Send all of ``data``. Raises OSError (TimeoutError for a client that does not read)."""

    @abstractmethod
    async def part(self) -> None:
        """Say goodbye before the socket is closed; never raises for what the client does."""

    @abstractmethod
    async def _receive(self) -> bytes: ...


class SocketChannel(Channel):
    """A channel over a connected socket, which stays the caller's to close."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        connection.setblocking(False)
        self._socket = connection
        self._loop = asyncio.get_running_loop()

    async def _receive(self) -> bytes:
        await _take_turns()
        try:
            return await self._loop.sock_recv(self._socket, _CHUNK)
        except OSError:
            return b""

    async def write(self, data: bytes) -> None:
        await _take_turns()
        async with asyncio.timeout(_WRITE_S):
            await self._loop.sock_sendall(self._socket, data)

    async def part(self) -> None:
        # Closing a socket with unread bytes resets the connection, and the client may lose our answer to the
        # reset: so the sending half is shut first and what still comes is thrown away for a moment.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
            async with asyncio.timeout(_FAREWELL_S):
                while await self._receive():
                    continue


class TlsChannel(Channel):
    """The server's side of TLS inside of another channel."""

    def __init__(self, below: Channel, context: ssl.SSLContext) -> None:
        super().__init__()
        self._below = below
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)

    async def handshake(self) -> None:
        """Shake hands. Raises ssl.SSLError when the two do not agree, OSError when the client left."""
        await self._drive(self._tls.do_handshake)

    async def _receive(self) -> bytes:
        try:
            return await self._drive(lambda: self._tls.read(_CHUNK))
        except ssl.SSLError:
            # The close notification, an end without one, or broken records: no more data comes.
            return b""

    async def write(self, data: bytes) -> None:
        await self._drive(lambda: self._tls.write(data))

    async def part(self) -> None:
        # unwrap() queues our close notification, then asks for the client's, which is not waited for.
        with contextlib.suppress(OSError):
            self._tls.unwrap()
        with contextlib.suppress(OSError):
            await self._flush()
        await self._below.part()

    async def _drive(self, step: Callable[[], _Result]) -> _Result:
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                await self._flush()
                data = await self._below.read()
                if data:
                    self._incoming.write(data)
                else:
                    self._incoming.write_eof()
            finally:
                # After an error too: the alert tells the client why.
                await self._flush()

    async def _flush(self) -> None:
        if self._outgoing.pending:
            await self._below.write(self._outgoing.read())


async def _take_turns() -> None:
    """Let the other clients go on: a socket that is always ready never suspends sock_recv or sock_sendall."""
    await asyncio.sleep(0)
