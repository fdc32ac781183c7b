"""Streamable HTTP to a server that listens inside its box."""

from __future__ import annotations

import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from sandbox import client
from sandbox.boxes.box import Box
from sandbox.client import ClientSettings, HandshakeError

if TYPE_CHECKING:  # importing it for real is left to the first conversation: it costs a second
    from sandbox.client import Conversation

_LOOK_S = 0.02
_OTHER_PORT_S = 5.0
"""How long a server that listens on other ports may take to open the one asked for as well."""


@asynccontextmanager
async def converse_inside(
    box: Box, port: int, path: str, settings: ClientSettings
) -> AsyncIterator[Conversation]:
    """Wait until the server of ``box`` listens on ``port``, then hold a conversation with it.

    Raises:
        HandshakeError: it ended, never listened there, or did not speak MCP.
    """
    await _listening(box, port, settings.handshake_timeout_s)

    async def connect() -> socket.socket:
        return await anyio.to_thread.run_sync(box.connect, port)

    url = f"http://127.0.0.1:{port}{path}"
    async with client.converse_http(url, connect, settings=settings) as conversation:
        yield conversation


async def _listening(box: Box, port: int, patience_s: float) -> None:
    """Return once somebody in the box listens on the port. Raises HandshakeError."""
    deadline = time.monotonic() + patience_s
    others: tuple[int, ...] = ()
    while port not in (ports := box.listening_ports()):
        if not box.alive:
            raise HandshakeError(f"The server ended{_status(box)} before it listened on port {port}.")
        if ports and not others:
            deadline = min(deadline, time.monotonic() + _OTHER_PORT_S)
        others = ports
        if time.monotonic() > deadline:
            raise HandshakeError(_nobody(port, others, patience_s))
        await anyio.sleep(_LOOK_S)


def _status(box: Box) -> str:
    return "" if box.exit_status is None else f" (exit status {box.exit_status})"


def _nobody(port: int, others: tuple[int, ...], patience_s: float) -> str:
    if others:
        told = ", ".join(map(str, others))
        return f"The server listens on port {told} and not on port {port}. Try --port {others[0]}."
    return (
        f"The server did not listen on port {port} within {patience_s:g} s, nor on any other. "
        "Does it need an option to speak HTTP?"
    )
