"""Several targets in one command: ``hintproof verify`` as a batch that can be stopped and resumed at any moment."""

from __future__ import annotations

import dataclasses
import os
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from sandbox.cli.options import DEFAULT_RUNS, command_words
from sandbox.cli.setup import invocation, launch_flags, refuse_missing, run_record, runs_folder, values_of
from sandbox.cli.targets import Named, named_targets
from sandbox.errors import ExitCode, UsageError
from sandbox.evidence.batches import BatchFolder, BatchRecord, new_batch, open_batch
from sandbox.evidence.runs import new_run_id
from sandbox.hosts.job import Job
from sandbox.hosts.job import Task as JobTask
from sandbox.policy import BatchFacts
from sandbox.report.batch import batch_json, render_batch
from sandbox.report.batchprogress import BatchListener, Board, batch_progress
from sandbox.report.console import make_console
from sandbox.suites.batch import MOST_JOBS, Task
from sandbox.suites.batchrun import check_same, complete, key_of, report_of, take_up


@dataclasses.dataclass(frozen=True, slots=True)
class Shown:
    """What is printed."""

    as_json: bool
    quiet: bool
    verbose: bool


def jobs_of(word: str | None) -> int:
    """The number of servers at once. Raises UsageError for what is none."""
    try:
        number = int(word or "1")
    except ValueError:
        number = 0
    if not 1 <= number <= MOST_JOBS:
        raise UsageError(f"--jobs {word}: is not a number from 1 to {MOST_JOBS}.")
    return number


def verify_several(
    named: Sequence[Named], words: tuple[str, ...], options: Mapping[str, Any], jobs: int, shown: Shown
) -> int:
    """Verify all targets as a new batch; returns the exit code."""
    cwd = Path.cwd()
    todo = [each.job(JobTask.VERIFY, cwd) for each in named]
    record = BatchRecord(
        batch=new_run_id(),
        cwd=str(cwd),
        words=words,
        command=command_words(),
        options={**launch_flags(options), "targets": list(options.get("targets") or ())},
        names=tuple(each.name for each in named),
        keys=tuple(map(key_of, todo)),
        started_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        invocation=_masked_invocation(todo, options),
    )
    with new_batch(runs_folder(options), record) as folder:
        return _verify(folder, _tasks(folder, named, todo), jobs, shown, options)


def resume(batch: str, options: Mapping[str, Any], jobs: int, shown: Shown) -> int:
    """Go on with an earlier batch; returns the exit code.

    Raises UsageError where its targets are no longer what they were, or a value of ``-e`` has to be given again.
    """
    with open_batch(runs_folder(options), batch) as folder:
        record = folder.record
        again = {word.split("=", 1)[0]: word for word in options.get("env") or ()}
        missing = [
            name for name in record.options.get("env", ()) if name not in again and name not in os.environ
        ]
        if missing:
            raise UsageError(
                f"The batch was given {', '.join(missing)}; give it again with -e {missing[0]}=VALUE."
            )
        env = tuple(again.get(name, name) for name in record.options.get("env", ()))
        files = tuple(record.options.get("targets", ()))
        saved = {
            key: tuple(value) if isinstance(value, list) else value for key, value in record.options.items()
        }
        refuse_missing(record.options.get("values", ()), options.get("values") or ())
        given = {**saved, "env": env, "values": options.get("values") or (), "runs": options.get("runs")}
        cwd = Path(record.cwd)
        named = named_targets(record.words, files, given, cwd, record.command)
        todo = [
            dataclasses.replace(each.job(JobTask.VERIFY, cwd), invocation=record.invocation) for each in named
        ]
        check_same(record, todo)
        tasks = _tasks(folder, named, todo)
        return _verify(folder, tasks, jobs, shown, options)


def _tasks(folder: BatchFolder, named: Sequence[Named], jobs: Sequence[Job]) -> list[Task]:
    runs = folder.runs.resolve()
    return [
        Task(index, each.name, job, runs, run_record(job, each.options, folder.run_id(index)))
        for index, (each, job) in enumerate(zip(named, jobs, strict=True))
    ]


def _verify(
    folder: BatchFolder, tasks: Sequence[Task], jobs: int, shown: Shown, options: Mapping[str, Any]
) -> int:
    started = time.monotonic()
    total = len(folder.record.names)
    left = take_up(folder, tasks)
    before = tuple(folder.results())
    try:
        with heard(Board(total, before, jobs), quiet=shown.quiet) as listener:
            complete(folder, left, jobs, listener, phase=phase_of)
    except BaseException:  # an interrupt too
        done = len(folder.results())
        runs = runs_folder(options)
        where = "" if runs == DEFAULT_RUNS else f" --runs {shlex.quote(str(runs))}"
        click.echo(
            f"{done} of {total} servers are done and kept. To go on: "
            f"hintproof verify --resume {folder.record.batch}{where}",
            err=True,
        )
        raise
    facts = BatchFacts(
        batch=folder.record.batch,
        invocation=folder.record.invocation,
        started_at=folder.record.started_at,
        targets=total,
        jobs=jobs,
        seconds=time.monotonic() - started,
        results=tuple(folder.results()),
    )
    if shown.as_json:
        for piece in batch_json(facts, lambda result: report_of(folder, result)):
            sys.stdout.write(piece)
    else:
        render_batch(facts, make_console(sys.stdout), verbose=shown.verbose)
    return int(facts.exit_code) if facts.complete else ExitCode.OUR_FAULT


def phase_of(task: Task) -> str:
    """What is done first with a server, as progress calls it."""
    if task.job.package is not None:
        return "installing"
    return "starting" if task.job.image is None else "unpacking"


@contextmanager
def heard(board: Board, *, quiet: bool = False) -> Iterator[BatchListener]:
    """The listener that shows on standard error how several servers go, or one that shows nothing."""
    if quiet:
        yield _Silent()
        return
    with batch_progress(make_console(sys.stderr), board) as listener:
        yield listener


class _Silent:
    """Progress was not asked for."""

    def began(self, index: int, name: str, phase: str) -> None:
        pass

    def heard(self, index: int, event: object) -> None:
        pass

    def ended(self, result: object) -> None:
        pass

    def passed(self) -> None:
        pass


def _masked_invocation(jobs: Sequence[Job], options: Mapping[str, Any]) -> tuple[str, ...]:
    variables = {name: value for job in jobs for name, value in job.variables.items()}
    return invocation(variables, values_of(options))
