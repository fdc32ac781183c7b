"""``hintproof explain``: what a word of a verdict means."""

from __future__ import annotations

import click

from sandbox.policy import codes, explain


@click.command("explain")
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Explain a verdict, reason code, hint, weight or profile; without CODE, list all of them."""
    if code is None:
        for sort, words in codes().items():
            click.echo(f"{sort}: {', '.join(words)}")
        return
    click.echo(explain(code))
