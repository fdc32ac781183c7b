"""From options to what the rooms below take: settings, launch, stage and probe."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from sandbox.cli.options import DEFAULT_RUNS
from sandbox.config import Settings, resolve_settings
from sandbox.events import Event, Listener
from sandbox.evidence.runs import RunFolder, RunRecord, new_run_id
from sandbox.policy import Profile, profile_named
from sandbox.probe.settings import ProbeSettings
from sandbox.probe.stage import StageSettings
from sandbox.report.console import make_console
from sandbox.report.escaping import MASK, Masker
from sandbox.report.progress import progress
from sandbox.session import SessionSettings
from sandbox.targets import Launch, resolve

_SETTINGS = frozenset(
    "workspace env expose transport port path limits timeouts seed tools closed_world profile budget fail_on"
    " min_severity min_coverage".split()
)


@dataclass(frozen=True, slots=True)
class Job:
    """One server to work on, with everything resolved."""

    command: tuple[str, ...]
    cwd: Path
    settings: Settings
    launch: Launch
    stage: StageSettings
    probe: ProbeSettings
    runs: Path
    flags: Mapping[str, Any] = field(default_factory=dict)

    @property
    def profile(self) -> Profile:
        """The profile asked for."""
        return profile_named(self.settings.profile)

    @property
    def target(self) -> str:
        """The command in one line, as a shell would take it."""
        return shlex.join(self.command)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Values that no output may show: those given with ``-e``."""
        return tuple(value for value in self.settings.env.values() if value)

    @property
    def invocation(self) -> tuple[str, ...]:
        """The command line of hintproof, without the values of ``-e``, whatever their length."""
        words = ["hintproof", *sys.argv[1:]]
        for name, value in self.settings.env.items():
            words = [word.replace(f"{name}={value}", f"{name}={MASK}") for word in words]
        return tuple(map(Masker(self.secrets), words))

    @property
    def closed_world(self) -> tuple[str, ...]:
        """Hosts that count as the server's own: those asked for and those that the user gave the server."""
        return tuple(dict.fromkeys([*self.settings.closed_world, *self.launch.hosts]))


def job_for(command: tuple[str, ...], options: Mapping[str, Any], *, cwd: Path | None = None) -> Job:
    """Resolve one command and its options.

    Raises:
        UsageError, ConfigError: an option or a settings file is wrong.
        TargetNotFoundError: the command is not on this machine.
    """
    start = cwd or Path.cwd()
    flags = {name: value for name, value in options.items() if name in _SETTINGS}
    settings = resolve_settings(flags, cwd=start, environ=os.environ)
    launch = resolve(
        command, cwd=start, env=settings.env, expose=settings.expose, workspace=settings.workspace
    )
    job = Job(
        command=command,
        cwd=start,
        settings=settings,
        launch=launch,
        stage=StageSettings(
            limits=settings.limits,
            session=SessionSettings(
                handshake_s=settings.timeouts.start,
                quiet_ms=settings.timeouts.quiet * 1000,
                transport=settings.transport,
                port=settings.port or 0,
                path=settings.path,
            ),
            seed=settings.seed,
            mask=Masker(tuple(settings.env.values())),
        ),
        probe=ProbeSettings(
            seed=settings.seed,
            call_timeout_ms=settings.timeouts.call * 1000,
            budget_s=settings.budget.seconds or 0,
            budget_calls=settings.budget.calls or 0,
        ),
        runs=Path(options.get("runs") or DEFAULT_RUNS),
        flags={**flags, "env": [word.split("=", 1)[0] for word in flags.get("env") or ()]},
    )
    keep_secret(job.secrets)
    return job


def keep_secret(values: Iterable[str]) -> None:
    """Have the door of the command line mask these values in whatever it says at the end."""
    context = click.get_current_context(silent=True)
    if context is not None and isinstance(context.obj, list):
        context.obj.extend(values)


@contextmanager
def run_folder(job: Job) -> Iterator[RunFolder]:
    """A new run folder with the record of what is run. Values of ``-e`` are not written to it.

    Where the run ends before its time, says how to see the tools that had finished; without any, nothing is
    left.
    """
    with RunFolder(job.runs, new_run_id(), Masker(job.secrets)) as folder:
        try:
            folder.save_record(
                RunRecord(
                    run=folder.path.name,
                    target=job.target,
                    command=job.command,
                    invocation=job.invocation,
                    seed=job.probe.seed,
                    started_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                    launch={**job.flags, "cwd": str(job.cwd)},
                )
            )
            yield folder
        except BaseException:  # an interrupt too
            if folder.saved_tools:
                where = "" if job.runs == DEFAULT_RUNS else f" --runs {shlex.quote(str(job.runs))}"
                judge = f"hintproof judge {folder.path.name}{where}"
                click.echo(f"{folder.saved_tools} finished tools are kept: {judge}", err=True)
            else:
                folder.discard()
            raise


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
