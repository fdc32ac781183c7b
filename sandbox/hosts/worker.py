"""One job in a process of its own: ``python -m sandbox.hosts.worker``.

What takes the engine down, a server or a fault of ours, takes down this process alone. It reads one order from its
standard input, whose end is its end, does the job on the host that the job asks for, and tells what came of it on its
standard output, as the engine in a container does. Evidence and report go straight into the run folder.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from sandbox.errors import ExitCode
from sandbox.events import Event, Listener, Progress, RunStarted, ServerListed, ToolStarted
from sandbox.evidence.codec import decode, encode
from sandbox.evidence.runs import RunFolder, RunRecord
from sandbox.hosts.choose import perform
from sandbox.hosts.job import Answer, Job
from sandbox.hosts.pipes import first_line, take_over, until_it_ends, write
from sandbox.hosts.stream import Teller
from sandbox.model import Report
from sandbox.report.escaping import Masker

_SACRIFICE = "500"
"""oom_score_adj(5): where the machine runs out of memory, a job is ended and not the one who waits for all."""


def order_line(job: Job, runs: Path | None, record: RunRecord | None, held: int | None) -> bytes:
    """The order for a worker. ``runs`` and ``record`` are of the run folder that it makes, None for a task that keeps
    nothing; ``held`` is what :func:`sandbox.linux.powers.held_before` says. The values of ``-e`` are in it."""
    order = {
        "job": encode(job),
        "runs": str(runs) if runs is not None else None,
        "record": encode(record) if record is not None else None,
        "held": held,
    }
    return json.dumps(order, separators=(",", ":")).encode() + b"\n"


def main() -> int:
    """Perform one job. 0 when its answer or its error was told, 70 when even that was not possible."""
    orders, answers = take_over()
    teller = Teller(partial(write, answers))
    with teller.telling(_leave):
        order = json.loads(first_line(orders))
        _prepare(order["held"])
        threading.Thread(target=until_it_ends, args=(orders, _leave), daemon=True).start()
        job = decode(Job, order["job"])
        with _folder(order, job) as folder:
            answer = perform(job, folder, _brief(teller.event))
        teller.answer(_slim(answer))
    return ExitCode.OK


def _prepare(held: int | None) -> None:
    """What has to be done before there is a second thread."""
    if sys.platform == "linux":
        from sandbox.linux.powers import inherit

        inherit(held)
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text(_SACRIFICE, encoding="ascii")


@contextlib.contextmanager
def _folder(order: Mapping[str, Any], job: Job) -> Iterator[RunFolder | None]:
    """The run folder with its record; where the run comes to nothing, nothing is left of it."""
    if order["runs"] is None:
        yield None
        return
    record = decode(RunRecord, order["record"])
    with RunFolder(Path(order["runs"]), record.run, Masker(job.secrets), kept=None) as folder:
        try:
            folder.save_record(record)
            yield folder
        except BaseException:
            if not folder.saved_tools:
                folder.discard()
            raise


def _brief(listener: Listener) -> Listener:
    """Passes on what a table of many servers has room for."""

    def tell(event: Event, /) -> None:
        if isinstance(event, ServerListed):
            event = dataclasses.replace(event, tools=())
        if isinstance(event, RunStarted | ServerListed | ToolStarted | Progress):
            listener(event)

    return tell


def _slim(answer: Answer) -> Answer:
    """The answer without what the run folder holds: of a report, its tools."""
    return dataclasses.replace(answer, tools=()) if isinstance(answer, Report) else answer


def _leave() -> NoReturn:
    """End at once. The daemon, the gateway, readers and boxes end by themselves: each notices that we are gone."""
    os._exit(ExitCode.INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
