"""``hintproof doctor``: what works here, and what to change."""

from __future__ import annotations

import dataclasses
import json
import sys

import click

from sandbox.doctor import examine, usable
from sandbox.errors import ExitCode
from sandbox.report.escaping import visible


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="The checks as JSON on standard output.")
def command(as_json: bool) -> int:
    """Try each way to build a sandbox and each instrument; say what to change where one fails.

    Exit code 4 where no server can be verified on this machine.
    """
    checks = examine()
    if as_json:
        sys.stdout.write(json.dumps([dataclasses.asdict(check) for check in checks], indent=1) + "\n")
    else:
        for check in checks:
            click.echo(f"{'works ' if check.works else 'fails '} {check.name:10} {visible(check.meaning)}")
            if not check.works:
                click.echo(f"         why:  {visible(check.why_not)}")
                click.echo(f"         cure: {visible(check.cure)}")
        ready = usable(checks)
        click.echo(
            "\nReady." if ready else "\nNo server can be verified on this machine yet; see the cures above."
        )
    return ExitCode.OK if usable(checks) else ExitCode.NO_SANDBOX
