"""From options to a job, and from a job to the run folder that keeps what comes of it."""

from __future__ import annotations

import dataclasses
import os
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from sandbox.cli.options import DEFAULT_RUNS
from sandbox.config import resolve_settings
from sandbox.events import Event, Listener
from sandbox.evidence.runs import RunFolder, RunRecord, new_run_id
from sandbox.hosts.job import Job, Task
from sandbox.report.console import make_console
from sandbox.report.escaping import MASK, Masker
from sandbox.report.progress import progress
from sandbox.targets.dockerrun import PREFIX, image_order
from sandbox.targets.orders import PackageOrder
from sandbox.targets.packagewords import missing_package, names_package, package_order

_SETTINGS = frozenset(
    "host workspace env expose transport port path limits timeouts seed tools closed_world profile budget fail_on"
    " min_severity min_coverage".split()
)


def job_for(
    task: Task,
    command: tuple[str, ...],
    options: Mapping[str, Any],
    *,
    cwd: Path | None = None,
    **more: Any,
) -> Job:
    """A job from the options of the command line; ``more`` is what the task needs.

    Raises UsageError and ConfigError where an option or a settings file is wrong, TargetNotFoundError for the
    archive of an image that is not there.
    """
    start = cwd or Path.cwd()
    settings = resolve_settings(setting_flags(options), cwd=start, environ=os.environ)
    order = image_order(command, image=options.get("image") or "", cwd=start)
    if order is None and not command:
        raise click.UsageError("No target. Name the server's command after --, such as: -- python server.py")
    job = Job(
        task=task,
        command=command if order is None else order.command,
        cwd=str(start),
        settings=settings,
        image=order,
        package=_package(command, options, start) if order is None else None,
        refresh=bool(options.get("refresh")),
        **more,
    )
    for option, value in (("--with", options.get("pins")), ("--refresh", job.refresh)):
        if value and job.package is None:
            raise click.UsageError(
                f"{option}: only for a package that hintproof installs, such as npm:NAME or pypi:NAME."
            )
    keep_secret(job.secrets)
    return dataclasses.replace(job, invocation=invocation(job.variables))


def _package(command: tuple[str, ...], options: Mapping[str, Any], cwd: Path) -> PackageOrder | None:
    """The package that the target is, or that its runner would install."""
    pins = tuple(options.get("pins") or ())
    scripts = not options.get("no_install_scripts")
    if names_package(command[0]):
        return package_order(command, pins, scripts=scripts)
    if sys.platform != "linux":  # what is installed is found out in the container
        return None
    return missing_package(command, cwd=cwd, environ=os.environ, pins=pins, scripts=scripts)


def setting_flags(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a command's options that are settings."""
    return {name: value for name, value in options.items() if name in _SETTINGS}


def launch_flags(options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of a command's options that decide what is done with a server, without values of ``-e``."""
    more = {name: options.get(name) for name in ("image", "pins", "no_install_scripts", "refresh")}
    names = [word.split("=", 1)[0] for word in options.get("env") or ()]
    return {**setting_flags(options), **more, "env": names}


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
        launch={**flags, "cwd": job.cwd},
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


def invocation(env: Mapping[str, str]) -> tuple[str, ...]:
    """The command line of hintproof, without the values of ``-e``, whatever their length."""
    words = ["hintproof", *sys.argv[1:]]
    for name, value in env.items():
        words = [word.replace(f"{name}={value}", f"{name}={MASK}") for word in words]
    return tuple(map(Masker([value for value in env.values() if value]), words))
