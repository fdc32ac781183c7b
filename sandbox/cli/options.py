"""The options that commands share, under one vocabulary, and the words after ``--``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

DEFAULT_RUNS = Path(".hintproof/runs")
"""Where runs are kept unless ``--runs`` says otherwise."""

_COMMAND = "hintproof.command"


class ServerCommand(click.Command):
    """A command whose words after the first ``--`` are the server's command, untouched.

    Everything before belongs to hintproof: a server's own ``--seed`` is never taken for ours.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Split at the first ``--`` before click reads the rest."""
        if "--" in args:
            at = args.index("--")
            ctx.meta[_COMMAND] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The usage line in both forms: with a target, whose server's arguments may follow, or with a command."""
        options, *words = super().collect_usage_pieces(ctx)
        tool = next((word for word in words if "TOOL" in word), "")
        target = next((word for word in words if "TARGET" in word), "TARGET")
        pieces = [options, target, tool, "[-- ARGUMENTS...]", "|", options, tool, "-- COMMAND..."]
        return [piece for piece in pieces if piece]


def command_words(context: click.Context | None = None) -> tuple[str, ...]:
    """The words after ``--``, of the present command line unless another context is given."""
    words: tuple[str, ...] = (context or click.get_current_context()).meta.get(_COMMAND, ())
    return words


@dataclass(frozen=True, slots=True)
class Words:
    """What a command line names: the targets before ``--``, and the words after it (a command, or with a target its
    server's arguments)."""

    targets: tuple[str, ...] = ()
    command: tuple[str, ...] = ()

    @classmethod
    def of_words(cls, words: Sequence[str], cwd: Path) -> Words:
        """Targets, ``--`` and a command in one line; without ``--`` a command, or one target of ``cwd`` and its
        arguments."""
        if "--" in words:
            at = list(words).index("--")
            return cls(tuple(words[:at]), tuple(words[at + 1 :]))
        if words and is_target(words[0], cwd):
            return cls(tuple(words[:1]), tuple(words[1:]))
        return cls((), tuple(words))


def server_command(targets: tuple[str, ...] = (), command: tuple[str, ...] | None = None) -> Words:
    """What this command line names: ``targets`` are the words before ``--`` that are to name servers; ``command`` takes
    the place of the words after it on the present command line."""
    return Words(targets, command_words() if command is None else command)


def split_tool(words: tuple[str, ...], *, needed: bool) -> tuple[Words, str]:
    """The server and the tool in ``TARGET TOOL``, or in ``TOOL`` before a command after ``--``.

    The tool is "" where it is not ``needed`` and none is named. Raises click.UsageError for a target that stands
    after its tool, and for further words.
    """
    named = server_command()
    how = f"{click.get_current_context().command_path} TARGET TOOL, or TOOL -- COMMAND"
    if not words and needed:
        raise click.UsageError(f"No tool named. Write {how}.")
    first_is_target = bool(words) and (is_target(words[0]) or (len(words) > 1 and not is_target(words[1])))
    if len(words) > 1 and not first_is_target:
        raise click.UsageError(f"The target comes before the tool: {words[1]} {words[0]}.")
    if len(words) > 2:
        raise click.UsageError(
            f"Unexpected {words[2]!r}. Write {how}. The server's own arguments come after --."
        )
    if len(words) == 2:
        return Words(words[:1], named.command), words[1]
    if first_is_target and needed and not named.command:
        raise click.UsageError(f"No tool named for {words[0]}. Write {how}.")
    if first_is_target and not needed:
        return Words(words, named.command), ""
    if words and not named.command and needed:
        raise click.UsageError(f"No target for the tool {words[0]}. Write {how}.")
    return named, words[0] if words else ""


def is_target(word: str, cwd: Path | None = None) -> bool:
    """Whether a word names servers by itself: a package, an image, an address, or a file or folder that is there."""
    from sandbox.targets.named import looks_like_target  # commands that only read runs do without targets

    return looks_like_target(word, cwd or Path.cwd())


runs_option = click.option(
    "--runs",
    metavar="DIR",
    type=click.Path(path_type=Path),
    default=DEFAULT_RUNS,
    help=f"Where runs are kept (default {DEFAULT_RUNS}).",
)
"""Where runs are kept, as every command that makes or reads one calls it."""

