"""From options to a job, and from a job to the run folder that keeps what comes of it."""

from __future__ import annotations

import dataclasses
import os
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from sandbox.cli.options import DEFAULT_RUNS, Words
from sandbox.config import Settings, resolve_settings
from sandbox.events import Event, Listener
from sandbox.evidence.runs import RunFolder, RunRecord, new_run_id
from sandbox.hosts.job import Job, Task
from sandbox.report.console import make_console
from sandbox.report.escaping import MASK, Masker
from sandbox.report.progress import progress
from sandbox.targets.dockerrun import PREFIX
from sandbox.targets.named import read_targets
from sandbox.targets.needs import missing_from
from sandbox.targets.orders import Given, Order, PackageOrder
from sandbox.targets.packagewords import named_package

_SETTINGS = frozenset(
    "host workspace env expose transport port path limits timeouts seed tools closed_world profile budget fail_on"
    " min_severity min_coverage".split()
)


def job_for(
    task: Task, named: Words, options: Mapping[str, Any], *, cwd: Path | None = None, **more: Any
) -> Job:
    """The job for the one server that a command line names; ``more`` is what the task needs.

    Raises as :func:`orders_for` and :func:`job_of` do, and click.UsageError where several servers are named.
    """
    start = cwd or Path.cwd()
    orders = orders_for(named, options, cwd=start)
    if len(orders) > 1:
        listed = ", ".join(order.name for order in orders[:20])
        raise click.UsageError(f"{len(orders)} servers are named, and one is needed. Name one of: {listed}.")
    return job_of(task, orders[0], options, cwd=start, **more)


def orders_for(
    named: Words, options: Mapping[str, Any], *, cwd: Path, several: bool = False
) -> tuple[Order, ...]:
    """The servers that a command line names, in its order; what they need is given by ``-e`` and ``--set``.

    With ``several`` this is one of several lines: a file that cannot be used is an order with a ``problem``.

    Raises UsageError and ConfigError where a word, a file, an option or a settings file is wrong,
    TargetNotFoundError for a file that is not there.
    """
    settings = resolve_settings(setting_flags(options), cwd=cwd, environ=os.environ)
    values = values_of(options)
    keep_secret([*settings.env.values(), *(value for each in values.values() for value in each)])
    image = options.get("image") or ""
    given = Given(settings.env, values)
    return read_targets(named.targets, named.command, cwd=cwd, given=given, image=image, several=several)


def job_of(
    task: Task, order: Order, options: Mapping[str, Any], *, cwd: Path | None = None, **more: Any
) -> Job:
    """The job for one server. Options of the command line win over what its file says.

    A server that cannot be run, or needs what only the user can give, has a job with that ``problem``. Raises UsageError
    and ConfigError where an option is wrong.
    """
    start = cwd or Path.cwd()
    keep_secret([*order.env.values(), *order.headers.values(), *order.secrets])
    package = _package(order, options)
    settings = _settings(order, options, start)
    problem, lacking = _problem(order, settings)
    job = Job(
        task=task,
        command=_command(order, package),
        cwd=order.cwd,
        settings=settings,
        image=order.image,
        package=package,
        refresh=bool(options.get("refresh")),
        words=order.words,
        typed_in=str(start),
        hidden=order.secrets,
        notes=order.notes,
        problem=problem,
        lacking=lacking,
        **more,
    )
    keep_secret(job.secrets)
    return dataclasses.replace(job, invocation=invocation(job.variables, values_of(options)))


def _settings(order: Order, options: Mapping[str, Any], cwd: Path) -> Settings:
    """The settings, with what the server's file says where the command line says nothing."""
    settings = resolve_settings(setting_flags(options), cwd=cwd, environ=os.environ)
    settings = dataclasses.replace(settings, env={**order.env, **settings.env})
    if order.transport == "http" and not options.get("transport"):
        port = settings.port or order.port or None
        path = settings.path if options.get("path") or not order.path else order.path
        settings = dataclasses.replace(settings, transport="http", port=port, path=path)
    return settings


def _problem(order: Order, settings: Settings) -> tuple[str, tuple[str, ...]]:
    """Why the server cannot be run as it is ("" for nothing), and the names of what only the user can give."""
    if order.problem:
        return order.problem, ()
    if order.needs:
        return missing_from(order), tuple(need.name for need in order.needs)
    if order.url:
        return (
            f"{order.name}: a server behind an address is nothing that a box can run. Name its package or its command.",
            (),
        )
    if settings.transport == "http" and not settings.port:
        return f"{order.name} listens on a port that its entry does not say. Give it with --port N.", (
            "port",
        )
    return "", ()


