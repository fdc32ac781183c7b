"""The local host: the engine in this process, its boxes on this machine."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import anyio

from sandbox.boxes.launcher import Launcher
from sandbox.config.caches import cache_folder
from sandbox.containers.cache import ImageCache, UnpackedImage
from sandbox.containers.provide import check_platform, provided
from sandbox.errors import NoSandboxError, ServerStartError, TargetNotFoundError
from sandbox.events import Listener, Progress
from sandbox.evidence.content import ContentStore
from sandbox.evidence.runs import RunFolder
from sandbox.hosts.asked import asked_again
from sandbox.hosts.job import Answer, Job, Task
from sandbox.investigate import investigate
from sandbox.linux.namespaces import server_owner
from sandbox.listing import list_server
from sandbox.model import Investigation, Listing, Remark, Replay, Report
from sandbox.probe.settings import ProbeSettings
from sandbox.probe.stage import StageSettings
from sandbox.provision.provide import provided as install_or_find
from sandbox.replay import replay
from sandbox.report.installed import installation_lines
from sandbox.session import SessionSettings
from sandbox.targets.dockerrun import ImageOrder
from sandbox.targets.images import image_launch
from sandbox.targets.launch import Launch
from sandbox.targets.layers import Layer
from sandbox.targets.orders import PackageOrder
from sandbox.targets.packages import package_launch
from sandbox.targets.resolve import resolve
from sandbox.verify import VerifyOptions, verify

_MOST_TRIES = 8
"""Made-up values with which a server is started again, one after the other if it asks for one at a time."""


def perform(job: Job, folder: RunFolder | None, listener: Listener) -> Answer:
    """Do a job here. Evidence goes to ``folder``, which the tasks ``verify`` and ``investigate`` need.

    Raises:
        UsageError: what the job asks for cannot be meant.
        TargetNotFoundError: the command or the image is not on this machine.
        ImageError: the image cannot be unpacked.
        NoSandboxError: no sandbox works on this machine.
        ServerStartError: the server could not be started or spoken to.
        NothingVerifiedError: it lists no tools, or none of those asked for.
    """
    tried: tuple[str, ...] = ()
    while True:
        try:
            return _perform(job, folder, listener)
        except ServerStartError as error:
            again = asked_again(job, error, tried) if len(tried) < _MOST_TRIES else None
            if again is None:
                raise
            job, names = again
            tried = (*tried, *names)
            listener(Progress(f"starting the server again with made-up values for {', '.join(names)}"))


def _perform(job: Job, folder: RunFolder | None, listener: Listener) -> Answer:
    with _launched(job, listener) as resolved:
        launch = dataclasses.replace(resolved, notes=(*job.notes, *resolved.notes))
        match job.task:
            case Task.LIST:
                listener(Progress("starting the server"))
                return _list(job, launch)
            case Task.REPLAY:
                listener(Progress("making the calls again in a fresh box"))
                return _replay(job, launch)
        if folder is None:
            raise ValueError(f"the task {job.task} keeps evidence and was given no folder for it")
        if job.task is Task.VERIFY:
            return _verify(job, launch, folder, listener)
        return _investigate(job, launch, folder, listener)


def _investigate(job: Job, launch: Launch, folder: RunFolder, listener: Listener) -> Investigation:
    return anyio.run(
        partial(
            investigate,
            launch,
            job.tool,
            job.arguments,
            target=job.target,
            invocation=job.invocation,
            profile=job.profile,
            probe=_probe(job) if job.arguments is None else dataclasses.replace(_probe(job), calls=0),
            stage=_stage(job, folder),
            closed_world=_closed_world(job, launch),
            folder=folder,
            listener=listener,
        )
    )


@contextmanager
def _launched(job: Job, listener: Listener) -> Iterator[Launch]:
    """How the job's server is launched; its image, if it lies in one, stays unpacked for the length of the block."""
    if job.package is not None:
        with installed(job, job.package, listener) as layer:
            yield _of_package(job, job.package, layer)
        return
    if job.image is None:
        yield _resolved(job)
        return
    check_platform(job.image.platform)
    if job.unpacked:
        yield _of_image(job, job.image, UnpackedImage.decode(job.unpacked))
    else:
        missing = obstacle()
        if missing is not None:  # told before an image is unpacked, which can take minutes
            raise missing
        order = job.image
        cache = ImageCache(cache_folder(os.environ, "images"), server_owner())

        def say(text: str) -> None:
            listener(Progress(text))

        with provided(
            cache, order.image, user=order.user, groups=order.groups, pull=order.pull, say=say
        ) as image:
            yield _of_image(job, order, image)


