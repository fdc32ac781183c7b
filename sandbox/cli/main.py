"""The ``hintproof`` command: commands are loaded when they are used, so ``--help`` stays quick."""

from __future__ import annotations

import importlib
import sys

import click

import sandbox
from sandbox.errors import ExitCode, HintproofError

_COMMANDS = {
    "verify": ("Verify the hints of every tool of a server.", "verify:command"),
    "investigate": ("Show every effect of one tool on a timeline.", "investigate:command"),
    "run": ("Run scenario files.", "run:command"),
    "list": ("List the declared hints of a server's tools; calls nothing.", "listing:list_command"),
    "arguments": ("Show what would be sent to each tool, and why.", "listing:arguments_command"),
    "judge": ("Judge the saved evidence of a run again; needs no sandbox.", "judge:command"),
    "replay": ("Run one finding of an earlier run again.", "replay:command"),
    "doctor": ("Show which sandbox and instruments work on this machine.", "doctor:command"),
    "explain": ("Explain a verdict, reason code, hint or weight.", "explain:command"),
}
"""Each command's line of help and where it lives, so that the list costs no import."""


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The list in ``--help``, written without importing any command."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (line, _) in _COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(sandbox.__version__, prog_name="hintproof")
def cli() -> None:
    """Verify what MCP tools claim about themselves by running them in an instrumented sandbox.

    hintproof launches a server, calls every tool with arguments that it generates, observes everything each
    call did, repeats it, and says which of the four hints the behaviour contradicts.

    \b
    Examples:
      hintproof verify -- python server.py
      hintproof verify -- npx -y @modelcontextprotocol/server-filesystem ~/notes
      hintproof investigate delete_user -- python server.py
    """


def main() -> None:
    """Run the command line and exit with the code of the design's table."""
    try:
        code = cli.main(standalone_mode=False)
    except click.exceptions.Abort:
        _say("Interrupted.")
        sys.exit(ExitCode.INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(ExitCode.USAGE)
    except KeyboardInterrupt:
        _say("Interrupted. Tools that had finished are saved in the run folder.")
        sys.exit(ExitCode.INTERRUPTED)
    except HintproofError as error:
        _say(f"hintproof: {error}")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of our output went away; Python would complain once more while flushing at exit.
        sys.stderr.close()
        sys.exit(ExitCode.OK)
    sys.exit(code if isinstance(code, int) else ExitCode.OK)


def _say(text: str) -> None:
    click.echo(text, err=True)