host_option = click.option(
    "--host",
    metavar="auto|local|docker",
    help="Where the sandbox is: on this machine, in a container, or (auto, default) the first that works.",
)

_LAUNCH = (
    host_option,
    click.option(
        "--image",
        metavar="IMAGE",
        help="Run the command in this image; without one, the image's own. Or: oci:IMAGE",
    ),
    click.option(
        "--with",
        "pins",
        multiple=True,
        metavar="PKG==V",
        help="A version to install beside the package, where it needs an older one (npm: PKG@V).",
    ),
    click.option("--no-install-scripts", is_flag=True, help="Run nothing of a package at its installation."),
    click.option("--refresh", is_flag=True, help="Install the package's newest version again."),
    click.option("--workspace", metavar="DIR", help="A folder to copy into the box as the workspace."),
    click.option(
        "-e",
        "--env",
        "env",
        multiple=True,
        metavar="KEY[=VALUE]",
        help="A variable for the server; without a value, the one of this shell. Redacted in every output.",
    ),
    click.option(
        "--set",
        "values",
        multiple=True,
        metavar="NAME=VALUE",
        help="A value for an argument or input that a target's file asks for. Redacted as those of -e.",
    ),
    click.option("--expose", multiple=True, metavar="DIR", help="A folder that the server may read as well."),
    click.option("--transport", metavar="stdio|http", help="How to speak to the server (default stdio)."),
    click.option("--port", metavar="N", help="With --transport http: the port it listens on in the box."),
    click.option("--path", metavar="PATH", help="With --transport http: the URL path (default /mcp)."),
    click.option(
        "--limit",
        "limits",
        multiple=True,
        metavar="NAME=VALUE",
        help="memory_mb=2048, processes=512, file_mb=256, disk_mb=512, open_files=4096.",
    ),
    click.option(
        "--timeout", "timeouts", multiple=True, metavar="NAME=SECONDS", help="start=30, call=15, quiet=2."
    ),
    click.option("--seed", metavar="N", help="Makes the generated arguments differ (default 0)."),
    runs_option,
)
_PROBE = (
    click.option("--tool", "tools", multiple=True, metavar="PATTERN", help="Only tools whose name matches."),
    click.option(
        "--closed-world", multiple=True, metavar="HOST", help="A host that counts as part of the server."
    ),
    click.option("--profile", metavar="NAME", help="What the hints' words mean (default spec)."),
    click.option("--budget", metavar="SECONDS|Ncalls", help="A bound on the whole run."),
)
_FAIL = (
    click.option(
        "--fail-on", metavar="RUNG", help="contradicted (default), inconclusive, overcautious or never."
    ),
    click.option("--min-severity", metavar="LEVEL", help="low (default), medium or high."),
    click.option("--min-coverage", metavar="PERCENT", help="Tools that must be accepted at least once."),
)
_SEVERAL = (
    click.option(
        "--targets",
        multiple=True,
        metavar="FILE",
        help="A file with a target on each line, as after `hintproof verify`; # begins a comment.",
    ),
    click.option("--jobs", metavar="N", help="Servers at once (default 1)."),
)
json_option = click.option("--json", "as_json", is_flag=True, help="The report as JSON on standard output.")
quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress.")
verbose_option = click.option("-v", "--verbose", is_flag=True, help="Leave nothing out.")


def launch_options(function: Decorated) -> Decorated:
    """Options that say how the server is launched."""
    return _applied(_LAUNCH, function)


def probe_options(function: Decorated) -> Decorated:
    """Options that say what is probed and how it is read."""
    return _applied(_PROBE, function)


def several_options(function: Decorated) -> Decorated:
    """Options for several targets in one command."""
    return _applied(_SEVERAL, function)


def fail_options(function: Decorated) -> Decorated:
    """Options that decide the exit code."""
    return _applied(_FAIL, function)


def output_options(function: Decorated) -> Decorated:
    """Options that say what is printed."""
    return _applied((json_option, quiet_option, verbose_option), function)


def _applied(options: tuple[Callable[[Any], Any], ...], function: Decorated) -> Decorated:
    for option in reversed(options):
        function = option(function)
    return function