@contextmanager
def installed(job: Job, order: PackageOrder, listener: Listener) -> Iterator[Layer]:
    """The layer of the job's package, which stays for the length of the block: installed now, where it is not yet.

    Raises InstallError, NoSandboxError.
    """
    if job.layer is not None:
        yield job.layer
        return

    def starts(layer: Layer) -> str:
        try:
            anyio.run(partial(list_server, _of_package(job, order, layer), _stage(job)))
        except ServerStartError as error:
            return str(error)
        except TargetNotFoundError:  # it is told once the package is installed
            return ""
        return ""

    def say(text: str) -> None:
        listener(Progress(text))

    with install_or_find(order, environ=os.environ, starts=starts, refresh=job.refresh, say=say) as layer:
        yield layer


def _of_package(job: Job, order: PackageOrder, layer: Layer) -> Launch:
    return package_launch(
        order,
        layer,
        command=job.command,
        cwd=Path(job.cwd),
        environ=os.environ if job.environ is None else job.environ,
        env=job.settings.env,
        expose=job.settings.expose,
        workspace=job.settings.workspace,
    )


def _of_image(job: Job, order: ImageOrder, image: UnpackedImage) -> Launch:
    return image_launch(
        order,
        image,
        cwd=Path(job.cwd),
        environ=os.environ if job.environ is None else job.environ,
        env=job.settings.env,
        expose=job.settings.expose,
        workspace=job.settings.workspace,
    )


def _resolved(job: Job) -> Launch:
    settings = job.settings
    launch = resolve(
        job.stands_for or job.command,
        cwd=Path(job.cwd),
        env=settings.env,
        expose=settings.expose,
        workspace=settings.workspace,
        environ=job.environ,
    )
    return dataclasses.replace(launch, command=job.command)


def obstacle() -> NoSandboxError | None:
    """Why no server can be run on this machine, or None where a trial box works."""
    try:
        Launcher.start().close()
    except NoSandboxError as error:
        return error
    return None


def _verify(job: Job, launch: Launch, folder: RunFolder, listener: Listener) -> Report:
    options = VerifyOptions(
        target=job.target,
        invocation=job.invocation,
        profile=job.profile,
        probe=_probe(job),
        stage=_stage(job, folder),
        tools=job.settings.tools,
        closed_world=_closed_world(job, launch),
        allow=job.settings.allow,
        examples=job.examples,
    )
    return anyio.run(partial(verify, launch, options, folder, listener))


def _list(job: Job, launch: Launch) -> Listing:
    calls = _probe(job).calls if job.proposals else 0
    listing = anyio.run(partial(list_server, launch, _stage(job), seed=job.settings.seed, calls=calls))
    if launch.installation is None:
        return listing
    told = [Remark("installation", line) for line in installation_lines(launch.installation)]
    return dataclasses.replace(listing, remarks=(*told, *listing.remarks))


def _replay(job: Job, launch: Launch) -> Replay:
    if job.finding is None:
        raise ValueError("there is no finding to replay")
    return anyio.run(partial(replay, launch, job.finding, job.profile, _probe(job), _stage(job)))


def _closed_world(job: Job, launch: Launch) -> tuple[str, ...]:
    """Hosts that count as the server's own: those asked for and those that the user gave the server."""
    return tuple(dict.fromkeys([*job.settings.closed_world, *launch.hosts]))


def _probe(job: Job) -> ProbeSettings:
    settings = job.settings
    return ProbeSettings(
        seed=settings.seed,
        call_timeout_ms=settings.timeouts.call * 1000,
        budget_s=settings.budget.seconds or 0,
        budget_calls=settings.budget.calls or 0,
    )


def _stage(job: Job, folder: RunFolder | None = None) -> StageSettings:
    settings = job.settings
    return StageSettings(
        limits=settings.limits,
        session=SessionSettings(
            handshake_s=settings.timeouts.start,
            quiet_ms=settings.timeouts.quiet * 1000,
            transport=settings.transport,
            port=settings.port or 0,
            path=settings.path,
        ),
        seed=settings.seed,
        contents=folder.contents if folder is not None else ContentStore,
    )
