"""The engine's handle of the launcher daemon (:mod:`sandbox.linux.daemon`)."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import sandbox
from sandbox.boxes.answers import Answers
from sandbox.boxes.ends import Ends, new_socket_pair, open_pipes
from sandbox.errors import BoxLostError
from sandbox.linux.eventlog import EventLog
from sandbox.linux.namespaces import RungName
from sandbox.linux.order import Order, StepError
from sandbox.linux.seeds import pack
from sandbox.model import SeedEntry

_END_S = 5.0
_REASON_LIMIT = 4096

# Isolated and without site: nothing of the user's Python may run in the daemon, and it starts in a third of
# the time. The package is found where this one was.
_START = (
    "import sys; sys.path.insert(0, sys.argv[1]); from sandbox.linux.daemon import main;"
    " sys.exit(main(int(sys.argv[2]), sys.argv[3]))"
)


class Daemon:
    """A daemon on one rung of the ladder. Any thread may use it."""

    def __init__(self, rung: RungName) -> None:
        """Start it. Raises StepError when the rung does not carry even the daemon, BoxLostError when it dies."""
        self.rung = rung
        self._lock = threading.Lock()
        self._seeds: dict[tuple[SeedEntry, ...], str] = {}
        self._errors = os.memfd_create("daemon-errors")
        self._control, theirs = new_socket_pair()
        package = str(Path(sandbox.__file__).parents[1])
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _START, package, str(theirs.fileno()), rung],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                cwd="/",
                env={},
                start_new_session=True,
            )
        try:
            Answers(self._control, self.last_words).expect("ready")
        except (StepError, BoxLostError):
            self.close()
            raise

    @property
    def pid(self) -> int:
        """The daemon's process id."""
        return self._process.pid

    def register(self, entries: Sequence[SeedEntry]) -> str:
        """Hand a set of seeds over, unless it was before; returns the set's name. Raises BoxLostError."""
        if not entries:
            return ""
        registered = tuple(entries)
        with self._lock:
            name = self._seeds.get(registered)
            if name is None:
                name, packed = pack(registered)
                with _memfd("seeds", packed) as written:
                    self._request({"do": "seeds", "name": name}, [written])
                self._seeds[registered] = name
        return name

    def launch(self, order: Order, gateway: int | None = None, *, stdout_is_log: bool = False) -> Ends:
        """Have a box built and wait until all of it but the server runs. ``gateway`` stays the caller's.

        With ``stdout_is_log`` the server's stdout is its stderr, and the engine's end of the other pipe has
        ended.

        Raises StepError when a step of building fails, BoxLostError when one of our processes dies.
        """
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as servers:
            mine, theirs = new_socket_pair()
            answers = Answers(mine, self.last_words)
            ours.callback(answers.close)
            servers.callback(theirs.close)
            server_ends, engine_ends = open_pipes()
            stdin, stdout, stderr = server_ends
            log = os.memfd_create("events")
            for descriptor in server_ends:
                servers.callback(os.close, descriptor)
            for descriptor in (*engine_ends, log):
                ours.callback(os.close, descriptor)
            with _memfd("order", order.encode()) as written, self._lock:
                output = stderr if stdout_is_log else stdout
                passed = [written, theirs.fileno(), stdin, output, stderr, log]
                self._request({"do": "launch"}, passed if gateway is None else [*passed, gateway])
            # The box's ends have to be the only ones, or nobody would notice when it hangs up.
            servers.close()
            watched = answers.expect("watched")
            for descriptor in watched.descriptors:
                ours.callback(os.close, descriptor)
            built = answers.expect("built")
            ours.pop_all()
        init, tap = watched.descriptors
        root, proc, shared_memory, *layers = built.descriptors
        count = int(str(built.value))
        return Ends(
            answers,
            int(str(watched.value)),
            init,
            *engine_ends,
            EventLog(log),
            tap,
            root,
            proc,
            shared_memory,
            tuple(layers[:count]),
            tuple(layers[count:]),
        )

    def last_words(self) -> str:
        """The end of what our processes wrote to their stderr: nothing, unless something unforeseen happened."""
        size = os.fstat(self._errors).st_size
        return (
            os.pread(self._errors, _REASON_LIMIT, max(0, size - _REASON_LIMIT))
            .decode("utf-8", "replace")
            .strip()
        )

    def close(self) -> None:
        """End it, and every box with it; idempotent."""
        if self._errors < 0:
            return
        self._control.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._errors)
        self._errors = -1

    def _request(self, request: dict[str, str], descriptors: Sequence[int]) -> None:
        try:
            socket.send_fds(self._control, [json.dumps(request).encode()], descriptors)
        except OSError as error:
            raise BoxLostError(f"the launcher daemon is gone: {self.last_words() or error}") from error


@contextlib.contextmanager
def _memfd(name: str, content: bytes) -> Iterator[int]:
    descriptor = os.memfd_create(name)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(descriptor, view) :]
        yield descriptor
    finally:
        os.close(descriptor)
