"""One HTTP request on its way into the log, whatever the version of HTTP."""

from __future__ import annotations

import time
from collections.abc import Iterable
from hashlib import blake2b

from sandbox.model import Exchange
from sandbox.world.redaction import redact_header, redact_url
from sandbox.world.route import BODY_HEAD, Route, printable

MOST_HEAD = 65_536
"""Bytes that the head of a request may have: more than any common server takes (8 to 32 KiB)."""

MOST_BODY = 64 << 20
"""Bytes of a body that are read."""

ANSWER = b"{}"
"""What every request is answered with."""

ANSWER_TYPE = "application/json"


class Request:
    """A request whose head is known, and whose body is still coming in.

    Of the body only a digest, the size and the first 4,096 bytes are held.
    """

    def __init__(
        self, route: Route, version: str, method: str, url: str, headers: Iterable[tuple[str, str]]
    ) -> None:
        self.method = method
        self._route = route
        self._version = version
        self.url = url
        self._headers = tuple((name, redact_header(name, value)) for name, value in headers)
        self._arrived_ns = time.monotonic_ns()
        self._digest = blake2b(digest_size=16)
        self._head = b""
        self._size = 0

    @property
    def too_long(self) -> bool:
        """Whether the body has reached the cap; the rest is not worth reading."""
        return self._size >= MOST_BODY

    def add(self, data: bytes) -> None:
        """Take in the next bytes of the body."""
        self._digest.update(data)
        self._head += data[: BODY_HEAD - len(self._head)]
        self._size += len(data)

    def exchange(self, *notes: str) -> Exchange:
        """The record of this request as far as it came. Its time is that of the head's arrival."""
        return Exchange(
            at_ns=self._arrived_ns,
            kind="http",
            host=self._route.host,
            address=self._route.address,
            port=self._route.port,
            method=self.method,
            url=redact_url(self.url),
            headers=self._headers,
            body_digest=self._digest.hexdigest() if self._size else "",
            body_head=printable(self._head),
            body_size=self._size,
            note=self._route.note(self._version, "body cut at the cap" if self.too_long else "", *notes),
        )
