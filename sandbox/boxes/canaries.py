"""The watch over planted secrets: inotify, through watchdog, on the files as the box sees them.

The engine's own readers go to the upper layers, which are other inodes than the overlay's: what is seen here
was opened from inside.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence

from watchdog.observers.inotify_c import (
    CallbackId,
    InotifyConstants,
    InotifyEvent,
    InotifyFD,
    WatchDescriptor,
)

from sandbox.linux.beneath import open_beneath
from sandbox.model import CanaryRead

_FENCE_S = 2.0
"""Bound on the wait for the watching thread, in seconds; it normally answers within a millisecond."""


class CanaryWatch:
    """All watches of a launcher, on one inotify queue.

    One queue, because its order is what a barrier rests on: an event of the fence, a memfd that only the
    engine can open, comes after everything that was opened before it.
    """

    def __init__(self) -> None:
        self._inotify = InotifyFD()
        self._inotify.start()
        self._fence = os.memfd_create("fence")
        self._turn = threading.Lock()
        self._passed = threading.Condition()
        self._passages = 0
        self._fence_path = f"/proc/self/fd/{self._fence}"
        _watch_opens(self._inotify, self._fence_path, self._pass_fence)

    def watch(self, root: int, paths: Sequence[str]) -> Canaries:
        """Watch files of a box whose server does not run yet. ``root`` is a descriptor of the box's root.

        Raises OSError for one that is not there, and when the user's inotify watches are used up.
        """
        canaries = Canaries(self)
        for path in paths:
            opened = open_beneath(root, path.lstrip("/"), os.O_RDONLY, cross_devices=True)
            try:
                canaries.add(path, self._inotify, f"/proc/self/fd/{opened}")
            finally:
                os.close(opened)
        return canaries

    def catch_up(self) -> bool:
        """Wait until everything that was opened before this call has been seen; False when that took too long."""
        # One at a time: two unread events of the same kind are one.
        with self._turn, self._passed:
            wanted = self._passages + 1
            os.close(os.open(self._fence_path, os.O_RDONLY | os.O_CLOEXEC))
            return self._passed.wait_for(lambda: self._passages >= wanted, _FENCE_S)

    def close(self) -> None:
        """End the watching thread."""
        self._inotify.stop()
        self._inotify.join()
        os.close(self._fence)

    def _pass_fence(self) -> None:
        with self._passed:
            self._passages += 1
            self._passed.notify_all()


class Canaries:
    """The canaries of one box."""

    def __init__(self, watch: CanaryWatch) -> None:
        self._watch = watch
        self._reads: list[CanaryRead] = []
        self._lock = threading.Lock()
        self._watches: list[tuple[InotifyFD, WatchDescriptor, CallbackId]] = []

    def add(self, path: str, inotify: InotifyFD, link: str) -> None:
        """Watch one file, open as ``link``."""
        self._watches.append((inotify, *_watch_opens(inotify, link, lambda: self._note(path))))

    def reads(self) -> list[CanaryRead]:
        """What was opened since the last time, up to this call."""
        if self._watches:
            self._watch.catch_up()
        with self._lock:
            reads, self._reads = self._reads, []
        return reads

    def close(self) -> None:
        """Take the watches away; idempotent."""
        for inotify, watched, key in self._watches:
            inotify.remove_callbacks([(watched, key)])
        self._watches.clear()

    def _note(self, path: str) -> None:
        with self._lock:
            self._reads.append(CanaryRead(time.monotonic_ns(), path))


class _Opened:
    """watchdog's callbacks for one file: calls ``then`` whenever it is opened."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then

    def on_event(self, event: InotifyEvent) -> None:
        if event.is_open:
            self._then()

    def on_watch_deleted(self, wd: WatchDescriptor) -> None:
        """The file is gone, or the watch was taken away: nothing more can be opened."""

    def on_queue_overflow(self) -> None:
        """Events were lost. Who waits for the fence may run into its bound; nothing else can be told."""


def _watch_opens(
    inotify: InotifyFD, link: str, then: Callable[[], None]
) -> tuple[WatchDescriptor, CallbackId]:
    callback = _Opened(then)
    key = CallbackId(id(callback))
    return inotify.add_callback(os.fsencode(link), InotifyConstants.IN_OPEN, callback, key), key
