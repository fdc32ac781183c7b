"""Sets the stage for one server: launcher and gateway, the plan of its boxes, and the pool of its sessions."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from importlib import import_module

import anyio
import anyio.to_thread

from sandbox.boxes.launcher import Launcher
from sandbox.boxes.plan import BoxPlan, Exposure
from sandbox.effects import Collector, Readers
from sandbox.evidence.content import ContentStore
from sandbox.model import Limits, SeedEntry
from sandbox.session import Ground, Session, SessionPool, SessionSettings
from sandbox.targets.imageplaces import ImageFiles
from sandbox.targets.launch import Launch, WorkspacePlace
from sandbox.workspace import DEFAULT_WORKSPACE, Furnishing, Surroundings, furnish, plant_canaries
from sandbox.world import World, trust_seeds

SPARES = min(2, os.cpu_count() or 1)
"""Boxes that start in advance: a server's own start is most of a run's work, and each keeps about one core busy."""


@dataclass(frozen=True, slots=True)
class StageSettings:
    """What a stage is set with, beyond the launch itself.

    ``limits`` are the box's; ``seed`` makes canaries and samples; ``contents`` makes the store of before and
    after content, which lives as long as the stage.
    """

    limits: Limits
    session: SessionSettings
    seed: int
    contents: Callable[[], ContentStore] = ContentStore


@dataclass(slots=True)
class Stage:
    """Everything that probing one server needs, open for the time of a run."""

    launch: Launch
    pool: SessionPool
    surroundings: Surroundings
    content: ContentStore
    plan: BoxPlan
    readers: Readers
    seeded: frozenset[str]
    notes: tuple[str, ...]

    def collector(self, session: Session) -> Collector:
        """The collector of one session's box."""
        return Collector(
            session.box.layers,
            content=self.content,
            readers=self.readers,
            workspace=self.surroundings.workspace,
            home=self.plan.home,
            canaries=self.plan.canaries,
            seeded=self.seeded,
        )


@asynccontextmanager
async def staged(launch: Launch, settings: StageSettings, *, spares: int = SPARES) -> AsyncIterator[Stage]:
    """Start what a run needs; everything is closed on the way out, also after an error.

    Raises:
        NoSandboxError: no rung of the sandbox ladder works here.
        UsageError: the workspace cannot be furnished.
    """
    place = launch.workspace or WorkspacePlace(DEFAULT_WORKSPACE)
    furnishing = furnish(place.source, place.at, home=launch.home)
    with ExitStack() as stack:
        # The client's SDK takes more than a second to import; the daemon and the gateway start meanwhile.
        importer = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="import"))
        importing = importer.submit(import_module, "sandbox.client.conversation")
        world = stack.enter_context(closing(World.start()))
        launcher = stack.enter_context(closing(await anyio.to_thread.run_sync(Launcher.start)))
        content = stack.enter_context(closing(settings.contents()))
        readers = stack.enter_context(Readers())
        plan = box_plan(launch, furnishing, world, settings)
        roots = settings.session.roots or (furnishing.surroundings.workspace,)
        ground = Ground(launcher, world, plan, dataclasses.replace(settings.session, roots=roots))
        importing.result()
        async with SessionPool(ground, spares) as pool:
            yield Stage(
                launch=launch,
                pool=pool,
                surroundings=furnishing.surroundings,
                content=content,
                plan=plan,
                readers=readers,
                seeded=frozenset(seed.path for seed in plan.seeds),
                notes=(*launch.notes, *furnishing.notes),
            )


def box_plan(launch: Launch, furnishing: Furnishing, world: World, settings: StageSettings) -> BoxPlan:
    """The plan of every box of a run: code and workspace, decoys, and the gateway's certificate."""
    home = launch.home
    canaries = plant_canaries(home, settings.seed)
    decoys = canaries.seeds if launch.image is None else ImageFiles(launch.image.path).beside(canaries.seeds)
    planted = {seed.path for seed in decoys}
    environment: Mapping[str, str] = {
        **world.environment,
        **canaries.environment,
        **launch.env,
    }
    return BoxPlan(
        argv=launch.argv,
        env=environment,
        cwd=launch.cwd or furnishing.surroundings.workspace,
        exposures=_exposures(launch, furnishing),
        seeds=_merged(
            decoys,
            launch.seeds,
            furnishing.seeds,
            trust_seeds(world.ca_pem, launch.image.path if launch.image else ""),
        ),
        home=home,
        canaries=tuple(path for path in canaries.paths if path in planted),
        limits=settings.limits,
        stdout_is_log=settings.session.transport == "http",
        image=launch.image,
    )


def _exposures(launch: Launch, furnishing: Furnishing) -> tuple[Exposure, ...]:
    """What the box shows of the host: at the same path, or with an image where the user mounts it."""
    shown = dict.fromkeys(launch.exposures, "")
    mounted = {at: folder for folder, at in launch.mounts}
    place = launch.workspace
    if furnishing.lower is not None:
        if launch.image is None or place is None:
            shown[furnishing.lower] = ""
        else:
            mounted[place.at] = furnishing.lower
    return (
        *(Exposure(path) for path in shown),
        *(Exposure(folder, at) for at, folder in mounted.items()),
    )


def _merged(*groups: tuple[SeedEntry, ...]) -> tuple[SeedEntry, ...]:
    """One entry per path, later groups over earlier ones, parents before children."""
    entries = {entry.path: entry for group in groups for entry in group}
    return tuple(entries[path] for path in sorted(entries))
