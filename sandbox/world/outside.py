"""Everything outside of one box: the sockets that its warden passes on, and who is connected to them."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from sandbox.linux.netlink import DNS_PORT
from sandbox.model import Exchange
from sandbox.world import messages
from sandbox.world.channel import SocketChannel
from sandbox.world.datagrams import WILDCARDS, DatagramSocket
from sandbox.world.desk import Desk
from sandbox.world.route import Route
from sandbox.world.stream import serve, serve_dns

MOST_SOCKETS = 4100
"""Sockets that one box may have opened on its outside: two for each of 2,048 addresses, and the name service."""

MOST_CONNECTIONS = 256
"""Connections of one box that are served at the same time."""

_ACCEPT_BATCH = 32
_OUT_OF_DESCRIPTORS = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_ACCEPT_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class Announcement:
    """One passed socket: its protocol, ``tcp`` (listening) or ``udp``, and where it is in the box's network."""

    proto: str
    ip: str
    port: int


class Outside:
    """The outside of one box, until its warden hangs up.

    Owns the warden's socket, every socket received over it, every connection and the desk's journal. Nothing
    that goes wrong here reaches another box. ``on_end`` is called once, when everything is released.
    """

    def __init__(self, warden: socket.socket, desk: Desk, on_end: Callable[[Outside], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._warden = warden
        self._desk = desk
        self._on_end = on_end
        self._sockets: list[socket.socket | DatagramSocket] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._farewell: asyncio.Task[None] | None = None
        warden.setblocking(False)
        self._loop.add_reader(warden, self._take_message)

    def close(self) -> None:
        """Drop the sockets and the connections; idempotent."""
        if self._warden.fileno() < 0:
            return
        for opened in (self._warden, *self._sockets):
            self._loop.remove_reader(opened)
            opened.close()
        self._farewell = self._loop.create_task(self._end())

    async def _end(self) -> None:
        # A connection that is cut off still records what had come of its request.
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)
        if self._desk.relay is not None:
            # Whoever wants to know what went through a relay has to know when everything is told.
            self._desk.journal.record(Exchange(time.monotonic_ns(), "end"))
        self._desk.journal.close()
        self._on_end(self)

    def _take_message(self) -> None:
        taken = messages.take(self._warden)
        if taken is None:
            return
        message, descriptors = taken
        if not message:
            self.close()
            return
        announced = [Announcement(**each) for each in json.loads(message)["sockets"]]
        for announcement, descriptor in zip(announced, descriptors, strict=False):
            self._open(announcement, descriptor)
        for lost in announced[len(descriptors) :]:
            self._tell_unserved(lost)

    def _open(self, announced: Announcement, descriptor: int) -> None:
        if len(self._sockets) >= MOST_SOCKETS:
            os.close(descriptor)
            self._tell_unserved(announced)
            return
        passed = socket.socket(fileno=descriptor)
        if announced.proto == "udp":
            datagrams = DatagramSocket(passed, announced.ip, announced.port, self._desk)
            self._sockets.append(datagrams)
            self._loop.add_reader(datagrams, datagrams.receive)
        else:
            passed.setblocking(False)
            self._sockets.append(passed)
            self._loop.add_reader(passed, self._accept, passed, announced)

    def _tell_unserved(self, announced: Announcement) -> None:
        route = Route(self._desk.names.name_of(announced.ip), announced.ip, announced.port)
        self._desk.journal.record(route.exchange(announced.proto, "not served: too many sockets"))

    def _accept(self, listener: socket.socket, announced: Announcement) -> None:
        for _ in range(_ACCEPT_BATCH):
            try:
                connection, _ = listener.accept()
            except BlockingIOError:
                return
            except OSError as error:
                if error.errno not in _OUT_OF_DESCRIPTORS:
                    continue
                # The connection stays in the backlog, and would wake the loop up without end.
                self._loop.remove_reader(listener)
                self._loop.call_later(_ACCEPT_PAUSE_S, self._resume, listener, announced)
                return
            self._welcome(connection, announced)

    def _resume(self, listener: socket.socket, announced: Announcement) -> None:
        if listener.fileno() >= 0:
            self._loop.add_reader(listener, self._accept, listener, announced)

    def _welcome(self, connection: socket.socket, announced: Announcement) -> None:
        address = announced.ip
        if address in WILDCARDS:
            address = connection.getsockname()[0].removeprefix("::ffff:")
        route = Route(self._desk.names.name_of(address), address, announced.port)
        if len(self._connections) >= MOST_CONNECTIONS:
            self._desk.journal.record(route.exchange("tcp", "not served: too many connections"))
            connection.close()
            return
        task = self._loop.create_task(self._serve(connection, route))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, connection: socket.socket, route: Route) -> None:
        with connection:
            channel = SocketChannel(connection)
            try:
                if route.port == DNS_PORT:
                    await serve_dns(channel, route, self._desk)
                    await channel.part()
                elif self._desk.relay is not None:
                    await self._desk.relay.serve(connection, route, self._desk.journal)
                else:
                    innermost = await serve(channel, route, self._desk)
                    await innermost.part()
            except OSError:
                # The client is gone or stalled; what it did is recorded.
                return
            except Exception as error:  # noqa: BLE001
                # Hostile bytes found a fault of ours. It costs this connection only, and is told.
                self._desk.journal.record(route.exchange("tcp", f"not served: {error!r}"))
