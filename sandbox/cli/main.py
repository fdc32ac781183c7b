"""The ``hintproof`` command: commands are loaded when they are used, so ``--help`` stays quick."""

from __future__ import annotations

import errno
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NoReturn

import click

import sandbox
from sandbox.errors import ExitCode, HintproofError
from sandbox.report.escaping import Masker, visible_lines

_COMMANDS = {
    "verify": ("Verify the hints of every tool of a server.", "verify:command"),
    "investigate": ("Show every effect of one tool on a timeline.", "investigate:command"),
    "run": ("Run scenario files.", "run:command"),
    "list": ("List the declared hints of a server's tools; calls nothing.", "listing:list_command"),
    "arguments": ("Show what would be sent to each tool, and why.", "listing:arguments_command"),
    "judge": ("Judge the saved evidence of a run again; needs no sandbox.", "judge:command"),
    "replay": ("Run one finding of an earlier run again.", "replay:command"),
    "cache": (
        "Show or clear what is kept between runs: installed packages, unpacked images.",
        "cache:command",
    ),
    "doctor": ("Show which sandbox and instruments work on this machine.", "doctor:command"),
    "explain": ("Explain a verdict, reason code, hint or weight.", "explain:command"),
}
"""Each command's line of help and where it lives, so that the list costs no import."""

_READERS = ("judge", "explain")
"""Commands that only read what is there already."""

_LINES_SAID, _LINE_SAID = 200, 4000
_OUR_FAULT = (
    "hintproof: this is a fault of hintproof, not of the server. Please report it with the lines above."
)


class LazyGroup(click.Group):
    """A group whose commands live in modules of their own, imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """The commands in the order in which people need them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's module."""
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name][1].split(":")
        command = getattr(importlib.import_module(f"sandbox.cli.{module}"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first word names, or an error with the nearest one."""
        near = get_close_matches(args[0], _COMMANDS, n=1)
        if near and args[0] not in _COMMANDS:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list in ``--help``, written without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (line, _) in _COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(sandbox.__version__, prog_name="hintproof")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Verify what MCP tools claim about themselves by running them in an instrumented sandbox.

    hintproof launches a server, calls every tool with arguments that it generates, observes everything each
    call did, repeats it, and says which of the four hints the behaviour contradicts.

    \b
    Examples:
      hintproof verify -- python server.py
      hintproof verify -- npx -y @modelcontextprotocol/server-filesystem ~/notes
      hintproof investigate delete_user -- python server.py
    """
    try:
        os.getcwd()
    except FileNotFoundError as error:
        raise click.UsageError("The current folder is gone. Change to one that exists.") from error
    if ctx.invoked_subcommand not in _READERS and sys.platform == "linux" and os.geteuid() == 0:
        from sandbox.linux.powers import settle

        settle()


def main() -> None:
    """Run the command line and exit with the code of the design's table."""
    secrets: list[str] = []
    """Values that must not be said, as far as the command got to know them."""
    try:
        code = cli.main(prog_name="hintproof", standalone_mode=False, obj=secrets)
    except (click.exceptions.Abort, KeyboardInterrupt):
        _end("Interrupted.", ExitCode.INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(ExitCode.USAGE)
    except HintproofError as error:
        _end(f"hintproof: {error}", error.exit_code, secrets)
    except BrokenPipeError:
        # The reader of our output went away; Python would complain once more while flushing at exit.
        sys.stderr.close()
        sys.exit(ExitCode.OK)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            _end(f"{traceback.format_exc()}\n{_OUR_FAULT}", ExitCode.OUR_FAULT, secrets)
        _end(f"hintproof: Cannot write the output: {error.strerror}.", ExitCode.OUR_FAULT, secrets)
    except Exception:  # noqa: BLE001 - whatever it is, it is our fault, and must not pass for a verdict
        _end(f"{traceback.format_exc()}\n{_OUR_FAULT}", ExitCode.OUR_FAULT, secrets)
    sys.exit(code if isinstance(code, int) else ExitCode.OK)


def _end(text: str, code: ExitCode, secrets: Sequence[str] = ()) -> NoReturn:
    """Say something for people, which may quote the server, and exit."""
    lines = visible_lines(Masker(secrets)(text), _LINES_SAID, _LINE_SAID)
    click.echo("\n".join(lines), err=True)
    sys.exit(code)
