"""``hintproof investigate``: one suspected tool, every effect on a timeline."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from sandbox.cli.options import ServerCommand, launch_options, output_options, probe_options, split_tool
from sandbox.cli.setup import job_for, listening, run_folder
from sandbox.errors import UsageError
from sandbox.evidence.codec import encode
from sandbox.hosts.choose import perform
from sandbox.hosts.job import Task
from sandbox.model import Investigation, Json, Purpose
from sandbox.report.console import make_console
from sandbox.report.escaping import Masker, plain_json
from sandbox.report.timeline import render_timeline


@click.command("investigate", cls=ServerCommand)
@click.argument("words", nargs=-1, metavar="TOOL")
@click.option(
    "--args", "arguments", metavar="JSON", help="The arguments to call it with (default: generated)."
)
@launch_options
@probe_options
@output_options
def command(
    words: tuple[str, ...], arguments: str | None, as_json: bool, quiet: bool, verbose: bool, **options: Any
) -> int:
    """Call one TOOL and show everything that each call did: when, who, what; then the verdicts.

    Exit code 1 when the tool's behaviour contradicts one of its hints, as for verify.
    """
    given = _arguments(arguments)
    named, tool = split_tool(words, needed=True)
    job = job_for(Task.INVESTIGATE, named, options, tool=tool, arguments=given)
    with run_folder(job, options) as folder, listening(quiet, job.secrets) as listener:
        found = perform(job, folder, listener)
    assert isinstance(found, Investigation)
    if as_json:
        sys.stdout.write(json.dumps(plain_json(encode(found.evidence), Masker(job.secrets)), indent=1) + "\n")
    else:
        trials = [trial for trial in found.evidence.trials if trial.purpose is Purpose.PROBE]
        (report,) = found.report.tools
        render_timeline(trials, report, make_console(sys.stdout), secrets=job.secrets, verbose=verbose)
    return found.report.exit_code


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
