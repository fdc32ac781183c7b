"""``hintproof verify``: the main job."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from sandbox.cli.options import (
    ServerCommand,
    fail_options,
    launch_options,
    output_options,
    probe_options,
    server_command,
)
from sandbox.cli.setup import job_for, listening, run_folder
from sandbox.hosts.choose import perform
from sandbox.hosts.job import Job, Task
from sandbox.model import Report
from sandbox.report.console import make_console
from sandbox.report.document import dumps
from sandbox.report.terminal import render_report


@click.command("verify", cls=ServerCommand)
@click.argument("target", nargs=-1)
@launch_options
@probe_options
@fail_options
@output_options
def command(target: tuple[str, ...], as_json: bool, quiet: bool, verbose: bool, **options: Any) -> int:
    """Run a server in a sandbox, call every tool, and say which hints its behaviour contradicts.

    Exit code 0: nothing contradicted. 1: contradicted. 2: usage. 3: the server did not start. 4: no sandbox
    here. 5: nothing could be verified.
    """
    job = job_for(Task.VERIFY, server_command(target), options)
    report = verify_job(job, options, quiet=quiet)
    if as_json:
        sys.stdout.write(dumps(report, job.secrets))
    else:
        render_report(report, make_console(sys.stdout), secrets=job.secrets, verbose=verbose)
    return report.exit_code


def verify_job(job: Job, options: Mapping[str, Any], *, quiet: bool) -> Report:
    """Verify one job: evidence and report are saved in a run folder of its own.

    Raises:
        HintproofError: as :func:`sandbox.hosts.choose.perform` does.
    """
    with run_folder(job, options) as folder, listening(quiet, job.secrets) as listener:
        report = perform(job, folder, listener)
    assert isinstance(report, Report)
    return report
