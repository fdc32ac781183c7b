"""The engine inside the container: ``python -m sandbox.hosts.inside``.

It reads one job from its standard input and performs it as the local host does. Whatever else this process or a
library of it prints goes to standard error: standard output carries the stream alone.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
import tempfile
import threading
import traceback
from pathlib import Path
from typing import NoReturn

from sandbox.errors import ExitCode, HintproofError
from sandbox.evidence.runs import RunFolder
from sandbox.hosts import local
from sandbox.hosts.job import Job, Task
from sandbox.hosts.stream import OtherVersionError, Teller, read_job
from sandbox.linux.powers import settle
from sandbox.report.escaping import Masker

_JOB_CAP = 64 << 20
_READ = 1 << 16


def main() -> int:
    """Perform one job. 0 when its answer or its error was told, 70 when even that was not possible."""
    settle()
    requests, answers = _take_over(0, os.O_RDONLY), _take_over(1, None)
    teller = Teller(lambda line: _write(answers, line))
    with tempfile.TemporaryDirectory(prefix="hintproof-", ignore_cleanup_errors=True) as scratch:
        try:
            job = _at_home(read_job(_first_line(requests)))
            threading.Thread(target=_watch, args=(requests, scratch), daemon=True).start()
            _perform(job, Path(scratch), teller)
        except BrokenPipeError:
            _leave(scratch)
        except OtherVersionError:
            teller.version()
        except HintproofError as error:
            teller.error(error)
        except Exception:  # noqa: BLE001 - whatever it is, the client has to tell it
            teller.fault(traceback.format_exc())
    return ExitCode.OK


def _at_home(job: Job) -> Job:
    """The job with this place's own programs after those that the client shows."""
    if job.environ is None:
        return job
    own = os.environ.get("PATH") or os.defpath
    path = os.pathsep.join(filter(None, [job.environ.get("PATH", ""), own]))
    return dataclasses.replace(job, environ={**job.environ, "PATH": path})


def _perform(job: Job, scratch: Path, teller: Teller) -> None:
    if job.task in (Task.LIST, Task.REPLAY):
        teller.answer(local.perform(job, None, teller.event))
        return
    root = scratch / job.run
    with RunFolder(scratch, job.run, Masker(job.secrets), lambda path: teller.file(root, path)) as folder:
        teller.answer(local.perform(job, folder, teller.event))


def _take_over(descriptor: int, mode: int | None) -> int:
    """Our own copy of a standard stream, which no child inherits; what it was is nothing now, or stderr."""
    ours = os.dup(descriptor)
    if mode is None:
        os.dup2(2, descriptor)
    else:
        nothing = os.open(os.devnull, mode)
        os.dup2(nothing, descriptor)
        os.close(nothing)
    return ours


def _first_line(descriptor: int) -> bytes:
    """All up to the first line feed. Raises ValueError where there is none."""
    line = bytearray()
    while not line.endswith(b"\n"):
        part = os.read(descriptor, _READ)
        if not part or len(line) > _JOB_CAP:
            raise ValueError("the input holds no job")
        line += part
    return bytes(line)


def _watch(descriptor: int, scratch: str) -> None:
    """Wait for the end of the input: whoever held its other end is gone, so this run is of no use to anybody."""
    while os.read(descriptor, _READ):
        pass
    _leave(scratch)


def _leave(scratch: str) -> NoReturn:
    """End at once. The daemon, the gateway, readers and boxes end by themselves: each notices that we are gone."""
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(ExitCode.INTERRUPTED)


def _write(descriptor: int, line: bytes) -> None:
    view = memoryview(line)
    while view:
        view = view[os.write(descriptor, view) :]


if __name__ == "__main__":
    sys.exit(main())
