"""The engine's end of the reader worker: one per run, started when first needed, replaced when it dies."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sandbox.effects.readers.reading import Reading, from_wire
from sandbox.effects.readers.wire import WireError, receive, send

JOB_S = 10.0
"""Wall seconds that one comparison may take before the worker is killed."""

_WANTS = 20_000
_LARGEST_JOB = 64 << 20


class Readers:
    """Compares contents by meaning in a process of its own. Never raises for what the content does to it.

    Safe to use from several threads: jobs queue up for the one worker.
    """

    def __init__(self, *, job_s: float = JOB_S) -> None:
        self._job_s = job_s
        self._lock = threading.Lock()
        # The kernel ends the worker with the thread that started it (prctl(2), PR_SET_PDEATHSIG), and the engine's
        # threads come and go: one that stays starts it.
        self._starter = ThreadPoolExecutor(1, thread_name_prefix="reader")
        self._process: subprocess.Popen[bytes] | None = None
        self._link: socket.socket | None = None

    def file(self, name: str, before: bytes, after: bytes) -> Reading:
        """Compare two contents of a file called ``name``."""
        return self._ask({"job": "file", "name": name}, [before, after], _nothing)

    def new(self, name: str, content: bytes, wal: bytes) -> Reading:
        """Read a new file called ``name``; ``wal`` is its write-ahead log where it is a database that has one."""
        return self._ask({"job": "new", "name": name}, [content, wal], _nothing)

    def sqlite(self, before: tuple[bytes, bytes], after: tuple[bytes, bytes]) -> Reading:
        """Compare two pairs of (database, write-ahead log)."""
        return self._ask({"job": "sqlite"}, [*before, *after], _nothing)

    def git(
        self,
        before: Mapping[str, bytes],
        after: Mapping[str, bytes],
        fetch: Callable[[str], bytes | None],
        packs: Sequence[str],
        ids: Sequence[str],
    ) -> Reading:
        """Compare two states of a git folder (see ``readers.git.read_git``); ``fetch`` is called here for its objects."""
        job = {"job": "git", "before": [*before], "after": [*after], "packs": [*packs], "ids": [*ids]}
        return self._ask(job, [*before.values(), *after.values()], fetch)

    def close(self) -> None:
        """End the worker."""
        with self._lock:
            self._stop()
        self._starter.shutdown()

    def __enter__(self) -> Readers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, job: dict[str, Any], blobs: list[bytes], fetch: Callable[[str], bytes | None]) -> Reading:
        if sum(map(len, blobs)) > _LARGEST_JOB:
            return Reading("bytes", trouble="too large to read")
        with self._lock:
            try:
                return self._converse(job, blobs, fetch)
            except TimeoutError:
                trouble = f"its reader took longer than {self._job_s:g} s"
            except (WireError, OSError, KeyError, TypeError, ValueError):
                trouble = "its reader crashed"
            self._stop()
        return Reading("bytes", trouble=trouble)

    def _converse(
        self, job: dict[str, Any], blobs: list[bytes], fetch: Callable[[str], bytes | None]
    ) -> Reading:
        link = self._link or self._starter.submit(self._start).result()
        deadline = time.monotonic() + self._job_s
        link.settimeout(self._job_s)
        send(link, job, blobs)
        for _ in range(_WANTS):
            link.settimeout(max(0.001, deadline - time.monotonic()))
            answer, _blobs = receive(link)
            if "reading" in answer:
                return from_wire(answer["reading"])
            content = fetch(str(answer["want"]))
            send(link, {"have": content is not None}, [content] if content is not None else [])
        raise WireError("the reader asks without end")

    def _start(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-m", "sandbox.effects.reader_worker", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env={},
            )
        self._link = ours
        return ours

    def _stop(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            self._process.wait()
            self._process = None


def _nothing(_: str) -> bytes | None:
    return None
