"""``hintproof verify``: the main job."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from sandbox.cli.batch import Shown, jobs_of, verify_several
from sandbox.cli.batch import resume as resume_batch
from sandbox.cli.options import (
    ServerCommand,
    command_words,
    fail_options,
    launch_options,
    output_options,
    probe_options,
    several_options,
)
from sandbox.cli.setup import listening, run_folder
from sandbox.cli.targets import named_targets
from sandbox.hosts.choose import perform
from sandbox.hosts.job import Job, Task
from sandbox.model import Report
from sandbox.report.console import make_console
from sandbox.report.document import dumps
from sandbox.report.terminal import render_report


@click.command("verify", cls=ServerCommand)
@click.argument("target", nargs=-1, metavar="TARGET...")
@several_options
@click.option("--resume", metavar="ID", help="Go on with a batch of several targets (an id, or `last`).")
@launch_options
@probe_options
@fail_options
@output_options
def command(
    target: tuple[str, ...],
    *,
    jobs: str | None,
    resume: str | None,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> int:
    """Run a server in a sandbox, call every tool, and say which hints its behaviour contradicts.

    Several servers, or a file of them (--targets), are a batch: --jobs of them at once, each in a process of its own,
    every one accounted for, and to be resumed at any moment (--resume).

    Exit code 0: nothing contradicted. 1: contradicted. 2: usage. 3: the server did not start. 4: no sandbox
    here. 5: nothing could be verified. Of several servers the worst, in the order 70, 4, 1, 3, 5, 0.
    """
    at_once, shown = jobs_of(jobs), Shown(as_json, quiet, verbose)
    if resume is not None:
        return _resumed(resume, options, at_once, shown)
    named = named_targets(target, options["targets"], options, Path.cwd())
    if len(named) > 1 or options["targets"]:
        return verify_several(named, target, options, at_once, shown)
    job = named[0].job(Task.VERIFY, Path.cwd())
    report = verify_job(job, options, quiet=quiet)
    if as_json:
        sys.stdout.write(dumps(report, job.secrets))
    else:
        render_report(report, make_console(sys.stdout), secrets=job.secrets, verbose=verbose)
    return report.exit_code


def _resumed(batch: str, options: Mapping[str, Any], jobs: int, shown: Shown) -> int:
    context = click.get_current_context()
    ours = {"runs", "env", "values", "jobs", "resume", "as_json", "quiet", "verbose"}
    given = [
        "the target" if isinstance(parameter, click.Argument) else parameter.opts[0]
        for parameter in context.command.params
        if parameter.name not in ours
        and context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
    ]
    if command_words() or given:
        raise click.UsageError(
            f"--resume: the batch knows its targets and options; leave out {given[0] if given else 'the target'}."
        )
    return resume_batch(batch, options, jobs, shown)


def verify_job(job: Job, options: Mapping[str, Any], *, quiet: bool) -> Report:
    """Verify one job: evidence and report are saved in a run folder of its own.

    Raises:
        HintproofError: as :func:`sandbox.hosts.choose.perform` does.
    """
    with run_folder(job, options) as folder, listening(quiet, job.secrets) as listener:
        report = perform(job, folder, listener)
    assert isinstance(report, Report)
    return report
