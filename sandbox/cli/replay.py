"""``hintproof replay``: one finding of an earlier run again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from sandbox.cli.options import Words, runs_option
from sandbox.cli.setup import job_for, listening, refuse_missing
from sandbox.errors import ExitCode
from sandbox.evidence.runs import load_record
from sandbox.hosts.choose import perform
from sandbox.hosts.job import Task
from sandbox.judge import report_tool
from sandbox.model import Replay
from sandbox.report.console import make_console
from sandbox.report.escaping import visible
from sandbox.report.timeline import render_timeline
from sandbox.saved import find_saved


@click.command("replay")
@click.argument("finding")
@runs_option
@click.option(
    "-e",
    "--env",
    "env",
    multiple=True,
    metavar="KEY[=VALUE]",
    help="Values of the run's -e, which are never saved.",
)
@click.option(
    "--set",
    "values",
    multiple=True,
    metavar="NAME=VALUE",
    help="Values of the run's --set, which are never saved.",
)
def command(finding: str, runs: Path, env: tuple[str, ...], values: tuple[str, ...]) -> int:
    """Make the calls of one FINDING again in a fresh box, on the host of its run. Exit code 1: seen again. 0: not."""
    folder, saved = find_saved(runs, finding)
    record = load_record(folder)
    options: dict[str, Any] = {**record.launch, "env": env, "values": values}
    cwd = Path(options.pop("cwd", "."))
    refuse_missing(record.launch.get("values", ()), values)
    named = Words.of_words(options.pop("words", record.command), cwd)
    job = job_for(Task.REPLAY, named, options, cwd=cwd, finding=saved)
    needed = [name for name in record.launch.get("env", ()) if name not in job.variables]
    if needed:
        raise click.UsageError(f"The run was given {', '.join(needed)}; give it again with -e {needed[0]}.")
    with listening(quiet=False, secrets=job.secrets) as listener:
        result = perform(job, None, listener)
    assert isinstance(result, Replay)
    console = make_console(sys.stdout)
    render_timeline([result.trial], report_tool(result.evidence, job.profile), console, secrets=job.secrets)
    said = "Seen again." if result.again else "Not seen again."
    click.echo(f"\n{said} {saved.id}: {visible(saved.evidence.tool.name)} {saved.hint.value}")
    return ExitCode.CONTRADICTED if result.again else ExitCode.OK
