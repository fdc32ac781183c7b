"""``hintproof investigate``: one suspected tool, every effect on a timeline."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from functools import partial
from typing import Any

import anyio
import click

from sandbox.cli.options import ServerCommand, launch_options, output_options, probe_options, server_command
from sandbox.cli.setup import Job, job_for, listening, run_folder
from sandbox.errors import UsageError
from sandbox.evidence.codec import encode
from sandbox.investigate import Investigation, investigate
from sandbox.model import Instrument, Json, Purpose, Report
from sandbox.policy import exit_code
from sandbox.report.console import make_console
from sandbox.report.document import write_report
from sandbox.report.escaping import Masker, plain_json
from sandbox.report.timeline import render_timeline


@click.command("investigate", cls=ServerCommand)
@click.argument("tool")
@click.option(
    "--args", "arguments", metavar="JSON", help="The arguments to call it with (default: generated)."
)
@launch_options
@probe_options
@output_options
def command(
    tool: str, arguments: str | None, as_json: bool, quiet: bool, verbose: bool, **options: Any
) -> int:
    """Call one TOOL and show everything that each call did: when, who, what; then the verdicts.

    Exit code 1 when the tool's behaviour contradicts one of its hints, as for verify.
    """
    given = _arguments(arguments)
    job = job_for(server_command(), options)
    probe = job.probe if given is None else dataclasses.replace(job.probe, calls=0)
    started = time.time()
    with run_folder(job) as folder, listening(quiet, job.secrets) as listener:
        found = anyio.run(
            partial(
                investigate,
                job.launch,
                tool,
                given,
                profile=job.profile,
                probe=probe,
                stage=dataclasses.replace(job.stage, content=folder.path / "content"),
                closed_world=job.closed_world,
                folder=folder,
                listener=listener,
            )
        )
        report = _report(job, folder.path.name, found, started)
        write_report(folder.report, report, job.secrets)
    if as_json:
        sys.stdout.write(json.dumps(plain_json(encode(found.evidence), Masker(job.secrets)), indent=1) + "\n")
    else:
        trials = [trial for trial in found.evidence.trials if trial.purpose is Purpose.PROBE]
        render_timeline(trials, found.report, make_console(sys.stdout), secrets=job.secrets, verbose=verbose)
    return report.exit_code


def _report(job: Job, run: str, found: Investigation, started: float) -> Report:
    """The investigation as a report of one tool, for ``judge`` and ``replay``."""
    instruments = {instrument for trial in found.evidence.trials for instrument in trial.instruments}
    report = Report(
        run=run,
        target=job.target,
        command=job.launch.command,
        invocation=job.invocation,
        server=found.facts,
        seed=job.probe.seed,
        profile=job.profile.name,
        started_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        duration_ms=(time.time() - started) * 1000,
        instruments=tuple(each for each in Instrument if each in instruments),
        missing=(),
        tools=(found.report,),
        remarks=found.remarks,
        versions=job.launch.versions,
        digests=job.launch.digests,
    )
    return dataclasses.replace(report, exit_code=int(exit_code(report)))


def _arguments(text: str | None) -> dict[str, Json] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageError(
            f"--args: not JSON: {error}. Write an object such as --args '{{\"id\": 1}}'."
        ) from error
    if not isinstance(value, dict):
        raise UsageError(f"--args: an object is needed, such as '{{\"id\": 1}}', not {text[:60]}.")
    return value
