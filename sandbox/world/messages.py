"""Messages with descriptors that the gateway is sent on SEQPACKET sockets."""

from __future__ import annotations

import socket

LARGEST = 65_536
"""Bytes of one message."""

MOST_DESCRIPTORS = 253
"""Descriptors of one message: the kernel's limit (SCM_MAX_FD, unix(7))."""


def take(end: socket.socket) -> tuple[bytes, list[int]] | None:
    """The next message of a non-blocking socket and its descriptors, which are the caller's.

    None when there is none yet; an empty message when the other end is gone.
    """
    try:
        message, descriptors, _, _ = socket.recv_fds(end, LARGEST, MOST_DESCRIPTORS, socket.MSG_CMSG_CLOEXEC)
    except BlockingIOError:
        return None
    except OSError:
        return b"", []
    return message, descriptors
