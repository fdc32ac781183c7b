"""Messages between the engine and its reader worker: a JSON header and byte blobs, each with its length, on a stream."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Sequence
from typing import Any

_HEADER_CAP = 16 << 20
_BLOBS_CAP = 96 << 20
_LENGTH = struct.Struct(">II")


class WireError(Exception):
    """The other side hung up, or sent what is no message."""


def send(link: socket.socket, header: dict[str, Any], blobs: Sequence[bytes] = ()) -> None:
    """Send one message. Raises OSError."""
    head = json.dumps({**header, "blobs": [len(blob) for blob in blobs]}).encode()
    body = b"".join(blobs)
    link.sendall(_LENGTH.pack(len(head), len(body)) + head + body)


def receive(link: socket.socket) -> tuple[dict[str, Any], list[bytes]]:
    """Receive one message.

    Raises:
        WireError: hung up, too large, or malformed.
        OSError: the link failed or its time ran out.
    """
    head_size, body_size = _LENGTH.unpack(_exactly(link, _LENGTH.size))
    if head_size > _HEADER_CAP or body_size > _BLOBS_CAP:
        raise WireError("a message is too large")
    try:
        header = json.loads(_exactly(link, head_size))
        sizes = [int(size) for size in header.pop("blobs")]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise WireError("a message is malformed") from error
    body = _exactly(link, body_size)
    if min(sizes, default=0) < 0 or sum(sizes) != body_size:
        raise WireError("a message is malformed")
    blobs, position = [], 0
    for size in sizes:
        blobs.append(body[position : position + size])
        position += size
    return header, blobs


def _exactly(link: socket.socket, size: int) -> bytes:
    parts = bytearray()
    while len(parts) < size:
        part = link.recv(min(size - len(parts), 1 << 20))
        if not part:
            raise WireError("the other side hung up")
        parts += part
    return bytes(parts)
