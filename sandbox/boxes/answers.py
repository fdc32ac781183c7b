"""What the daemon, or a box, tells the engine on a SEQPACKET socket: JSON objects, with descriptors."""

from __future__ import annotations

import json
import os
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from sandbox.errors import BoxLostError
from sandbox.linux.order import StepError
from sandbox.model import Json

_ANSWER_S = 20.0
"""Bound on the wait for one answer, in seconds; they normally take milliseconds."""

_MESSAGE_LIMIT = 8192
_DESCRIPTOR_LIMIT = 253  # SCM_MAX_FD


@dataclass(frozen=True, slots=True)
class Answer:
    """One message: its value, and the descriptors that came with it, which are the receiver's."""

    value: Json
    descriptors: tuple[int, ...]


class Answers:
    """One end of such a socket, which it owns. Messages may come in any order.

    ``why`` gives the reason of an end that nobody announced.
    """

    def __init__(self, end: socket.socket, why: Callable[[], str]) -> None:
        self._end = end
        self._why = why
        self._unclaimed: dict[str, Answer] = {}
        self.failure: StepError | None = None
        """The first step that was told to have failed."""

    def send(self, message: bytes) -> None:
        """Send one message. Raises BoxLostError when nobody is there."""
        try:
            self._end.send(message, socket.MSG_NOSIGNAL)
        except OSError as error:
            raise BoxLostError(f"the box is gone: {self._why() or error}") from error

    def expect(self, key: str) -> Answer:
        """Wait for the message with a key. Raises StepError when a step failed, BoxLostError when none will come."""
        deadline = time.monotonic() + _ANSWER_S
        while key not in self._unclaimed:
            if self.failure is not None:
                raise self.failure
            if "exited" in self._unclaimed:
                raise BoxLostError("the process that was to become the server was killed")
            if not is_readable(self._end.fileno(), deadline - time.monotonic()):
                raise BoxLostError(f"{_ANSWER_S:.0f} seconds passed without the answer {key!r}")
            if not self._receive():
                raise BoxLostError(f"the answer {key!r} never came: {self._why() or 'the other end is gone'}")
        return self._unclaimed.pop(key)

    def find(self, key: str, patience_s: float = 0.0) -> Answer | None:
        """The message with a key if it is there, or comes within ``patience_s``; it stays to be found again."""
        deadline = time.monotonic() + patience_s
        while key not in self._unclaimed and is_readable(self._end.fileno(), deadline - time.monotonic()):
            if not self._receive():
                break
        return self._unclaimed.get(key)

    def claim(self, key: str, patience_s: float) -> Answer | None:
        """As :meth:`find`, but the message is the caller's and is not found again."""
        self.find(key, patience_s)
        return self._unclaimed.pop(key, None)

    def wait_for_end(self, patience_s: float) -> None:
        """Read on until the other end is gone, or ``patience_s`` has passed."""
        deadline = time.monotonic() + patience_s
        while is_readable(self._end.fileno(), deadline - time.monotonic()) and self._receive():
            continue

    def close(self) -> None:
        """Close the end, and every descriptor that nobody claimed."""
        self._end.close()
        for answer in self._unclaimed.values():
            for descriptor in answer.descriptors:
                os.close(descriptor)
        self._unclaimed.clear()

    def _receive(self) -> bool:
        try:
            message, descriptors, _, _ = socket.recv_fds(
                self._end, _MESSAGE_LIMIT, _DESCRIPTOR_LIMIT, socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionError:
            return False
        if not message:
            return False
        ((key, value),) = json.loads(message).items()
        if key == "failed":
            self.failure = self.failure or StepError.decode(value)
        else:
            self._unclaimed[key] = Answer(value, tuple(descriptors))
        return True


def is_readable(descriptor: int, patience_s: float = 0.0) -> bool:
    """Whether a descriptor is readable or hung up (a pidfd: its process ended) within ``patience_s``."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(max(0.0, patience_s) * 1000))
