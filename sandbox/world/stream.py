"""One TCP connection of a box: find out what it speaks, take off its wrapping, and serve it."""

from __future__ import annotations

import asyncio
import contextlib
import re
import ssl
import struct
from dataclasses import replace
from enum import Enum, auto

from sandbox.world import http1, http2
from sandbox.world.channel import Channel, TlsChannel
from sandbox.world.desk import Desk
from sandbox.world.dns import look_up
from sandbox.world.exchanges import Journal
from sandbox.world.request import MOST_HEAD
from sandbox.world.route import BODY_HEAD, Route

_MOST_WRAPPINGS = 4
_SILENCE_S = 2.0
_HEAD_S = 10.0
_PAUSE_S = 0.2
_LINGER_S = 2.0

_H2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]"
# "G", "GET", "GET /index.html HT": what may still become a request line.
_MAYBE_REQUEST = re.compile(_TOKEN + rb"{1,32}(?: [^\n]*)?")
# "GET /index.html HTTP/1.1"
_REQUEST_LINE = re.compile(_TOKEN + rb"{1,32} \S.* HTTP/\d\.\d\r?")


class Speech(Enum):
    """What a client speaks, as its first bytes tell."""

    TLS = auto()
    HTTP1 = auto()
    HTTP2 = auto()
    OTHER = auto()


async def serve(channel: Channel, route: Route, desk: Desk) -> Channel:
    """Serve a connection to its end, through TLS and tunnels. Raises OSError when the client is gone.

    Whatever it does is in the journal before it is answered. Returns the innermost channel.
    """
    for _ in range(_MOST_WRAPPINGS):
        head, speech = await _look(channel)
        if speech is Speech.TLS:
            secure, route = await _shake_hands(channel, route, desk)
            if secure is None:
                return channel
            channel = secure
        elif speech is Speech.HTTP2:
            await http2.serve(channel, route, desk.journal)
            return channel
        elif speech is Speech.HTTP1:
            tunnel = await http1.serve(channel, route, desk.journal)
            if tunnel is None:
                return channel
            route = tunnel
        else:
            await _listen(channel, route, desk.journal, head)
            return channel
    desk.journal.record(route.exchange("tcp", "wrapped too often"))
    return channel


def recognise(head: bytes) -> Speech | None:
    """What a client speaks whose first bytes are ``head``; None while they do not tell."""
    if not head:
        return None
    # A TLS record: handshake, version 3.x (RFC 8446, 5.1).
    if head[:2] == b"\x16\x03"[: len(head)]:
        return Speech.TLS if len(head) > 2 else None
    if head[: len(_H2_PREFACE)] == _H2_PREFACE[: len(head)]:
        return Speech.HTTP2 if len(head) >= len(_H2_PREFACE) else None
    line, newline, _ = head.partition(b"\n")
    if newline:
        return Speech.HTTP1 if _REQUEST_LINE.fullmatch(line) else Speech.OTHER
    if len(head) > MOST_HEAD or not _MAYBE_REQUEST.fullmatch(head):
        return Speech.OTHER
    return None


async def serve_dns(channel: Channel, route: Route, desk: Desk) -> None:
    """Answer DNS over TCP: messages behind a length of two bytes (RFC 1035, 4.2.2)."""
    silent = True
    message, rest = await _next_message(channel, b"")
    while message is not None:
        silent = False
        lookup = look_up(message, desk.names)
        desk.journal.record(replace(route, host=lookup.name).exchange("dns", lookup.note))
        if lookup.reply is None:
            return
        await channel.write(struct.pack("!H", len(lookup.reply)) + lookup.reply)
        message, rest = await _next_message(channel, rest)
    if rest:
        desk.journal.record(route.exchange("dns", "malformed: cut off", data=rest))
    elif silent:
        desk.journal.record(route.exchange("tcp", "no data"))


async def _next_message(channel: Channel, received: bytes) -> tuple[bytes | None, bytes]:
    """The next DNS message and what was received behind it; None and the rest when no whole one comes."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_HEAD_S):
            while (end := 2 + int.from_bytes(received[:2], "big")) > len(received):
                data = await channel.read()
                if not data:
                    break
                received += data
            else:
                return received[2:end], received[end:]
    return None, received


async def _look(channel: Channel) -> tuple[bytes, Speech | None]:
    """Read until the client's protocol is known, it pauses or it ends; everything is put back."""
    head = b""
    speech = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_SILENCE_S) as patience:
            while (speech := recognise(head)) is None and (data := await channel.read()):
                if not head:
                    patience.reschedule(asyncio.get_running_loop().time() + _HEAD_S)
                head += data
    channel.put_back(head)
    return head, speech


async def _shake_hands(channel: Channel, route: Route, desk: Desk) -> tuple[TlsChannel | None, Route]:
    """Terminate TLS with a certificate for the name that the client asks for, else for the route's own.

    A handshake that fails is recorded, with no channel returned.
    """
    asked = ""

    def choose(tls: ssl.SSLObject, server_name: str | None, _: ssl.SSLContext) -> int | None:
        nonlocal asked
        asked = server_name or ""
        try:
            tls.context = desk.authority.context(asked or route.host or route.address)
        except ValueError:
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        return None

    front = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    front.sni_callback = choose
    secure = TlsChannel(channel, front)
    try:
        async with asyncio.timeout(_HEAD_S):
            await secure.handshake()
        failure = "the client left" if await _left_at_once(secure) else ""
    except TimeoutError:
        failure = "no complete handshake in time"
    except (ssl.SSLEOFError, ConnectionError):
        failure = "the client left"
    except ssl.SSLError as error:
        failure = (error.reason or str(error)).replace("_", " ").lower()
    route = replace(route.inside(f"TLS SNI {asked}" if asked else "TLS"), encrypted=True)
    if failure:
        desk.journal.record(route.exchange("tls-failed", failure))
        return None, route
    return secure, route


async def _left_at_once(channel: Channel) -> bool:
    """Whether a client leaves instead of sending data.

    Some clients (node) judge the certificate only after the handshake, and leave without an alert.
    """
    first = b""
    try:
        async with asyncio.timeout(_SILENCE_S):
            first = await channel.read()
    except TimeoutError:
        return False
    channel.put_back(first)
    return not first


async def _listen(channel: Channel, route: Route, journal: Journal, head: bytes) -> None:
    """Record a protocol that the gateway does not speak, and leave the client waiting for a moment.

    A client that waits for the server to speak first has said nothing: it is recorded without data.
    """
    if head:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_PAUSE_S):
                heard = b""
                while len(heard) < BODY_HEAD and (data := await channel.read()):
                    heard += data
                    head = heard
    journal.record(route.exchange("tcp", "" if head else "no data", data=head))
    if head:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_S):
                while await channel.read():
                    continue
