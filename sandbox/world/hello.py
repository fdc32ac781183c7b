"""Which server a TLS client asks for: the name in its first message, read without answering it (RFC 8446, 4.1.2)."""

from __future__ import annotations

from sandbox.world.names import canonical

MOST_HELLO = 32_768
"""Bytes that a client's first message may take, records around it included."""

_HANDSHAKE_RECORD = 22
_CLIENT_HELLO = 1
_SERVER_NAME = 0
_ENCRYPTED_HELLO = 0xFE0D


class NoHelloError(Exception):
    """What came is no first message of a TLS client, or one that cannot be judged; says why."""


def server_name(received: bytes) -> str | None:
    """The name that a client asks for, canonical, "" where it names none; None while more has to come.

    Raises NoHelloError.
    """
    message = _message(received)
    if message is None:
        return None
    try:
        return _name(_Reader(message))
    except IndexError as error:
        raise NoHelloError("a broken TLS greeting") from error


def _message(received: bytes) -> bytes | None:
    """The handshake message out of the records that carry it; None while it is not whole."""
    message = b""
    at = 0
    while at + 5 <= len(received):
        if received[at] != _HANDSHAKE_RECORD or received[at + 1] != 3:
            raise NoHelloError("no TLS")
        end = at + 5 + int.from_bytes(received[at + 3 : at + 5])
        message += received[at + 5 : end]
        if message[:1] not in (b"", bytes([_CLIENT_HELLO])):
            raise NoHelloError("no TLS greeting")
        if len(message) >= 4 and len(message) >= (size := 4 + int.from_bytes(message[1:4])):
            return message[4:size]
        if end > len(received):
            break
        at = end
    if received[:1] not in (b"", bytes([_HANDSHAKE_RECORD])):
        raise NoHelloError("no TLS")
    if len(received) >= MOST_HELLO:
        raise NoHelloError("an endless TLS greeting")
    return None


class _Reader:
    """Takes bytes from the front; raises IndexError where there are too few."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __bool__(self) -> bool:
        return bool(self._data)

    def take(self, size: int) -> bytes:
        if size > len(self._data):
            raise IndexError(size)
        taken, self._data = self._data[:size], self._data[size:]
        return taken

    def number(self, size: int) -> int:
        return int.from_bytes(self.take(size))

    def vector(self, size: int) -> _Reader:
        """What stands behind its own length of ``size`` bytes."""
        return _Reader(self.take(self.number(size)))


def _name(hello: _Reader) -> str:
    hello.take(2 + 32)  # version and random
    hello.vector(1)  # session
    hello.vector(2)  # ciphers
    hello.vector(1)  # compression
    extensions = hello.vector(2) if hello else _Reader(b"")
    found: list[str] = []
    while extensions:
        kind, content = extensions.number(2), extensions.vector(2)
        if kind == _ENCRYPTED_HELLO:
            # The name outside of it may be another than the one that the server finds inside.
            raise NoHelloError("TLS with an encrypted greeting")
        if kind != _SERVER_NAME:
            continue
        names = content.vector(2)
        while names:
            names.take(1)
            found.append(canonical(names.take(names.number(2)).decode("ascii", "backslashreplace")))
    if len(found) > 1:
        raise NoHelloError("TLS for several names")
    return found[0] if found else ""
