"""HTTP/1.0 and 1.1 (RFC 9112), as the server of every host there is."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from http import HTTPStatus

import h11

from sandbox.world.channel import Channel
from sandbox.world.exchanges import Journal
from sandbox.world.request import ANSWER, ANSWER_TYPE, MOST_HEAD, Request
from sandbox.world.route import Route, printable

_IDLE_S = 60.0
_STALL_S = 10.0


async def serve(channel: Channel, route: Route, journal: Journal) -> Route | None:
    """Answer requests until the connection ends. Raises OSError when the client is gone.

    Returns where to when the client asked for a tunnel (CONNECT); the channel then carries the tunnel's bytes.
    """
    machine = h11.Connection(h11.SERVER, max_incomplete_event_size=MOST_HEAD)
    while True:
        request = None
        try:
            head = await _next_event(machine, channel, _IDLE_S)
            if not isinstance(head, h11.Request):
                return None
            request = _request(head, route)
            await _read_body(machine, channel, request)
        except h11.RemoteProtocolError as error:
            _record_broken(journal, route, machine, request, f"malformed: {error}")
            await _refuse(machine, channel, error.error_status_hint)
            return None
        except (OSError, asyncio.CancelledError):
            _record_broken(journal, route, machine, request, "incomplete")
            raise
        journal.record(request.exchange())
        if request.method == "CONNECT":
            return await _open_tunnel(machine, channel, head, route)
        await _answer(machine, channel, request)
        if machine.our_state is not h11.DONE or machine.their_state is not h11.DONE:
            return None
        machine.start_next_cycle()


async def _next_event(
    machine: h11.Connection, channel: Channel, patience_s: float
) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
    async with asyncio.timeout(patience_s):
        while True:
            event = machine.next_event()
            if event is not h11.NEED_DATA:
                return event
            if machine.they_are_waiting_for_100_continue:
                goahead = h11.InformationalResponse(status_code=100, headers=[])
                await channel.write(machine.send(goahead) or b"")
            machine.receive_data(await channel.read())


async def _read_body(machine: h11.Connection, channel: Channel, request: Request) -> None:
    while not request.too_long:
        event = await _next_event(machine, channel, _STALL_S)
        if not isinstance(event, h11.Data):
            return
        request.add(bytes(event.data))


def _request(head: h11.Request, route: Route) -> Request:
    headers = [(printable(name), printable(value)) for name, value in head.headers]
    target = printable(head.target)
    method = printable(head.method)
    url = target
    # CONNECT names an authority, a request to a proxy a whole URL (RFC 9112, 3.2.2 and 3.2.3).
    if method != "CONNECT" and "://" not in target.partition("?")[0]:
        host = next((value for name, value in headers if name == "host"), route.host or route.address)
        scheme = "https" if route.encrypted else "http"
        url = f"{scheme}://{host}{target if target.startswith('/') else '/' + target}"
    return Request(route, f"HTTP/{printable(head.http_version)}", method, url, headers)


def _record_broken(
    journal: Journal, route: Route, machine: h11.Connection, request: Request | None, note: str
) -> None:
    """Record what had come of a request that does not end well; nothing where nothing had come."""
    if request is not None:
        journal.record(request.exchange(note))
        return
    pending, _ = machine.trailing_data
    if pending:
        journal.record(route.exchange("http", note, data=pending))


async def _open_tunnel(machine: h11.Connection, channel: Channel, head: h11.Request, route: Route) -> Route:
    await channel.write(machine.send(h11.Response(status_code=200, headers=[], reason="OK")) or b"")
    early, _ = machine.trailing_data
    channel.put_back(early)
    host, _, port = printable(head.target).rpartition(":")
    return replace(
        route.inside("tunnel"),
        host=host.strip("[]").lower(),
        port=int(port) if port.isascii() and port.isdecimal() else route.port,
    )


async def _answer(machine: h11.Connection, channel: Channel, request: Request) -> None:
    headers = [("content-type", ANSWER_TYPE), ("content-length", str(len(ANSWER)))]
    await _send(machine, channel, 200, headers, b"" if request.method == "HEAD" else ANSWER)


async def _refuse(machine: h11.Connection, channel: Channel, status: int) -> None:
    if machine.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
        await _send(machine, channel, status, [("content-length", "0"), ("connection", "close")], b"")


async def _send(
    machine: h11.Connection, channel: Channel, status: int, headers: list[tuple[str, str]], body: bytes
) -> None:
    response = h11.Response(status_code=status, headers=headers, reason=HTTPStatus(status).phrase)
    events = [response, h11.Data(data=body), h11.EndOfMessage()]
    await channel.write(b"".join(machine.send(event) or b"" for event in events))
