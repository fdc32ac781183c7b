"""A job in a process of its own, from the side of the one who waits for it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from sandbox.errors import CancelledError, EngineFaultError, StreamError
from sandbox.events import Listener
from sandbox.evidence.runs import RunRecord
from sandbox.hosts.job import Answer, Job
from sandbox.hosts.stream import hear
from sandbox.hosts.worker import order_line

_SILENCE_S = 45 * 60.0
"""Without a word for so long, a worker hangs: each step of a job has a bound of its own, and the longest (an installation) a
third of this."""

_ENGINE = "the engine in a process of its own"

_LOOK_S = 0.5
_END_S = 5.0
_READ = 1 << 16
_LINE_CAP = 256 << 20
_WORDS = 4000


class Worker:
    """One job that is done in another process, which dies with this one. Close it, or use it as a context manager.

    ``runs`` and ``record`` are where its run is kept and what is written of it; None for a task that keeps nothing.
    """

    def __init__(self, job: Job, runs: Path | None = None, record: RunRecord | None = None) -> None:
        self._job = job
        self._cancelled = threading.Event()
        self._over = threading.Event()
        self._heard = time.monotonic()
        self._is_silent = False
        self._closing = threading.Lock()
        # A session of its own: an interrupt of the terminal is for the one who waits, and the kernel shares the
        # processors between sessions (sched(7), autogroups), whatever number of threads each has.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-m", "sandbox.hosts.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        self._order = order_line(job, runs, record, _held_before())
        self._words = b""
        self._reader = threading.Thread(target=self._keep_words, daemon=True)
        self._reader.start()

    def run(self, listener: Listener) -> Answer:
        """Wait for what comes of the job; events go to ``listener`` in this thread. To be called once.

        Raises:
            CancelledError: it was cancelled meanwhile.
            EngineFaultError: the process ended or fell silent before its time, or met what nobody foresaw.
            HintproofError: the job's own error, of the same class as there.
        """
        watch = threading.Thread(target=self._watch, daemon=True)
        watch.start()
        try:
            answer = None
            if self._send():
                answer = hear(self._lines(), self._job, None, listener, engine=_ENGINE)
        except StreamError as error:
            raise EngineFaultError(f"{_ENGINE} told what it never tells.") from error
        finally:
            self._over.set()
            watch.join()
        if self._cancelled.is_set():
            raise CancelledError("the run was ended before its time.")
        if answer is None and self._is_silent:
            raise EngineFaultError(f"{_ENGINE} said nothing for {_SILENCE_S:.0f} seconds.")
        if answer is None:
            raise EngineFaultError(self._last_words())
        return answer

    def cancel(self) -> None:
        """Have the job end now, from any thread; :meth:`run` returns with CancelledError."""
        self._cancelled.set()
        self._end_input()

    def close(self) -> None:
        """End the process, which takes with it all that it started; idempotent."""
        self._end_input()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(_END_S)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None and not (stream is self._process.stderr and self._reader.is_alive()):
                stream.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self) -> bool:
        """Send the order; returns whether it was taken."""
        assert self._process.stdin is not None
        order = memoryview(self._order)
        self._order = b""
        try:
            while order:
                order = order[self._process.stdin.write(order) or 0 :]
        except (BrokenPipeError, ValueError):  # it died, or was cancelled meanwhile
            return False
        return True

    def _end_input(self) -> None:
        with self._closing:
            if self._process.stdin is not None and not self._process.stdin.closed:
                self._process.stdin.close()

    def _lines(self) -> Iterator[bytes]:
        """Lines of its standard output until it ends. Raises EngineFaultError where there is one without an end."""
        assert self._process.stdout is not None
        line = bytearray()
        while part := os.read(self._process.stdout.fileno(), _READ):
            self._heard = time.monotonic()
            line += part
            if len(line) > _LINE_CAP:
                raise EngineFaultError(f"{_ENGINE} told more than can be told at once.")
            if b"\n" in part:
                *whole, rest = bytes(line).split(b"\n")
                line = bytearray(rest)
                yield from whole

    def _watch(self) -> None:
        """End the process where it falls silent, and where it does not leave when it is told to."""
        while not self._over.wait(_LOOK_S):
            self._is_silent = time.monotonic() - self._heard > _SILENCE_S
            if self._is_silent or (self._cancelled.is_set() and not self._leaves()):
                self._process.kill()

    def _leaves(self) -> bool:
        """Whether it ends within the time that it has for that."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_S)
        return self._process.poll() is not None

    def _keep_words(self) -> None:
        """Keep the end of its standard error."""
        assert self._process.stderr is not None
        while part := self._process.stderr.read(_READ):
            self._words = (self._words + part)[-_WORDS:]

    def _last_words(self) -> str:
        self.close()
        code = self._process.returncode
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        words = self._words.decode("utf-8", "replace").strip()
        return "\n".join(filter(None, [f"{_ENGINE} {how} before it had an answer.", words]))


def _held_before() -> int | None:
    if sys.platform != "linux":
        return None
    from sandbox.linux.powers import held_before

    return held_before()
