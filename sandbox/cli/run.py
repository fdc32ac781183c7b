"""``hintproof run``: scenario files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sandbox.cli.options import Words, host_option, quiet_option, runs_option
from sandbox.cli.setup import job_for
from sandbox.cli.verify import verify_job
from sandbox.errors import ExitCode
from sandbox.hosts.job import Task
from sandbox.model import Json, Report
from sandbox.report.escaping import Masker, visible_lines
from sandbox.suites import Scenario, exit_code, run_scenarios, story


@click.command("run")
@click.argument("scenarios", nargs=-1, required=True, type=click.Path(path_type=Path))
@host_option
@runs_option
@quiet_option
def command(scenarios: tuple[Path, ...], host: str | None, runs: Path, quiet: bool) -> int:
    """Run scenario files (or all `*.hintproof.yaml` below a folder) and compare verdicts with what they expect.

    Each run keeps its report in its run folder. Exit code 1: a verdict is not the expected one.
    """

    def runner(scenario: Scenario) -> Report:
        options: dict[str, Any] = {
            "workspace": str(scenario.workspace) if scenario.workspace else None,
            "env": [f"{name}={value}" for name, value in scenario.env.items()],
            "host": host,
            "runs": runs,
        }
        examples: dict[str, tuple[dict[str, Json], ...]] = {}
        for call in scenario.calls:
            examples[call.tool] = (*examples.get(call.tool, ()), dict(call.arguments))
        job = job_for(
            Task.VERIFY,
            Words.of_words(scenario.target, scenario.folder),
            options,
            cwd=scenario.folder,
            examples=examples,
        )
        return verify_job(job, options, quiet=quiet)

    secrets: list[str] = click.get_current_context().obj or []
    results = []
    for result in run_scenarios(scenarios, runner):
        results.append(result)
        for line in story(result):
            click.echo("\n".join(visible_lines(Masker(secrets)(line), most=30)))
    return exit_code(results) if results else ExitCode.NOTHING_VERIFIED
