"""Where a client of a box wanted to go, and how that is told in a record."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from sandbox.model import Exchange, digest_of

BODY_HEAD = 4096
"""Bytes of a body that are kept as text; the digest covers more."""

_FIRST_BYTES = 64


@dataclass(frozen=True, slots=True)
class Route:
    """The destination of a connection or datagram: its name where one is known, address and port.

    ``layers`` names what lies between the socket and the bytes (``tunnel``, ``TLS SNI example.org``), for the
    record; ``encrypted`` whether TLS is among them; ``opened_ns`` is CLOCK_MONOTONIC.
    """

    host: str
    address: str
    port: int
    layers: tuple[str, ...] = ()
    encrypted: bool = False
    opened_ns: int = field(default_factory=time.monotonic_ns)

    def inside(self, layer: str) -> Route:
        """The same route with one more layer around the bytes."""
        return replace(self, layers=(*self.layers, layer))

    def note(self, *parts: str) -> str:
        """The note of a record: the layers, then ``parts``."""
        return "; ".join([*self.layers, *filter(None, parts)])

    def exchange(self, kind: str, *notes: str, data: bytes = b"") -> Exchange:
        """A record of anything but HTTP; ``data`` is what the client sent."""
        return Exchange(
            at_ns=self.opened_ns,
            kind=kind,
            host=self.host,
            address=self.address,
            port=self.port,
            body_digest=digest_of(data) if data else "",
            body_head=printable(data[:BODY_HEAD]),
            body_size=len(data),
            note=self.note(*notes, first_bytes(data)),
        )


def printable(data: bytes) -> str:
    """Bytes as text; what is no UTF-8 becomes ``\\xNN``."""
    return data.decode("utf-8", "backslashreplace")


def first_bytes(data: bytes) -> str:
    """How a record shows bytes of an unknown protocol: the first 64 in hex."""
    return data[:_FIRST_BYTES].hex()
