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
from functools import partial
from pathlib import Path
from typing import NoReturn

from sandbox.errors import ExitCode
from sandbox.evidence.runs import RunFolder
from sandbox.hosts import local
from sandbox.hosts.job import Job, Task
from sandbox.hosts.pipes import first_line, take_over, until_it_ends, write
from sandbox.hosts.stream import Teller, read_job
from sandbox.linux.powers import settle
from sandbox.report.escaping import Masker


def main() -> int:
    """Perform one job. 0 when its answer or its error was told, 70 when even that was not possible."""
    settle()  # before there is a second thread
    orders, answers = take_over()
    teller = Teller(partial(write, answers))
    with tempfile.TemporaryDirectory(prefix="hintproof-", ignore_cleanup_errors=True) as scratch:
        leave = partial(_leave, scratch)
        with teller.telling(leave):
            job = at_home(read_job(first_line(orders)))
            threading.Thread(target=until_it_ends, args=(orders, leave), daemon=True).start()
            _perform(job, Path(scratch), teller)
    return ExitCode.OK


def at_home(job: Job) -> Job:
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
    with RunFolder(scratch, job.run, Masker(job.secrets), partial(teller.file, root)) as folder:
        teller.answer(local.perform(job, folder, teller.event))


def _leave(scratch: str) -> NoReturn:
    """End at once. The daemon, the gateway, readers and boxes end by themselves: each notices that we are gone."""
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(ExitCode.INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
