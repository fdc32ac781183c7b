"""``hintproof replay``: one finding of an earlier run again."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click

from sandbox.cli.setup import job_for
from sandbox.errors import ExitCode
from sandbox.evidence.runs import load_record
from sandbox.judge import report_tool
from sandbox.replay import find_saved, replay
from sandbox.report.console import make_console
from sandbox.report.timeline import render_timeline


@click.command("replay")
@click.argument("finding")
@click.option("--runs", metavar="DIR", default=".hintproof/runs", help="Where runs are kept.")
@click.option(
    "-e",
    "--env",
    "env",
    multiple=True,
    metavar="KEY[=VALUE]",
    help="Values of the run's -e, which are never saved.",
)
def command(finding: str, runs: str, env: tuple[str, ...]) -> int:
    """Make the calls of one FINDING again in a fresh box. Exit code 1: seen again. 0: not seen again."""
    root = Path(runs)
    folders = [path.parent for path in root.glob("*/report.json")]
    folder, saved = find_saved(folders, finding)
    record = load_record(folder)
    options: dict[str, Any] = {**record.launch, "env": env, "runs": runs}
    cwd = Path(options.pop("cwd"))
    needed = [name for name in record.launch.get("env", ()) if name not in {e.split("=", 1)[0] for e in env}]
    if needed:
        raise click.UsageError(f"The run was given {', '.join(needed)}; give it again with -e {needed[0]}.")
    job = job_for(record.command, options, cwd=cwd)
    result = anyio.run(partial(replay, job.launch, saved, job.profile, job.probe, job.stage))
    console = make_console(sys.stdout)
    render_timeline([result.trial], report_tool(result.evidence, job.profile), console, secrets=job.secrets)
    said = "Seen again." if result.again else "Not seen again."
    click.echo(f"\n{said} {saved.finding['id']}: {saved.finding['tool']} {saved.finding['hint']}")
    return ExitCode.CONTRADICTED if result.again else ExitCode.OK
