"""``hintproof doctor``: what works here, and what to change."""

from __future__ import annotations

import dataclasses
import json
import sys

import click

from sandbox.doctor import HOSTS, Check, Host, build, examine, usable
from sandbox.errors import ExitCode
from sandbox.report.escaping import visible

_TITLES = {"local": "On this machine", "docker": "In a container"}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="The checks as JSON on standard output.")
@click.option("--host", type=click.Choice(HOSTS), help="Try only this host; both unless it is given.")
@click.option("--build", "builds", is_flag=True, help="Build the image of the docker host first.")
@click.option(
    "--base", metavar="IMAGE", default="", help="Build on this image instead of an official slim Python."
)
def command(as_json: bool, host: Host | None, builds: bool, base: str) -> int:
    """Try each way to build a sandbox and each instrument; say what to change where one fails.

    Exit code 4 where no server can be verified on this machine.
    """
    if base and not builds:
        raise click.UsageError("--base names what to build on: it needs --build.")
    if builds:
        build(base, lambda line: click.echo(visible(line), err=True))
    checks = examine((host,) if host else HOSTS)
    if as_json:
        sys.stdout.write(json.dumps([dataclasses.asdict(check) for check in checks], indent=1) + "\n")
    else:
        _show(checks)
    return ExitCode.OK if usable(checks) else ExitCode.NO_SANDBOX


def _show(checks: tuple[Check, ...]) -> None:
    for host, title in _TITLES.items():
        found = [check for check in checks if check.host == host]
        if found:
            click.echo(f"{title} (--host {host})")
        for check in found:
            word = "works" if check.works else "fails" if check.tried else "untested"
            click.echo(f"  {word:8} {check.name:10} {visible(check.meaning)}")
            if not check.works:
                click.echo(f"           why:  {visible(check.why_not)}")
                click.echo(f"           cure: {visible(check.cure)}")
    ready = usable(checks)
    click.echo(
        "\nReady." if ready else "\nNo server can be verified on this machine yet; see the cures above."
    )
