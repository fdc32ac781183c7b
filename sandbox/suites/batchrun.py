"""A batch from its tasks to its results: what is done already is kept, the rest is done, each result is saved at once."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from sandbox.errors import EngineFaultError, EvidenceError, ExitCode, HintproofError, UsageError
from sandbox.evidence.batches import BatchFolder, BatchRecord
from sandbox.evidence.codec import encode
from sandbox.evidence.locks import lock
from sandbox.evidence.runs import load_report
from sandbox.hosts.job import Answer, Job
from sandbox.model import Listing
from sandbox.policy import ServerClass, TargetResult, code_of, contradictions, of_error, of_report
from sandbox.report.batchprogress import BatchListener
from sandbox.report.escaping import Masker
from sandbox.suites.batch import Begun, Ended, Heard, Task, run_batch

_PATIENCE_S = 20.0
"""How long the processes of a command that was killed may take to notice it."""

_ERROR_KEPT = 8000


def key_of(job: Job) -> str:
    """A digest of what is done with a server: equal for equal targets and settings, whatever the values of ``-e``."""
    settings = dataclasses.replace(job.settings, env=dict.fromkeys(job.settings.env, ""))
    image = job.image
    if image is not None:
        image = dataclasses.replace(image, env=dict.fromkeys(image.env, ""))
    plain = dataclasses.replace(
        job, settings=settings, image=image, invocation=(), run="", environ=None, hidden=()
    )
    text = json.dumps(encode(plain), sort_keys=True)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def check_same(record: BatchRecord, jobs: Sequence[Job]) -> None:
    """Whether the jobs are those of the batch.

    Raises UsageError where the targets or the settings are no longer what they were when it was begun.
    """
    again = "Begin a new batch, or put back what was changed."
    if len(jobs) != len(record.keys):
        raise UsageError(
            f"Batch {record.batch} has {len(record.keys)} servers, and its targets name {len(jobs)} now. {again}"
        )
    for job, name, key in zip(jobs, record.names, record.keys, strict=True):
        if key_of(job) != key:
            raise UsageError(
                f"Batch {record.batch}: {name} is not what it was when the batch was begun (its target, an option or a"
                f" settings file was changed). {again}"
            )


def take_up(folder: BatchFolder, tasks: Sequence[Task]) -> list[Task]:
    """The tasks of a batch that are still to be done, with nothing left of attempts that did not come to their end.

    A run that came to its end while its result was not saved, or not whole, counts: its report says what came of it.

    Raises UsageError where processes of an earlier attempt do not end.
    """
    left = []
    for task in tasks:
        if folder.load(task.index) is not None:
            continue
        run = folder.runs / folder.run_id(task.index)
        _await_its_end(run)
        try:
            report = load_report(run)
            folder.save(_with_report(task, report, report["duration_ms"] / 1000))
        except (EvidenceError, KeyError, TypeError):
            shutil.rmtree(run, ignore_errors=True)
            left.append(task)
    return left


def complete(
    folder: BatchFolder,
    tasks: Sequence[Task],
    jobs: int,
    listener: BatchListener,
    *,
    phase: Callable[[Task], str] = lambda _: "starting",
) -> None:
    """Do the tasks and save the result of each as soon as it is there. ``phase`` is what is done first with one.

    Raises:
        DiskFullError: results can no longer be kept; those that were are.
    """
    for happening in run_batch(tasks, jobs):
        match happening:
            case Begun(task):
                listener.began(task.index, task.name, phase(task))
            case Heard(task, event):
                listener.heard(task.index, event)
            case Ended(task):
                result = _result(folder, happening)
                folder.save(result)
                listener.ended(result)
            case None:
                listener.passed()


def list_all(
    tasks: Sequence[Task], jobs: int, listener: BatchListener, *, phase: Callable[[Task], str]
) -> list[tuple[TargetResult, Listing | None]]:
    """What each server declares, in the order of the tasks; None, with the class and why, where it does not list."""
    found: dict[int, tuple[TargetResult, Listing | None]] = {}
    for happening in run_batch(tasks, jobs):
        match happening:
            case Begun(task):
                listener.began(task.index, task.name, phase(task))
            case Heard(task, event):
                listener.heard(task.index, event)
            case Ended(task, answer, seconds):
                listing = answer if isinstance(answer, Listing) else None
                result = (
                    result_of_error(task.index, task.name, answer, seconds, task.job.secrets)
                    if isinstance(answer, HintproofError)
                    else _listed(task, answer, seconds)
                )
                found[task.index] = (result, listing)
                listener.ended(result)
            case None:
                listener.passed()
    return [found[task.index] for task in tasks]


def report_of(folder: BatchFolder, result: TargetResult) -> dict[str, Any] | None:
    """The JSON report of a result's run; None where it has none."""
    if not result.run:
        return None
    try:
        return load_report(folder.runs / result.run)
    except EvidenceError:
        return None


def result_of_error(
    index: int, name: str, error: HintproofError, seconds: float = 0.0, secrets: Sequence[str] = ()
) -> TargetResult:
    """The result of a server that was not run to its end."""
    mask = Masker(secrets)
    server_class, why = of_error(error)
    return TargetResult(
        index,
        mask(name),
        server_class,
        int(code_of(error)),
        why=mask(why),
        error=mask(str(error))[-_ERROR_KEPT:],
        seconds=seconds,
    )


def _result(folder: BatchFolder, ended: Ended) -> TargetResult:
    task, error = ended.task, ended.answer
    if not isinstance(error, HintproofError):
        try:
            return _with_report(task, load_report(folder.runs / folder.run_id(task.index)), ended.seconds)
        except EvidenceError as damage:
            error = EngineFaultError(f"the run left no report: {damage}")
    return result_of_error(task.index, task.name, error, ended.seconds, task.job.secrets)


def _listed(task: Task, answer: Answer, seconds: float) -> TargetResult:
    assert isinstance(answer, Listing)
    mask = Masker(task.job.secrets)
    facts, count = answer.facts, len(answer.tools)
    return TargetResult(
        task.index,
        mask(task.name),
        ServerClass.LISTED,
        int(ExitCode.OK),
        server=mask(f"{facts.name} {facts.version}".strip()),
        listed=count,
        seconds=seconds,
    )


def _with_report(task: Task, report: Mapping[str, Any], seconds: float) -> TargetResult:
    server_class, why = of_report(report)
    server = report["server"] or {"name": "", "version": ""}
    mask = Masker(task.job.secrets)
    return TargetResult(
        task.index,
        mask(task.name),
        server_class,
        int(report["exit_code"]),
        why=why,
        run=str(report["run"]),
        server=f"{server['name']} {server['version']}".strip(),
        listed=int(report["summary"]["listed"]),
        accepted=int(report["summary"]["accepted"]),
        contradicted=len(contradictions(report)),
        seconds=seconds,
    )


def _await_its_end(run: Path) -> None:
    """Wait until no process of an earlier attempt writes a run folder any more."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            descriptor = os.open(run / ".lock", os.O_RDWR)
        except OSError:  # there was no attempt
            return
        try:
            lock(descriptor)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise UsageError(f"{run} is still being written by another hintproof.") from None
            time.sleep(0.05)
        else:
            return
        finally:
            os.close(descriptor)
