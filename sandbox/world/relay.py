"""The one way out of a box: connections to listed hosts are passed on as they are, everything else is refused.

A box of an installation has it, no other. Names are what the gateway's own name service told the box, so a
name that is not on the list is never asked for outside; and what is passed on has to ask for that very name in
TLS, so that a host of the list which serves others too is no door to them.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable, Iterable
from dataclasses import replace

from sandbox.world.destinations import REFUSED, UNREACHED, Destination
from sandbox.world.exchanges import Journal
from sandbox.world.hello import MOST_HELLO, NoHelloError, server_name
from sandbox.world.route import Route
from sandbox.world.upstream import NotReachedError, connect

MOST_RECEIVED = 8 << 30
"""Bytes that one box may receive from all of its destinations together."""

MOST_SENT = 64 << 20
"""Bytes that one box may send: requests for packages are small, and what is larger takes something out."""

_CHUNK = 262_144
_HELLO_S = 10.0
_IDLE_S = 120.0
_RESET = struct.pack("ii", 1, 0)


class Relay:
    """Passes the connections of one box on to ``destinations``, and counts what goes through."""

    def __init__(
        self,
        destinations: Iterable[Destination],
        *,
        most_received: int = MOST_RECEIVED,
        most_sent: int = MOST_SENT,
    ) -> None:
        # A place that is listed both with TLS and without has to be asked with it.
        listed = sorted(destinations, key=lambda each: each.tls)
        self._destinations = {(each.name, each.port): each for each in listed}
        self._left = {"received": most_received, "sent": most_sent}

    async def serve(self, client: socket.socket, route: Route, journal: Journal) -> None:
        """Serve one accepted connection to its end; the socket stays the caller's. Raises OSError when it breaks."""
        destination = self._destinations.get((route.host or route.address, route.port))
        if destination is None:
            _refuse(client, route, journal, "not on the list")
            return
        head = b""
        if destination.tls:
            head, fault = await _look(client, destination)
            if fault:
                _refuse(client, route, journal, fault, head)
                return
            if not head:
                # The slower one of two attempts, by IPv4 and IPv6, of which the client needs one.
                journal.record(route.exchange("tcp", "no data"))
                return
        try:
            there, early = await connect(destination)
        except NotReachedError as error:
            journal.record(route.exchange("relayed", UNREACHED + str(error)))
            _reset(client)
            return
        with there:
            await self._pass_on(_Passage(client, there), head, early, route, journal)

    async def _pass_on(
        self, passage: _Passage, head: bytes, early: bytes, route: Route, journal: Journal
    ) -> None:
        end = "open to the end"
        try:
            async with asyncio.timeout(_IDLE_S) as patience:

                def take(way: str, size: int) -> None:
                    patience.reschedule(asyncio.get_running_loop().time() + _IDLE_S)
                    self._left[way] -= size
                    if self._left[way] < 0:
                        raise _SpentError(way)

                await passage.run(head, early, take)
            end = ""
        except TimeoutError:
            end = "cut off: nothing came for a long time"
        except _SpentError as error:
            end = f"cut off: more was {error} than a box may"
        except OSError:
            end = "broken off"
        finally:
            record = route.exchange("relayed", end)
            journal.record(replace(record, body_size=passage.sent, answer_size=passage.received))
            if end:
                _reset(passage.client)


class _SpentError(Exception):
    """A box has sent or received all that it may."""


class _Passage:
    """Two sockets that are joined, and how many bytes went each way."""

    def __init__(self, client: socket.socket, there: socket.socket) -> None:
        self.client = client
        self.received = 0
        self.sent = 0
        self._there = there
        self._loop = asyncio.get_running_loop()

    async def run(self, head: bytes, early: bytes, take: Callable[[str, int], None]) -> None:
        """Pass both ways until both have ended. ``take`` is told of each piece before it goes. Raises what it raises,
        and OSError."""

        def send(size: int) -> None:
            take("sent", size)
            self.sent += size

        def receive(size: int) -> None:
            take("received", size)
            self.received += size

        ways = [
            asyncio.ensure_future(self._pump(self.client, self._there, head, send)),
            asyncio.ensure_future(self._pump(self._there, self.client, early, receive)),
        ]
        try:
            await asyncio.gather(*ways)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)

    async def _pump(
        self, source: socket.socket, sink: socket.socket, data: bytes, count: Callable[[int], None]
    ) -> None:
        while data or (data := await self._loop.sock_recv(source, _CHUNK)):
            count(len(data))
            await self._loop.sock_sendall(sink, data)
            data = b""
            # A socket that is always ready would never let the others have their turn.
            await asyncio.sleep(0)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)


async def _look(client: socket.socket, destination: Destination) -> tuple[bytes, str]:
    """Read a client's greeting; returns it, and what is wrong with it ("": nothing)."""
    received = b""
    try:
        async with asyncio.timeout(_HELLO_S):
            while (name := server_name(received)) is None:
                data = await asyncio.get_running_loop().sock_recv(client, MOST_HELLO)
                if not data:
                    return received, "a TLS greeting that ends early" if received else ""
                received += data
    except TimeoutError:
        return received, "no TLS greeting in time" if received else ""
    except NoHelloError as error:
        return received, str(error)
    # A client that connects to an address names none (RFC 6066, 3).
    if name == destination.name or (not name and _is_address(destination.name)):
        return received, ""
    return received, f"TLS for {name}" if name else "TLS for no name"


def _is_address(name: str) -> bool:
    return ":" in name or name.replace(".", "").isdecimal()


def _refuse(client: socket.socket, route: Route, journal: Journal, why: str, data: bytes = b"") -> None:
    journal.record(route.exchange("tcp", REFUSED + why, data=data))
    _reset(client)


def _reset(client: socket.socket) -> None:
    """Let the closing of a socket tell the client that nobody serves it."""
    with contextlib.suppress(OSError):
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
