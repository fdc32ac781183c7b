"""``hintproof judge``: saved evidence again, with no sandbox on the machine."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import click

import sandbox
from sandbox.cli.options import fail_options, output_options
from sandbox.config import resolve_settings
from sandbox.evidence.runs import find_run, load_evidence, load_record, load_report
from sandbox.judge import report_tool
from sandbox.model import Instrument, Report
from sandbox.policy import exit_code, profile_named
from sandbox.report.console import make_console
from sandbox.report.document import dumps
from sandbox.report.terminal import render_report


@click.command("judge")
@click.argument("run", default="last")
@click.option("--profile", metavar="NAME", default="spec", help="What the hints' words mean (default spec).")
@click.option("--runs", metavar="DIR", default=".hintproof/runs", help="Where runs are kept.")
@fail_options
@output_options
def command(run: str, profile: str, runs: str, *, as_json: bool, verbose: bool, **options: str | None) -> int:
    """Judge the saved evidence of RUN (an id, the beginning of one, a folder, or `last`) again."""
    options.pop("quiet")  # judging shows no progress
    settings = resolve_settings(options, cwd=Path.cwd(), environ={})
    folder = find_run(Path(runs), run)
    record = load_record(folder)
    chosen = profile_named(profile)
    newest = {evidence.tool.name: evidence for evidence in load_evidence(folder)}
    tools = tuple(report_tool(evidence, chosen) for evidence in newest.values())
    instruments = {i for e in newest.values() for trial in e.trials for i in trial.instruments}
    finished = (folder / "report.json").is_file()
    report = Report(
        run=record.run,
        target=record.target,
        command=record.command,
        invocation=record.invocation,
        server=None,
        seed=record.seed,
        profile=chosen.name,
        started_at=record.started_at,
        duration_ms=float(load_report(folder).get("duration_ms", 0)) if finished else 0.0,
        instruments=tuple(i for i in Instrument if i in instruments),
        missing=(),
        tools=tools,
        versions={"hintproof": sandbox.__version__},
        complete=finished,
    )
    code = exit_code(report, settings.fail_on, settings.min_severity, settings.min_coverage)
    report = dataclasses.replace(report, exit_code=int(code))
    if as_json:
        sys.stdout.write(dumps(report))
    else:
        render_report(report, make_console(sys.stdout), verbose=verbose)
    return report.exit_code
