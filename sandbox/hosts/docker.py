"""The docker host: the same engine in one container, which sees of this machine what the server needs."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from sandbox.containers.connection import Docker, connect
from sandbox.containers.container import EngineContainer
from sandbox.containers.ownimage import PYTHON, find_image
from sandbox.containers.spec import SCRATCH, ContainerRung, ContainerSpec, Mount, rungs
from sandbox.containers.trial import outside
from sandbox.errors import (
    BoxLostError,
    ImageMissingError,
    NoSandboxError,
    ServerStartError,
    TargetNotFoundError,
)
from sandbox.events import Listener, Progress, starting_once
from sandbox.evidence.runs import RunFolder
from sandbox.hosts.ending import Process, account_of_end
from sandbox.hosts.imagevolume import unpacked_in_volume
from sandbox.hosts.job import Answer, Job
from sandbox.hosts.layervolume import installed_in_volume
from sandbox.hosts.mounts import Sight
from sandbox.hosts.stream import hear, write_job
from sandbox.model import Investigation, Report

_ARGV = (PYTHON, "-I", "-m", "sandbox.hosts.inside")

_BOXES = 4
"""At once: one in use, two that start in advance, one that is being thrown away (probe/stage.py)."""

_ENGINE_MB, _ENGINE_PIDS = 1024, 256
"""The engine's own: its processes, the content that it keeps in memory, and the run folder in the scratch."""


class Engine(Process, Protocol):
    """A running engine and its streams."""

    def send(self, data: bytes) -> None:
        """Write to its standard input, which stays open."""

    def lines(self) -> Iterator[bytes]:
        """The lines of its standard output."""


def perform(job: Job, folder: RunFolder | None, listener: Listener) -> Answer:
    """Do a job in a container; evidence comes into ``folder`` as the engine gathers it.

    Raises:
        NoSandboxError: Docker, the image or a way to build boxes in a container is missing, with what to do.
        ContainerLostError, BoxLostError: the container or the engine in it ended before its time.
        StreamError, EngineFaultError: a fault of ours in there.
        HintproofError: as the local host does.
    """
    job = job if folder is None else dataclasses.replace(job, run=folder.path.name)
    sight = _look(job)
    with connect() as docker:
        image = find_image(docker)
        listener(Progress("starting the container"))

        def run(rung: ContainerRung) -> Answer:
            tell = starting_once(listener)
            spec = container_spec(image, rung, sight, docker.facts.cpus)
            with _prepared(docker, image, rung, sight, listener) as (told, mounts):
                spec = dataclasses.replace(spec, mounts=(*spec.mounts, *mounts))
                with EngineContainer.start(docker, spec) as engine:
                    return converse(engine, dataclasses.replace(sight, job=told), folder, tell)

        return with_facts(climb(rungs(docker.facts), run), job, image)


@contextmanager
def _prepared(
    docker: Docker, image: str, rung: ContainerRung, sight: Sight, listener: Listener
) -> Iterator[tuple[Job, tuple[Mount, ...]]]:
    """The job with what other containers had to make for it first, and the mounts that show it."""
    job = sight.job
    if job.package is not None:
        with installed_in_volume(docker, image, rung, sight, listener) as installed:
            yield dataclasses.replace(job, layer=installed.layer), (installed.mount,)
    elif job.image is not None:
        with unpacked_in_volume(docker, image, rung, job.image, listener) as kept:
            yield dataclasses.replace(job, unpacked=kept.unpacked), (kept.mount,)
    else:
        yield job, ()


def _look(job: Job) -> Sight:
    """What the container sees; where the local host cannot be, its rooms do not even load."""
    if sys.platform == "linux":
        from sandbox.hosts.closure import look
    else:
        from sandbox.hosts.elsewhere import look
    return look(job, os.environ)


def climb(ladder: Sequence[ContainerRung], run: Callable[[ContainerRung], Answer]) -> Answer:
    """The answer on the first rung on which boxes can be built; each but the first allows the container more."""
    failed = []
    for rung in ladder:
        try:
            return run(rung)
        except ImageMissingError:
            raise
        except NoSandboxError as error:
            said = re.sub("inside a container, .*", lambda found: outside(found[0]), str(error))
            failed.append(f"  {rung.name}, {rung.meaning}: {said}")
    raise NoSandboxError("no sandbox can be built in a container here:\n" + "\n".join(failed))


def container_spec(image: str, rung: ContainerRung, sight: Sight, cpus: int) -> ContainerSpec:
    """The container for one job. Its limits are those of the boxes that it holds at once, and the engine's own."""
    limits = sight.job.settings.limits
    return ContainerSpec(
        image=image,
        argv=_ARGV,
        rung=rung,
        mounts=tuple(Mount(bind.source, bind.target) for bind in sight.view.binds),
        folders=tuple(path for path in sight.view.folders if path != SCRATCH),
        memory_mb=_BOXES * (limits.memory_mb + limits.disk_mb) + _ENGINE_MB,
        cpus=cpus,
        pids=_BOXES * limits.processes + _ENGINE_PIDS,
    )


def converse(engine: Engine, sight: Sight, folder: RunFolder | None, listener: Listener) -> Answer:
    """Give an engine its job and take what it tells until its answer.

    Raises:
        HintproofError: as for ``perform``; the target that is missing in there is told with the reason.
    """
    engine.send(write_job(sight.job))
    try:
        answer = hear(engine.lines(), sight.job, folder, listener)
    except TargetNotFoundError as error:
        raise TargetNotFoundError(
            "\n".join(filter(None, [f"in the container, {error}", sight.if_missing]))
        ) from error
    except ServerStartError as error:
        raise ServerStartError("\n".join(filter(None, [str(error), sight.if_it_fails]))) from error
    if answer is None:
        raise BoxLostError(account_of_end(engine))
    return answer


def with_facts(answer: Answer, job: Job, image: str) -> Answer:
    """The answer with what is known here, whatever the container says of it."""
    if isinstance(answer, Investigation):
        return dataclasses.replace(answer, report=_reported(answer.report, job, image))
    return _reported(answer, job, image) if isinstance(answer, Report) else answer


def _reported(report: Report, job: Job, image: str) -> Report:
    return dataclasses.replace(
        report,
        run=job.run,
        target=job.target,
        command=job.command,
        invocation=job.invocation,
        seed=job.settings.seed,
        profile=job.profile.name,
        host="docker",
        host_image=image,
    )
