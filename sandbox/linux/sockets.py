"""Sockets for the engine's own connections to a server that listens in its box.

A socket belongs to the network in which it was made, whoever connects it later. So the warden only makes
them, which takes microseconds, and the engine connects them; the observer's loop never waits for a server.
"""

from __future__ import annotations

import array
import contextlib
import json
import socket

SOCKETS = b"sockets"
"""What the engine asks for on a box's socket, once its server was started."""


class SocketDesk:
    """Answers requests on ``box``, the box's socket, which stays the caller's."""

    def __init__(self, box: socket.socket) -> None:
        self._box = box

    def fileno(self) -> int:
        """Readable when somebody asks."""
        return self._box.fileno()

    def serve(self) -> bool:
        """Answer one request with a fresh TCP socket of each family; False when none will come any more."""
        if self._box.recv(16) != SOCKETS:
            return False
        with contextlib.ExitStack() as made:
            sockets = []
            for family in (socket.AF_INET, socket.AF_INET6):
                with contextlib.suppress(OSError):  # a machine without IPv6
                    sockets.append(made.enter_context(socket.socket(family, socket.SOCK_STREAM)).fileno())
            with contextlib.suppress(OSError):  # an engine that does not read, or has left, misses its answer
                message = json.dumps({"sockets": len(sockets)}).encode()
                # Not socket.send_fds(), which ignores its flags (Python 3.11) and would wait.
                rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", sockets))
                self._box.sendmsg([message], [rights], socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        return True
