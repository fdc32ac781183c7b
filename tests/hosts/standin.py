"""An engine as the client knows it, without a container around it; and jobs for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from sandbox.config import Settings
from sandbox.hosts.job import Job, Task

ROOT = Path(__file__).parents[2]
USER_ADMIN = ROOT / "scenarios" / "user-admin"
ROGUE = ROOT / "tests" / "cli" / "rogue_server.py"
PATIENCE_S = 300


class StandIn:
    """``python -m sandbox.hosts.inside`` in a process group of its own, as out of the client's reach as a container."""

    def __init__(self, scratch: Path, module: str = "sandbox.hosts.inside", **env: str) -> None:
        self.scratch = scratch
        self._errors = os.memfd_create("stderr")
        self.process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(scratch), **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def lines(self) -> Iterator[bytes]:
        assert self.process.stdout is not None
        yield from self.process.stdout

    def hang_up(self) -> None:
        """What a client that dies does."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def stderr_tail(self) -> str:
        return os.pread(self._errors, 1 << 20, 0).decode()

    def wait(self) -> int:
        return self.process.wait(PATIENCE_S)

    def __enter__(self) -> StandIn:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):  # what was not sent yet
                stream.close()
        os.close(self._errors)


def job(*command: str, task: Task = Task.VERIFY, env: dict[str, str] | None = None, **more: Any) -> Job:
    """A job for a Python server."""
    return Job(task, (sys.executable, *command), str(ROOT), Settings(env=env or {}), run="run-1", **more)


LYING = str(USER_ADMIN / "lying/server.py")
HONEST = str(USER_ADMIN / "honest/server.py")
