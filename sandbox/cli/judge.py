"""``hintproof judge``: saved evidence again, with no sandbox on the machine."""

from __future__ import annotations

import dataclasses
import sys
from datetime import date
from pathlib import Path

import click

import sandbox
from sandbox.cli.options import fail_options, json_option, runs_option, verbose_option
from sandbox.config import AllowRule, resolve_settings
from sandbox.errors import NothingVerifiedError
from sandbox.evidence.codec import decode
from sandbox.evidence.runs import find_run, load_evidence, load_record, load_report
from sandbox.judge import allow, report_tool
from sandbox.model import Instrument, Remark, Report, ServerFacts
from sandbox.policy import Profile, exit_code, profile_named
from sandbox.report.console import make_console
from sandbox.report.document import dumps
from sandbox.report.terminal import render_report


@click.command("judge")
@click.argument("run", default="last")
@click.option("--profile", metavar="NAME", default="spec", help="What the hints' words mean (default spec).")
@runs_option
@fail_options
@json_option
@verbose_option
def command(
    run: str, profile: str, runs: Path, *, as_json: bool, verbose: bool, **options: str | None
) -> int:
    """Judge the saved evidence of RUN (an id, the beginning of one, a folder, or `last`) again."""
    settings = resolve_settings(options, cwd=Path.cwd(), environ={})
    report = _judged(find_run(runs, run), profile_named(profile), settings.allow)
    if not report.tools:
        raise NothingVerifiedError(f"Run {report.run} was stopped before its first tool was finished.")
    code = exit_code(report, settings.fail_on, settings.min_severity, settings.min_coverage)
    report = dataclasses.replace(report, exit_code=int(code))
    if as_json:
        sys.stdout.write(dumps(report))
    else:
        render_report(report, make_console(sys.stdout), verbose=verbose)
    return report.exit_code


def _judged(folder: Path, profile: Profile, rules: tuple[AllowRule, ...]) -> Report:
    """The report of a run as it would be now: verdicts are new, what happened is as it was saved."""
    record = load_record(folder)
    newest = {evidence.tool.name: evidence for evidence in load_evidence(folder)}
    working = {i for e in newest.values() for trial in e.trials for i in trial.instruments}
    finished = (folder / "report.json").is_file()
    saved = load_report(folder) if finished else {}
    return Report(
        run=record.run,
        target=record.target,
        command=record.command,
        invocation=record.invocation,
        server=decode(ServerFacts, saved["server"]) if saved.get("server") else None,
        seed=record.seed,
        profile=profile.name,
        started_at=record.started_at,
        duration_ms=decode(float, saved.get("duration_ms", 0.0)),
        instruments=tuple(i for i in Instrument if i in working),
        missing=tuple(
            (decode(Instrument, each["instrument"]), decode(str, each["why"]))
            for each in saved.get("missing", ())
        ),
        tools=tuple(
            report_tool(allow(evidence, rules, date.today())[0], profile)  # noqa: DTZ011 - the user's own day
            for evidence in newest.values()
        ),
        remarks=decode(tuple[Remark, ...], saved.get("remarks", [])),
        unreached=decode(tuple[str, ...], saved.get("unreached", [])),
        versions={"hintproof": sandbox.__version__},
        host=decode(str, saved.get("host") or record.launch.get("host") or "local"),
        host_image=decode(str, saved.get("host_image") or ""),
        complete=finished,
    )
