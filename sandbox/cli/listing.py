"""``hintproof list`` and ``hintproof arguments``: what is declared, and what would be sent."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from sandbox.cli.options import ServerCommand, launch_options, server_command, split_tool
from sandbox.cli.setup import job_for, listening
from sandbox.errors import UsageError
from sandbox.hosts.choose import perform
from sandbox.hosts.job import Job, Task
from sandbox.model import Listing
from sandbox.report.console import make_console
from sandbox.report.escaping import Masker, plain_json, visible
from sandbox.report.listing import render_listing

_SENT_SHOWN = 4000
"""Characters of one argument set that are shown; ``--json`` shows all."""


@click.command("list", cls=ServerCommand)
@click.argument("targets", nargs=-1, metavar="TARGET")
@launch_options
@click.option("--json", "as_json", is_flag=True, help="The raw definitions as JSON on standard output.")
def list_command(targets: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """List a server's tools with the hints that it declares, from the raw bytes. Nothing is called."""
    job = job_for(Task.LIST, server_command(targets), options)
    listing = _listing(job)
    if as_json:
        _print_json({"tools": [tool.definition for tool in listing.tools]}, job)
        return
    render_listing(
        listing.facts,
        listing.tools,
        make_console(sys.stdout),
        remarks=listing.remarks,
        secrets=job.secrets,
    )


@click.command("arguments", cls=ServerCommand)
@click.argument("words", nargs=-1, metavar="[TOOL]")
@launch_options
@click.option("--json", "as_json", is_flag=True, help="The argument sets as JSON on standard output.")
def arguments_command(words: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Show the arguments that would be sent to each tool (or to TOOL) first, and why. Nothing is called.

    During a run, values learned from earlier replies are used as well.
    """
    named, tool = split_tool(words, needed=False)
    job = job_for(Task.LIST, named, options, proposals=True)
    listing = _listing(job)
    names = [item.name for item in listing.tools]
    if tool and tool not in names:
        raise UsageError(f"The server lists no tool {tool!r}. It lists: {', '.join(names)}.")
    chosen = {name: listing.proposals[name] for name in names if tool in ("", name)}
    if as_json:
        data = {
            name: [{"label": p.label, "arguments": p.arguments, "origin": p.origin} for p in proposals]
            for name, proposals in chosen.items()
        }
        _print_json(data, job)
        return
    mask = Masker(job.secrets)
    for name, proposals in chosen.items():
        click.echo(visible(mask(name)))
        for proposal in proposals:
            sent = json.dumps(proposal.arguments, ensure_ascii=True)
            click.echo(f"  {visible(mask(f'{proposal.label}: {sent}'), _SENT_SHOWN)}")
            if proposal.origin:
                click.echo(f"      {visible(mask(proposal.origin))}")


def _print_json(data: object, job: Job) -> None:
    sys.stdout.write(json.dumps(plain_json(data, Masker(job.secrets)), indent=1) + "\n")


def _listing(job: Job) -> Listing:
    with listening(quiet=False, secrets=job.secrets) as listener:
        listing = perform(job, None, listener)
    assert isinstance(listing, Listing)
    return listing
