"""``hintproof verify``: the main job."""

from __future__ import annotations

import dataclasses
import sys
from functools import partial
from typing import Any

import anyio
import click

from sandbox.cli.options import (
    ServerCommand,
    fail_options,
    launch_options,
    output_options,
    probe_options,
    server_command,
)
from sandbox.cli.setup import Job, job_for, listening, run_folder
from sandbox.model import Call, Json, Report
from sandbox.policy import exit_code
from sandbox.report.console import make_console
from sandbox.report.document import dumps, write_report
from sandbox.report.terminal import render_report
from sandbox.verify import VerifyOptions, verify


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
    job = job_for(server_command(target), options)
    report = verify_job(job, quiet=quiet)
    if as_json:
        sys.stdout.write(dumps(report, job.secrets))
    else:
        render_report(report, make_console(sys.stdout), secrets=job.secrets, verbose=verbose)
    return report.exit_code


def verify_job(job: Job, *, quiet: bool, calls: tuple[Call, ...] = ()) -> Report:
    """Verify one job: evidence and report are saved in its run folder.

    Raises:
        HintproofError: as :func:`sandbox.verify.verify` does.
    """
    examples: dict[str, tuple[dict[str, Json], ...]] = {}
    for call in calls:
        examples[call.tool] = (*examples.get(call.tool, ()), dict(call.arguments))
    with run_folder(job) as folder, listening(quiet, job.secrets) as listener:
        options = VerifyOptions(
            target=job.target,
            invocation=job.invocation,
            profile=job.profile,
            probe=job.probe,
            stage=dataclasses.replace(job.stage, content=folder.path / "content"),
            tools=job.settings.tools,
            closed_world=job.closed_world,
            allow=job.settings.allow,
            examples=examples,
        )
        report = anyio.run(partial(verify, job.launch, options, folder, listener))
        settings = job.settings
        code = exit_code(report, settings.fail_on, settings.min_severity, settings.min_coverage)
        report = dataclasses.replace(report, exit_code=int(code))
        write_report(folder.report, report, job.secrets)
    return report
