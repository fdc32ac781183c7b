"""The attendant: one thread per launcher that looks after all running boxes.

It drains their stderr, so that no server blocks on it, and checks their limits every CHECK_S seconds.
"""

from __future__ import annotations

import os
import select
import threading
import time
from typing import Protocol

CHECK_S = 0.1
"""Seconds between two looks at a box's limits. A fork bomb or a leak gets that far."""


class Attended(Protocol):
    """What the attendant needs of a box; every method may be called from its thread, and after the box was closed."""

    def fileno(self) -> int:
        """The stderr pipe."""

    def drain(self) -> bool:
        """Read from it; False when nothing will come any more."""

    def check_limits(self) -> None:
        """Look at the limits, and kill the box when it has to be."""


class Attendant:
    """Starts its thread with the first box."""

    def __init__(self) -> None:
        self._boxes: dict[int, Attended] = {}
        self._disposed: list[int] = []
        self._lock = threading.Lock()
        self._poller = select.poll()
        self._wake, self._waker = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._poller.register(self._wake, select.POLLIN)
        self._thread = threading.Thread(target=self._run, name="box-attendant", daemon=True)
        self._closed = False

    def attend(self, box: Attended) -> None:
        """Look after a box from now on."""
        with self._lock:
            self._boxes[box.fileno()] = box
            self._poller.register(box.fileno(), select.POLLIN)
            if not self._thread.is_alive():
                self._thread.start()
        os.write(self._waker, b"w")

    def leave(self, box: Attended) -> None:
        """Stop looking after a box, before its descriptors are closed."""
        with self._lock:
            if self._boxes.pop(box.fileno(), None) is not None:
                self._forget(box.fileno())

    def dispose(self, descriptor: int) -> None:
        """Close a descriptor whose closing takes long."""
        with self._lock:
            self._disposed.append(descriptor)
        os.write(self._waker, b"w")

    def close(self) -> None:
        """End the thread; idempotent."""
        if self._closed:
            return
        self._closed = True
        os.write(self._waker, b"w")
        if self._thread.is_alive():
            self._thread.join()
        self._close_disposed()
        os.close(self._wake)
        os.close(self._waker)

    def _forget(self, descriptor: int) -> None:
        try:
            self._poller.unregister(descriptor)
        except KeyError:  # hung up before
            return

    def _run(self) -> None:
        due = time.monotonic() + CHECK_S
        while not self._closed:
            ready = self._poller.poll(max(0.0, due - time.monotonic()) * 1000 if self._boxes else None)
            for descriptor, _ in ready:
                if descriptor == self._wake:
                    os.read(self._wake, 4096)
                    self._close_disposed()
                    continue
                with self._lock:
                    box = self._boxes.get(descriptor)
                    if box is not None and not box.drain():
                        self._forget(descriptor)
            if time.monotonic() >= due:
                due = time.monotonic() + CHECK_S
                with self._lock:
                    for box in self._boxes.values():
                        box.check_limits()

    def _close_disposed(self) -> None:
        with self._lock:
            disposed, self._disposed = self._disposed, []
        for descriptor in disposed:
            os.close(descriptor)
