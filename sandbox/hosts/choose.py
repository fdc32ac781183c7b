"""The host that a job runs on: the one asked for with ``--host``, or the first that works."""

from __future__ import annotations

import dataclasses
import sys

from sandbox.errors import NoSandboxError, TargetNotFoundError
from sandbox.events import Listener, Progress, starting_once
from sandbox.evidence.runs import RunFolder, load_record
from sandbox.hosts.job import Answer, Job
from sandbox.model import Investigation, Report
from sandbox.policy import exit_code
from sandbox.report.document import write_report


def perform(job: Job, folder: RunFolder | None, listener: Listener) -> Answer:
    """Do a job on the host that its settings ask for. A report is completed and written into ``folder``, whose
    record names the host.

    ``auto`` is the local host, or docker where no sandbox works on this machine.

    Raises:
        NoSandboxError: there is no sandbox on that host; for ``auto`` on neither, with both reasons.
        HintproofError: as the local host does.
    """
    job.check()
    if job.settings.host == "auto":
        answer = _on_the_first(job, folder, listener)
    else:
        answer = _on(job.settings.host, job, folder, listener)
    if folder is None:
        return answer
    if isinstance(answer, Investigation):
        report = dataclasses.replace(answer.report, exit_code=int(exit_code(answer.report)))
        answer = dataclasses.replace(answer, report=report)
        write_report(folder.report, report, job.secrets)
    elif isinstance(answer, Report):
        settings = job.settings
        code = exit_code(answer, settings.fail_on, settings.min_severity, settings.min_coverage)
        answer = dataclasses.replace(answer, exit_code=int(code))
        write_report(folder.report, answer, job.secrets)
    return answer


def _on_the_first(job: Job, folder: RunFolder | None, listener: Listener) -> Answer:
    try:
        return _on("local", job, folder, starting_once(listener))
    except NoSandboxError as error:
        here = error
    except TargetNotFoundError:
        obstacle = _obstacle()
        if obstacle is None:
            raise
        here = obstacle
    listener(Progress("no sandbox works on this machine; trying docker"))
    try:
        return _on("docker", job, folder, listener)
    except NoSandboxError as error:
        raise NoSandboxError(f"{here}\nNor is there a sandbox in docker: {error}") from error


def _on(host: str, job: Job, folder: RunFolder | None, listener: Listener) -> Answer:
    if folder is not None:
        record = load_record(folder.path)
        folder.save_record(dataclasses.replace(record, launch={**record.launch, "host": host}))
    if host == "docker":
        from sandbox.hosts.docker import perform as perform_in_docker

        return perform_in_docker(job, folder, listener)
    if sys.platform != "linux":
        raise NoSandboxError("a sandbox on this machine itself needs Linux; use --host docker here.")
    # Most of hintproof, and only Linux has what it is made of.
    from sandbox.hosts.local import perform as perform_here

    return perform_here(job, folder, listener)


def _obstacle() -> NoSandboxError | None:
    """Why the local host cannot run any server."""
    from sandbox.hosts.local import obstacle

    return obstacle()
