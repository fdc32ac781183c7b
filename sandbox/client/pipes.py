"""The stdio transport over two descriptors that somebody else opened: streams for the SDK's dispatcher.

Reading happens in the dispatcher's own task and writing in the sender's, without a hand-over between tasks:
what a call costs here is two system calls and a parse.
"""

from __future__ import annotations

import json
import os
import socket
from collections import deque
from types import TracebackType
from typing import TypeVar

import anyio
import anyio.lowlevel
from mcp.shared.message import SessionMessage

from sandbox.client.intake import Intake
from sandbox.client.lines import Line, LineBuffer
from sandbox.client.messages import plain
from sandbox.client.remarks import quote
from sandbox.client.wire import WireLog

_CHUNK = 1 << 16
"""A pipe holds 64 KiB unless it was made larger."""

_MAX_BACKLOG = 64 << 20

_Self = TypeVar("_Self", bound="_Stream")


class _Stream:
    """The context management that the SDK's stream protocols ask for."""

    async def __aenter__(self: _Self) -> _Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Nothing to release: whoever opened the descriptor closes it."""


class PipeReader(_Stream):
    """The server's standard output as a stream of sound messages. The descriptor stays the caller's."""

    def __init__(self, fd: int, intake: Intake, max_line: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._intake = intake
        self._lines = LineBuffer(max_line)
        self._ready: deque[SessionMessage] = deque()
        self._ended = False

    def __aiter__(self) -> PipeReader:
        return self

    async def __anext__(self) -> SessionMessage:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def receive(self) -> SessionMessage:
        """The next message.

        Raises:
            anyio.EndOfStream: the server closed its standard output.
        """
        if self._ready:
            # Many messages in one chunk: the tasks that the earlier ones started must get their turn.
            await anyio.lowlevel.checkpoint()
        while not self._ready:
            if self._ended:
                raise anyio.EndOfStream
            chunk = await self._read()
            for line in self._lines.feed(chunk):
                self._ready.extend(self._take(line))
            if not chunk:
                self._ended = True
                if (rest := self._lines.end()) is not None:
                    self._intake.remarks.add(
                        "unterminated-line", f"its last line has no newline: {quote(rest.data)}"
                    )
                    self._ready.extend(self._take(rest))
        return self._ready.popleft()

    async def _read(self) -> bytes:
        while True:
            await anyio.wait_readable(self._fd)
            try:
                return os.read(self._fd, _CHUNK)
            except BlockingIOError:
                continue
            except OSError:  # a socket that was reset, a terminal that was hung up
                return b""

    def _take(self, line: Line) -> list[SessionMessage]:
        if not line.data.strip():
            return []
        if not line.whole:
            return list(self._intake.junk("line-too-long", f"a line of {line.size} bytes", line.data))
        return list(self._intake.read(line.data))


class PipeWriter(_Stream):
    """The server's standard input. Sending never waits: what the pipe does not take is written by ``drain``.

    So a server that does not read its input costs a call its timeout and nothing more.
    """

    def __init__(self, fd: int, intake: Intake, wire: WireLog) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._intake = intake
        self._wire = wire
        self._backlog = bytearray()
        self._stuck = anyio.Event()
        self._closed = False

    async def send(self, item: SessionMessage, /) -> None:
        """Write one message, or keep it for ``drain``.

        Raises:
            anyio.BrokenResourceError: nobody reads the server's standard input any more.
        """
        message = plain(item.message)
        line = json.dumps(message, separators=(",", ":")).encode()  # ASCII: survives lone surrogates
        if self._closed:
            raise anyio.BrokenResourceError
        if len(self._backlog) + len(line) > _MAX_BACKLOG:
            # Dropped: the request's own timeout ends it.
            self._intake.remarks.add("stdin-not-read", "does not read its standard input")
            return
        self._wire.record(">", line)
        self._backlog += line + b"\n"
        self._flush()
        self._intake.ledger.wrote(message.get("id"))
        if self._closed:
            raise anyio.BrokenResourceError

    async def drain(self) -> None:
        """Write what ``send`` left over, for as long as the conversation lasts."""
        while True:
            await self._stuck.wait()
            await anyio.wait_writable(self._fd)
            self._flush()

    def _flush(self) -> None:
        try:
            while self._backlog:
                del self._backlog[: os.write(self._fd, self._backlog)]
        except BlockingIOError:
            self._stuck.set()
            return
        except OSError:
            # EPIPE: the server closed its standard input or is gone; reading tells which.
            self._backlog.clear()
            self._closed = True
        if self._stuck.is_set():
            self._stuck = anyio.Event()

    def close(self) -> None:
        """Close the descriptor: EOF on standard input is how MCP says goodbye."""
        self._closed = True
        os.close(self._fd)


def hang_up(fd: int) -> None:
    """End the writing half of a socket that is read from as well."""
    with socket.socket(fileno=os.dup(fd)) as half:
        try:
            half.shutdown(socket.SHUT_WR)
        except OSError:
            # Not connected any more: nobody is left to be told.
            return
