"""The engine's handle of one running box: what its instruments saw, and its end."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

from sandbox.boxes.answers import is_readable
from sandbox.boxes.attendant import Attendant
from sandbox.boxes.canaries import Canaries
from sandbox.boxes.ends import Ends, kill
from sandbox.boxes.limits import Usage
from sandbox.boxes.ports import connect_any, listening_ports
from sandbox.boxes.processes import Family, describe, is_quiet
from sandbox.boxes.stderr import StderrTail
from sandbox.errors import BoxLostError
from sandbox.linux.beneath import open_beneath
from sandbox.linux.sockets import SOCKETS
from sandbox.model import CanaryRead, Limits, ProcessFact

_STATUS_S = 1.0
"""Bound on the wait for init's word on a server that has ended, in seconds."""

_SOCKETS_S = 5.0
"""Bound on the wait for the warden's sockets, in seconds; it answers between two system calls of the server."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One writable layer of a box.

    ``prefix`` is where it appears in the box; of two that hold a path the deeper one counts. ``lower`` is a
    path to the folder below it, valid in this process and while the box is open, or None where there is
    nothing below. ``upper`` is a directory descriptor of what the server changed, which the box owns.
    """

    prefix: str
    lower: str | None
    upper: int


class Box:
    """One running box. Made by :meth:`sandbox.boxes.launcher.Launcher.launch`; close it, or use it as a
    context manager.

    ``stdin`` and ``stdout`` are the engine's ends of the server's pipes, ``tap`` is the packet tap,
    ``events`` the system calls, ``layers`` the files; all of them are the box's and end with it. ``user`` is the
    server's user id as the host numbers it, ``has_image`` whether its root is an image, of which every file is that
    user's. Any thread may use a box.
    """

    def __init__(
        self,
        name: str,
        ends: Ends,
        *,
        user: int,
        has_image: bool,
        limits: Limits,
        layers: tuple[Layer, ...],
        canaries: Canaries,
        attendant: Attendant,
        forget: Callable[[Box], None],
    ) -> None:
        self.name = name
        self.user = user
        self.has_image = has_image
        self.init_pid = ends.init_pid
        self.stdin = ends.stdin
        self.stdout = ends.stdout
        self.tap = ends.tap
        self.layers = layers
        self.events = ends.events
        self._ends = ends
        self._stderr = StderrTail(ends.stderr)
        self._canaries = canaries
        self._family = Family(ends.init_pid, ends.proc)
        self._usage = Usage(limits, self._family, ends.proc, ends.uppers[0])
        self._attendant = attendant
        self._forget = forget
        self._exit_status: int | None = None
        self._lock = threading.RLock()
        self._closed = False

    def __enter__(self) -> Box:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def alive(self) -> bool:
        """Whether the server's own process still runs. What it left behind may run on when it does not."""
        with self._lock:
            return not self._closed and not is_readable(self._ends.server)

    @property
    def exit_status(self) -> int | None:
        """How the server's own process ended: its exit code, or minus the signal.

        None while it runs, and when the box was killed as a whole.
        """
        with self._lock:
            if self._exit_status is None and not self._closed and is_readable(self._ends.server):
                told = self._ends.answers.find("exited", _STATUS_S)
                self._exit_status = None if told is None else int(str(told.value))
            return self._exit_status

    def check(self) -> None:
        """Raise BoxLostError when one of our own processes in this box has failed or died."""
        with self._lock:
            if self._closed or self._usage.killed:
                return
            self._ends.answers.find("exited")
            if self._ends.answers.failure is not None:
                raise BoxLostError(f"the box was lost: {self._ends.answers.failure}")
            if is_readable(self._ends.init):
                raise BoxLostError("the box was lost: its first process was killed from outside")

    def connect(self, port: int) -> socket.socket:
        """A connection to a TCP port of the box's loopback, IPv4 or IPv6. No instrument takes it for the
        server's doing.

        Raises:
            ConnectionRefusedError: nobody listens there, yet.
            ConnectionAbortedError: nobody ever will, for the server has ended.
            OSError: whatever else keeps a connection from being made.
        """
        with self._lock:
            if not self.alive:
                raise ConnectionAbortedError("the server has ended")
            try:
                self._ends.answers.send(SOCKETS)
            except BoxLostError as error:
                raise ConnectionAbortedError(str(error)) from error
            made = self._ends.answers.claim("sockets", _SOCKETS_S)
        if made is None:
            raise ConnectionRefusedError("the box's warden made no socket")
        return connect_any(made.descriptors, port)

    def listening_ports(self) -> tuple[int, ...]:
        """The TCP ports that somebody in the box listens on, on an address that :meth:`connect` reaches."""
        with self._lock:
            return () if self._closed else listening_ports(self._ends.proc)

    def stderr_tail(self) -> str:
        """The last 64 KiB of what the server wrote to stderr (with ``stdout_is_log``: and stdout), up to now."""
        with self._lock:
            if not self._closed:
                self._stderr.drain()
        return self._stderr.text()

    def canary_reads(self) -> list[CanaryRead]:
        """The canaries that were opened since the last call of this method, up to this one."""
        return self._canaries.reads()

    def processes(self) -> list[ProcessFact]:
        """Everything alive in the box but its init, the server's own process included."""
        with self._lock:
            ended = self._closed or is_readable(self._ends.init)
            members = [] if ended else self._family.members()
        facts = [describe(process) for process in members]
        return [fact for fact in facts if fact is not None]

    def quiet(self) -> bool:
        """Whether nothing in the box runs or wants to run at this moment."""
        with self._lock:
            return self._closed or is_readable(self._ends.init) or is_quiet(self._ends.proc)

    def limits_hit(self) -> list[tuple[str, str]]:
        """The limits that the server has run into since the start: name and sentence each."""
        with self._lock:
            if not self._closed:
                self._usage.check_disk()
                self._usage.check_processes()
                self._usage.note_exit(self.exit_status)
            return list(self._usage.hits.items())

    def file_limit_hit(self, path: str) -> str:
        """A sentence where the file at an absolute path of the box is as large as a file may be, else "".

        Who ignores SIGXFSZ, as CPython does, is refused the rest of a write and lives (setrlimit(2)).
        """
        found = self.look(path)
        return "" if found is None else self._usage.file_at_limit(path, found.st_size)

    def look(self, path: str) -> os.stat_result | None:
        """The attributes of an absolute path as the box shows it now, ids as the host numbers them.

        None where nothing is, and where a symlink leads there: no link that the server made is followed.
        """
        with self._lock:
            if self._closed:
                return None
            try:
                opened = open_beneath(
                    self._ends.root, path.strip("/") or ".", os.O_PATH | os.O_NOFOLLOW, cross_devices=True
                )
            except OSError:
                return None
        try:
            return os.fstat(opened)
        finally:
            os.close(opened)

    def kill_server(self) -> None:
        """Kill the server's own process and wait for its end; idempotent."""
        with self._lock:
            if not self._closed:
                kill(self._ends.server)

    def kill_all(self) -> None:
        """Kill everything in the box and wait for its end; what its instruments hold can be read until it is closed."""
        with self._lock:
            if not self._closed:
                self._ends.kill()

    def close(self) -> None:
        """Kill everything in the box, wait for the end and release all descriptors; idempotent."""
        self._attendant.leave(self)
        self._forget(self)
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._canaries.close()
            self._stderr.drain()
            self._ends.close(self._attendant.dispose)

    # --- for the attendant -------------------------------------------------------------------------

    def fileno(self) -> int:
        """The stderr pipe."""
        return self._ends.stderr

    def drain(self) -> bool:
        """Read from stderr; False when nothing will come any more."""
        return self._stderr.drain()

    def check_limits(self) -> None:
        """Look at the limits; a box that endangers the machine is killed, and its handle stays."""
        if not self._lock.acquire(blocking=False):  # whoever holds it is about to look or to close
            return
        try:
            if not self._closed and not is_readable(self._ends.init) and self._usage.check():
                self._ends.kill()
        finally:
            self._lock.release()