def _package(order: Order, options: Mapping[str, Any]) -> PackageOrder | None:
    """The order's package, with what the options say of its installation."""
    pins = tuple(options.get("pins") or ())
    if order.package is not None:
        scripts = order.package.scripts and not options.get("no_install_scripts")
        return dataclasses.replace(order.package, pins=(*order.package.pins, *pins), scripts=scripts)
    for option, value in (("--with", pins), ("--refresh", options.get("refresh"))):
        if value:
            raise click.UsageError(
                f"{option}: only for a package that hintproof installs, such as npm:NAME or pypi:NAME."
            )
    return None


def _command(order: Order, package: PackageOrder | None) -> tuple[str, ...]:
    """The server's command as a person would type it."""
    if order.image is not None:
        return order.image.command
    if package is None:
        return order.command
    return order.words[1:] if order.words[0] == "--" else (named_package(package), *package.arguments)


def refuse_missing(then: Sequence[str], now: Sequence[str]) -> None:
    """Raise click.UsageError for values of ``--set`` that a run had, by their names, and that are not given ``now``."""
    given = {word.partition("=")[0] for word in now}
    missing = [name for name in then if name not in given]
    if missing:
        raise click.UsageError(
            f"The run was given {', '.join(missing)}; give it again with --set {missing[0]}=VALUE."
        )


def values_of(options: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """What ``--set`` gives, by name. Raises click.UsageError for a word that is not NAME=VALUE."""
    found: dict[str, tuple[str, ...]] = {}
    for word in options.get("values") or ():
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise click.UsageError(f"--set {name}: write NAME=VALUE.")
        found[name] = (*found.get(name, ()), value)
    return found


def setting_flags(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a command's options that are settings."""
    return {name: value for name, value in options.items() if name in _SETTINGS}


def launch_flags(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a command's options that decide what is done with a server, without values of ``-e``."""
    more = {name: options.get(name) for name in ("image", "pins", "no_install_scripts", "refresh")}
    names = [word.split("=", 1)[0] for word in options.get("env") or ()]
    return {**setting_flags(options), **more, "env": names, "values": list(values_of(options))}


def keep_secret(values: Iterable[str]) -> None:
    """Have the door of the command line mask these values in whatever it says at the end."""
    context = click.get_current_context(silent=True)
    if context is not None and isinstance(context.obj, list):
        context.obj.extend(values)


@contextmanager
def run_folder(job: Job, options: Mapping[str, Any]) -> Iterator[RunFolder]:
    """A new run folder with the record of what is run and the ``options`` that it was given. Values of ``-e``
    are not written to it.

    Where the run ends before its time, says how to see the tools that had finished; without any, nothing is
    left.
    """
    runs = runs_folder(options)
    with RunFolder(runs, new_run_id(), Masker(job.secrets)) as folder:
        try:
            folder.save_record(run_record(job, options, folder.path.name))
            yield folder
        except BaseException:  # an interrupt too
            if folder.saved_tools:
                where = "" if runs == DEFAULT_RUNS else f" --runs {shlex.quote(str(runs))}"
                judge = f"hintproof judge {folder.path.name}{where}"
                click.echo(f"{folder.saved_tools} finished tools are kept: {judge}", err=True)
            else:
                folder.discard()
            raise


def run_record(job: Job, options: Mapping[str, Any], run: str) -> RunRecord:
    """What is kept of a run besides its evidence: enough to ask for the same again, without values of ``-e``."""
    flags = setting_flags(options)
    given = (word.split("=", 1)[0] for word in flags.get("env") or ())
    flags["env"] = list(dict.fromkeys([*given, *(job.image.env if job.image is not None else ())]))
    flags["values"] = list(values_of(options))
    if job.image is not None and not job.command[0].startswith(PREFIX):
        flags["image"] = options.get("image")
    if job.package is not None:
        flags |= {name: options.get(name) for name in ("pins", "no_install_scripts")}
    return RunRecord(
        run=run,
        target=job.target,
        command=job.command,
        invocation=job.invocation,
        seed=job.settings.seed,
        started_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        launch={**flags, "cwd": job.typed_in or job.cwd, "words": list(job.words or job.command)},
    )


def runs_folder(options: Mapping[str, Any]) -> Path:
    """Where runs are kept."""
    return Path(options.get("runs") or DEFAULT_RUNS)


@contextmanager
def listening(quiet: bool, secrets: tuple[str, ...]) -> Iterator[Listener]:
    """The listener that shows progress on standard error, or one that shows nothing."""
    if quiet:
        yield _silent
        return
    with progress(make_console(sys.stderr), secrets) as listener:
        yield listener


def _silent(event: Event, /) -> None:
    """Progress was not asked for."""
    del event


def invocation(env: Mapping[str, str], values: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """The command line of hintproof, without the values of ``-e`` and ``--set``, whatever their length."""
    words = ["hintproof", *sys.argv[1:]]
    given = [*env.items(), *((name, value) for name, each in values.items() for value in each)]
    for name, value in given:
        words = [word.replace(f"{name}={value}", f"{name}={MASK}") for word in words]
    return tuple(map(Masker([value for value in env.values() if value]), words))
