"""HTTP/2 (RFC 9113), as the server of every host there is."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    RequestReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import ProtocolError, StreamClosedError
from h2.settings import SettingCodes

from sandbox.model import Exchange
from sandbox.world.channel import Channel
from sandbox.world.exchanges import Journal
from sandbox.world.request import ANSWER, ANSWER_TYPE, MOST_HEAD, Request
from sandbox.world.route import Route, printable

_IDLE_S = 60.0
_MOST_STREAMS = 100


async def serve(channel: Channel, route: Route, journal: Journal) -> None:
    """Answer requests until the connection ends. Raises OSError when the client is gone."""
    connection = _Connection(route, journal)
    try:
        while connection.open:
            await channel.write(connection.pending())
            async with asyncio.timeout(_IDLE_S):
                data = await channel.read()
            connection.receive(data)
    finally:
        connection.give_up()
    await channel.write(connection.pending())


class _Connection:
    """One HTTP/2 connection: bytes in, records and bytes out."""

    def __init__(self, route: Route, journal: Journal) -> None:
        self.open = True
        self._route = route
        self._journal = journal
        self._recorded = False
        self._requests: dict[int, Request] = {}
        # Streams whose request is recorded, and whose answer waits for room in the client's window.
        self._unanswered: dict[int, Request] = {}
        self._machine = H2Connection(H2Configuration(client_side=False, header_encoding=None))
        self._machine.local_settings.update(
            {
                SettingCodes.MAX_CONCURRENT_STREAMS: _MOST_STREAMS,
                SettingCodes.MAX_HEADER_LIST_SIZE: MOST_HEAD,
            }
        )
        self._machine.initiate_connection()

    def pending(self) -> bytes:
        """The bytes that are to be sent now."""
        return self._machine.data_to_send()

    def receive(self, data: bytes) -> None:
        """Take in bytes of the client; empty at the end of its stream."""
        if not data:
            self.open = False
            return
        try:
            for event in self._machine.receive_data(data):
                self._take(event)
            self._answer_all()
        except ProtocolError as error:
            # The machine has already queued the GOAWAY that says so.
            self._record(self._route.exchange("http", f"HTTP/2; malformed: {error}"))
            self.open = False

    def give_up(self) -> None:
        """Record the requests that never ended, or that there were none at all."""
        for request in self._requests.values():
            self._record(request.exchange("incomplete"))
        if not self._recorded:
            self._record(self._route.exchange("http", "HTTP/2; no request"))

    def _record(self, exchange: Exchange) -> None:
        self._recorded = True
        self._journal.record(exchange)

    def _take(self, event: Event) -> None:
        match event:
            case RequestReceived(stream_id=int() as stream, headers=headers):
                self._begin(stream, headers or [])
            case DataReceived(stream_id=int() as stream, data=data, flow_controlled_length=length):
                self._machine.acknowledge_received_data(length or 0, stream)
                self._add(stream, data or b"")
            case StreamEnded(stream_id=int() as stream):
                self._finish(stream)
            case StreamReset(stream_id=int() as stream):
                self._unanswered.pop(stream, None)
                if request := self._requests.pop(stream, None):
                    self._record(request.exchange("reset by the client"))
            case ConnectionTerminated():
                self.open = False

    def _begin(self, stream: int, raw: Iterable[tuple[bytes, bytes]]) -> None:
        headers = [(printable(name), printable(value)) for name, value in raw]
        pseudo = {name: value for name, value in headers if name.startswith(":")}
        plain = [(name, value) for name, value in headers if not name.startswith(":")]
        authority = (
            pseudo.get(":authority") or dict(plain).get("host") or self._route.host or self._route.address
        )
        method = pseudo.get(":method", "")
        scheme = pseudo.get(":scheme", "https" if self._route.encrypted else "http")
        url = authority if method == "CONNECT" else f"{scheme}://{authority}{pseudo.get(':path', '/')}"
        self._requests[stream] = Request(self._route, "HTTP/2", method, url, plain)
        if dict(plain).get("expect", "").lower() == "100-continue":
            self._machine.send_headers(stream, [(":status", "100")])

    def _add(self, stream: int, data: bytes) -> None:
        request = self._requests.get(stream)
        if request is None:
            return
        request.add(data)
        if request.too_long:
            self._finish(stream)

    def _finish(self, stream: int) -> None:
        request = self._requests.pop(stream, None)
        if request is not None:
            self._record(request.exchange())
            self._unanswered[stream] = request

    def _answer_all(self) -> None:
        for stream, request in list(self._unanswered.items()):
            # A stream that the client reset in the meantime wants no answer.
            with contextlib.suppress(StreamClosedError):
                if self._machine.local_flow_control_window(stream) < len(ANSWER):
                    continue
                self._answer(stream, request)
            del self._unanswered[stream]

    def _answer(self, stream: int, request: Request) -> None:
        headers = [(":status", "200"), ("content-type", ANSWER_TYPE), ("content-length", str(len(ANSWER)))]
        bodiless = request.method == "HEAD"
        self._machine.send_headers(stream, headers, end_stream=bodiless)
        if not bodiless:
            self._machine.send_data(stream, ANSWER, end_stream=True)
        if request.too_long:
            # RFC 9113, 8.1: the answer is complete, and the rest of the request is not wanted.
            self._machine.reset_stream(stream, ErrorCodes.NO_ERROR)
