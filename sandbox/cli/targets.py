"""The targets of one command: words before ``--``, a command after it, and lines of ``--targets`` files."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from sandbox.cli.options import ServerCommand, Words, command_words, launch_options, probe_options
from sandbox.cli.setup import job_of, orders_for
from sandbox.errors import TargetNotFoundError, UsageError
from sandbox.hosts.job import Job, Task
from sandbox.targets.orders import Order

MOST_TARGETS = 999

_MOST_BYTES = 1 << 20
_OF_THE_COMMAND = ("runs", "host")
"""Options that mean the whole command, so that a line of a file cannot have them."""


@dataclass(frozen=True, slots=True)
class Named:
    """One server that was named, and the options that hold for it alone or for all.

    ``where`` is the file and line that name it, "" for the command line.
    """

    order: Order
    options: Mapping[str, Any]
    where: str = ""

    @property
    def name(self) -> str:
        """What tables call it."""
        return self.order.name

    def job(self, task: Task, cwd: Path, **more: Any) -> Job:
        """The job of doing ``task`` with it. Raises as :func:`sandbox.cli.setup.job_of` does."""
        try:
            return job_of(task, self.order, self.options, cwd=cwd, **more)
        except (UsageError, click.ClickException) as error:
            if not self.where:
                raise
            said = error.format_message() if isinstance(error, click.ClickException) else str(error)
            raise UsageError(f"{self.where}: {said}") from error


def named_targets(
    words: tuple[str, ...],
    files: tuple[str, ...],
    options: Mapping[str, Any],
    cwd: Path,
    command: tuple[str, ...] | None = None,
) -> list[Named]:
    """All servers that a command line names, in its order: the words and the command after ``--`` first, then files.

    ``command`` takes the place of what stands after ``--`` on the present command line.

    Raises UsageError where a file cannot be read or names nothing, click.UsageError where no target is named.
    """
    after = command_words() if command is None else command
    named: list[Named] = []
    if words or after or not files:
        named += _of_words(Words(words, after), options, cwd)
    for file in files:
        named += _of_file(cwd / file, options, cwd)
    if len(named) > MOST_TARGETS:
        raise UsageError(f"{len(named)} servers are named, and one command takes at most {MOST_TARGETS}.")
    return named


def _of_words(words: Words, options: Mapping[str, Any], cwd: Path) -> list[Named]:
    return [Named(order, options) for order in orders_for(words, options, cwd=cwd)]


@click.command("line", cls=ServerCommand)
@click.argument("target", nargs=-1)
@launch_options
@probe_options
def _line() -> None:
    """A line of a file: what would stand after ``hintproof verify``."""


def _of_file(path: Path, options: Mapping[str, Any], folder: Path) -> Iterator[Named]:
    found = False
    for number, words in _lines(path):
        found = True
        try:
            context = _line.make_context("hintproof verify", list(words))
            own = {
                key: value
                for key, value in context.params.items()
                if context.get_parameter_source(key) is ParameterSource.COMMANDLINE
            }
            target = own.pop("target", ())
            wrong = [key for key in own if key in _OF_THE_COMMAND]
            if wrong:
                raise click.UsageError(f"--{wrong[0]} holds for all targets; give it on the command line.")
            line, more = Words(target, command_words(context)), _merged(options, own)
            for order in _orders(line, more, folder):
                yield Named(order, more, f"{path}:{number}")
        except click.exceptions.Exit as error:
            raise UsageError(f"{path}:{number}: a line names a target.") from error
        except click.ClickException as error:
            raise UsageError(f"{path}:{number}: {error.format_message()}") from error
        except UsageError as error:
            raise UsageError(f"{path}:{number}: {error}") from error
    if not found:
        raise UsageError(f"{path} names no target. Write one on each line, as after `hintproof verify`.")


def _orders(line: Words, options: Mapping[str, Any], cwd: Path) -> tuple[Order, ...]:
    """The servers of one line. A file that is not there is its own server's fault, which is told in its place."""
    try:
        return orders_for(line, options, cwd=cwd, several=True)
    except TargetNotFoundError as error:
        words = (*line.targets, *(("--", *line.command) if line.command else ()))
        return (Order(shlex.join(words), words, str(cwd), command=words, problem=str(error)),)


def _lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The words of each line that is no comment, with the line's number."""
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"--targets {path}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--targets {path}: is not a text in UTF-8.") from error
    if len(content) > _MOST_BYTES:
        raise UsageError(f"--targets {path}: is larger than {_MOST_BYTES} bytes; is it a list of targets?")
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            try:
                yield number, shlex.split(line)
            except ValueError as error:
                raise UsageError(f"{path}:{number}: {error}.") from error


def _merged(options: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """A line's options over those of the command; of what repeats, both."""
    merged = dict(options)
    for key, value in own.items():
        before = options.get(key)
        merged[key] = (*before, *value) if isinstance(before, tuple) and isinstance(value, tuple) else value
    return merged
