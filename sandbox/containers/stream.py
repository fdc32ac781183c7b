"""The attached streams of a container: one connection to Docker that carries its stdin, stdout and stderr."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

from sandbox.errors import ContainerLostError

LINE_LIMIT = 64 << 20
"""The longest line that is taken from a container (bytes)."""

_STDERR_TAIL = 64 << 10
_PIECE = 1 << 20
_HEADER = struct.Struct(">BxxxL")  # Docker's API, "Attach to a container", stream format
_STDOUT, _STDERR = 1, 2


class AttachedStream:
    """One thread may read the lines while another sends; any may close."""

    def __init__(self, attached: Any) -> None:
        """attached: what docker-py's ``attach_socket`` returned; this object owns it from now on."""
        self._attached = attached
        self._socket = _plain_socket(attached)
        self._reader: BinaryIO = self._socket.makefile("rb")
        self._tail = bytearray()

    def send(self, data: bytes) -> None:
        """Write to the container's stdin. Raises ContainerLostError when nobody reads there any more."""
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise ContainerLostError(f"the engine's container takes no more orders: {error}") from error

    def lines(self) -> Iterator[bytes]:
        """The lines of stdout without their ends, until it ends; a last line without an end is left out: it was cut.

        Raises ContainerLostError for a line above LINE_LIMIT.
        """
        pieces: list[bytes] = []
        size = 0
        for kind, piece in self._pieces():
            if kind == _STDERR:
                self._tail = (self._tail + piece)[-_STDERR_TAIL:]
            elif kind == _STDOUT:
                *ended, rest = piece.split(b"\n")
                for line in ended:
                    yield b"".join([*pieces, line])
                    pieces, size = [], 0
                pieces.append(rest)
                size += len(rest)
                if size > LINE_LIMIT:
                    raise ContainerLostError(
                        f"the engine's container sent a line of more than {LINE_LIMIT >> 20} MiB"
                    )

    def stderr_tail(self) -> str:
        """The end of what came on stderr so far; as complete as the lines that were read."""
        return self._tail.decode("utf-8", "replace")

    def close(self) -> None:
        """End the connection, and with it the container's stdin. Whoever reads lines meanwhile sees their end."""
        with contextlib.suppress(OSError):  # the other side was quicker
            self._socket.shutdown(socket.SHUT_RDWR)
        self._reader.close()
        self._socket.close()
        # docker-py leaves the response there, which holds the connection open until it is closed itself.
        response = getattr(self._attached, "_response", None)
        if response is not None:
            response.close()
        self._attached.close()

    def _pieces(self) -> Iterator[tuple[int, bytes]]:
        while header := self._read(_HEADER.size):
            if len(header) < _HEADER.size:
                return
            kind, left = _HEADER.unpack(header)
            while left:
                piece = self._read(min(left, _PIECE))
                if not piece:
                    return
                left -= len(piece)
                yield kind, piece

    def _read(self, size: int) -> bytes:
        try:
            return self._reader.read(size)
        except (OSError, ValueError):  # closed under our hands, or Docker went away: the end either way
            return b""


def _plain_socket(attached: Any) -> Any:
    """A blocking socket without a time limit behind docker-py's object, which is another one on every platform."""
    if not isinstance(attached, socket.SocketIO):  # a named pipe of Windows: itself like a socket
        attached.settimeout(None)
        return attached
    plain = socket.socket(fileno=os.dup(attached.fileno()))
    plain.settimeout(None)
    return plain
