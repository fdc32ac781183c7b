"""``hintproof list`` and ``hintproof arguments``: what is declared, and what would be sent."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from sandbox.cli.batch import heard, jobs_of, phase_of
from sandbox.cli.options import ServerCommand, launch_options, several_options, split_tool
from sandbox.cli.setup import job_for, listening
from sandbox.cli.targets import Named, named_targets
from sandbox.errors import ExitCode, UsageError
from sandbox.hosts.choose import perform
from sandbox.hosts.job import Job, Task
from sandbox.model import Listing
from sandbox.policy import worst
from sandbox.report.batchprogress import Board
from sandbox.report.console import make_console
from sandbox.report.escaping import Masker, plain_json, visible
from sandbox.report.listing import render_listing
from sandbox.suites.batch import Task as BatchTask
from sandbox.suites.batchrun import list_all

LISTINGS = "hintproof.listings/1"
"""The form of the JSON of several servers: name, class, why, error, server and tools (raw definitions) of each."""

_SENT_SHOWN = 4000
"""Characters of one argument set that are shown; ``--json`` shows all."""


@click.command("list", cls=ServerCommand)
@click.argument("target", nargs=-1, metavar="TARGET...")
@several_options
@launch_options
@click.option("--json", "as_json", is_flag=True, help="The raw definitions as JSON on standard output.")
def list_command(target: tuple[str, ...], as_json: bool, jobs: str | None, **options: Any) -> int:
    """List a server's tools with the hints that it declares, from the raw bytes. Nothing is called.

    Of several servers every one is accounted for, and the exit code is the worst of theirs.
    """
    at_once = jobs_of(jobs)
    named = named_targets(target, options["targets"], options, Path.cwd())
    if len(named) > 1 or options["targets"]:
        return _list_several(named, at_once, as_json=as_json)
    job = named[0].job(Task.LIST, Path.cwd())
    listing = _listing(job)
    if as_json:
        _print_json({"tools": [tool.definition for tool in listing.tools]}, job)
    else:
        _render(listing, job)
    return ExitCode.OK


def _list_several(named: Sequence[Named], jobs: int, *, as_json: bool) -> int:
    cwd = Path.cwd()
    tasks = [BatchTask(index, each.name, each.job(Task.LIST, cwd)) for index, each in enumerate(named)]
    with heard(Board(len(tasks), (), jobs)) as listener:
        found = list_all(tasks, jobs, listener, phase=phase_of)
    if as_json:
        servers = [
            plain_json(
                {
                    "name": result.name,
                    "class": result.server_class.value,
                    "why": result.why or None,
                    "error": result.error or None,
                    "server": result.server or None,
                    "tools": [tool.definition for tool in listing.tools] if listing is not None else None,
                },
                Masker(task.job.secrets),
            )
            for task, (result, listing) in zip(tasks, found, strict=True)
        ]
        sys.stdout.write(json.dumps({"schema": LISTINGS, "servers": servers}, indent=1) + "\n")
    else:
        for task, (result, listing) in zip(tasks, found, strict=True):
            click.echo(visible(f"[{result.index + 1}/{len(tasks)}] {result.name}"))
            if listing is None:
                click.echo(f"  {result.server_class.value}: {visible(result.why)}\n")
            else:
                _render(listing, task.job)
                click.echo()
    return worst(ExitCode(result.exit_code) for result, _ in found)


def _render(listing: Listing, job: Job) -> None:
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
