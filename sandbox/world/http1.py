"""HTTP/1.0 and 1.1 (RFC 9112), as the server of every host there is."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from http import HTTPStatus

import h11

from sandbox.model import Exchange
from sandbox.world.channel import Channel
from sandbox.world.exchanges import Journal
from sandbox.world.request import ANSWER, ANSWER_TYPE, MOST_HEAD, Request
from sandbox.world.route import BODY_HEAD, Route, printable

_IDLE_S = 60.0
_STALL_S = 10.0


async def serve(channel: Channel, route: Route, journal: Journal) -> Route | None:
    """Answer requests until the connection ends. Raises OSError when the client is gone.

    Returns where to when the client asked for a tunnel (CONNECT); the channel then carries the tunnel's
    bytes.
    """
    connection = _Connection(channel, route)
    while True:
        try:
            request = await connection.receive()
        except h11.RemoteProtocolError as error:
            journal.record(connection.broken(f"malformed: {error}"))
            await connection.refuse(error.error_status_hint)
            return None
        except (OSError, asyncio.CancelledError):
            if connection.heard:
                journal.record(connection.broken("incomplete"))
            raise
        if request is None:
            return None
        journal.record(request.exchange())
        if request.method == "CONNECT":
            return await connection.open_tunnel(request.url)
        await connection.answer(bodiless=request.method == "HEAD")
        if not connection.renew():
            return None


class _Connection:
    """One HTTP/1 connection, and what was heard of the request that is coming in."""

    def __init__(self, channel: Channel, route: Route) -> None:
        self.heard = b""
        self._channel = channel
        self._route = route
        self._request: Request | None = None
        self._machine = h11.Connection(h11.SERVER, max_incomplete_event_size=MOST_HEAD)

    async def receive(self) -> Request | None:
        """The next request with all of its body; None when the client has no more.

        Raises h11.RemoteProtocolError for what is no HTTP, TimeoutError for a client that stalls.
        """
        head = await self._next_event(_IDLE_S)
        if not isinstance(head, h11.Request):
            return None
        self._request = request = _request(head, self._route)
        while not request.too_long and isinstance(data := await self._next_event(_STALL_S), h11.Data):
            request.add(bytes(data.data))
        return request

    def broken(self, note: str) -> Exchange:
        """The record of a request that did not end well: as a request if its head came, else as bytes."""
        if self._request is not None:
            return self._request.exchange(note)
        return self._route.exchange("http", note, data=self.heard)

    async def answer(self, *, bodiless: bool) -> None:
        """Answer the request with an empty JSON object."""
        headers = [("content-type", ANSWER_TYPE), ("content-length", str(len(ANSWER)))]
        await self._send(HTTPStatus.OK, headers, b"" if bodiless else ANSWER)

    async def refuse(self, status: int) -> None:
        """Answer what is no HTTP, where an answer can still be understood."""
        if self._machine.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            await self._send(HTTPStatus(status), [("content-length", "0"), ("connection", "close")], b"")

    async def open_tunnel(self, target: str) -> Route:
        """Say yes to a CONNECT; the channel goes on with what the client sent behind it."""
        yes = h11.Response(status_code=200, headers=[], reason=b"OK")
        await self._channel.write(self._machine.send(yes) or b"")
        early, _ = self._machine.trailing_data
        self._channel.put_back(early)
        host, _, port = target.rpartition(":")
        return replace(
            self._route.inside("tunnel"),
            host=host.strip("[]").lower(),
            port=int(port) if port.isascii() and port.isdecimal() else self._route.port,
        )

    def renew(self) -> bool:
        """Make ready for the next request; False when there can be none on this connection."""
        if self._machine.our_state is not h11.DONE or self._machine.their_state is not h11.DONE:
            return False
        self._machine.start_next_cycle()
        self._request = None
        self.heard = self._machine.trailing_data[0][:BODY_HEAD]
        return True

    async def _next_event(self, patience_s: float) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        async with asyncio.timeout(patience_s):
            while True:
                event = self._machine.next_event()
                if event is not h11.NEED_DATA:
                    return event
                if self._machine.they_are_waiting_for_100_continue:
                    goahead = h11.InformationalResponse(status_code=100, headers=[])
                    await self._channel.write(self._machine.send(goahead) or b"")
                data = await self._channel.read()
                self.heard += data[: BODY_HEAD - len(self.heard)]
                self._machine.receive_data(data)

    async def _send(self, status: HTTPStatus, headers: list[tuple[str, str]], body: bytes) -> None:
        response = h11.Response(status_code=status, headers=headers, reason=status.phrase)
        events = (response, h11.Data(data=body), h11.EndOfMessage())
        await self._channel.write(b"".join(self._machine.send(event) or b"" for event in events))


def _request(head: h11.Request, route: Route) -> Request:
    headers = [(printable(name), printable(value)) for name, value in head.headers]
    target = url = printable(head.target)
    method = printable(head.method)
    # CONNECT names an authority, a request to a proxy a whole URL (RFC 9112, 3.2.2 and 3.2.3).
    if method != "CONNECT" and "://" not in target.partition("?")[0]:
        host = next((value for name, value in headers if name == "host"), route.host or route.address)
        scheme = "https" if route.encrypted else "http"
        url = f"{scheme}://{host}{target if target.startswith('/') else '/' + target}"
    return Request(route, f"HTTP/{printable(head.http_version)}", method, url, headers)
