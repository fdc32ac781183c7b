"""The box of an installation: one command that reaches the registries, and the folder that it leaves."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.boxes.box import Box
from sandbox.boxes.launcher import Launcher
from sandbox.boxes.plan import BoxPlan, Exposure
from sandbox.effects import Collector, Readers
from sandbox.errors import CancelledError
from sandbox.evidence.content import ContentStore
from sandbox.linux.base import SYSTEM_FOLDERS
from sandbox.linux.namespaces import server_owner
from sandbox.model import HOME, Instrument, SeedEntry
from sandbox.provision.contacts import Contacts, foreign
from sandbox.provision.plan import Installed, InstallPlan, Tree
from sandbox.provision.treecopy import CopyRules, copy_tree, shown_folders
from sandbox.provision.watching import Watching
from sandbox.workspace import plant_canaries
from sandbox.world import ExchangeLog, World, machine_certificates, trust_seeds

_SETTINGS = frozenset({".netrc", ".npmrc", ".pypirc", ".git-credentials", ".docker/config.json"})
"""Decoys that installers read as their own settings: in an installation they would accuse everyone."""

_GATE = 'read -r go && exec "$@" </dev/null'
"""What the box begins with: the instruments are in place before the command is."""

_LOOK_S = 0.05
_SETTLE_S = 3.0


def install(plan: InstallPlan, into: Path, *, cancelled: Callable[[], bool] = lambda: False) -> Installed:
    """Run the plan's command in a box of its own, and copy the folder that it made to ``into``.

    ``into`` is an empty folder of the caller's, who removes it when nothing is to be kept; an empty folder stands beside it meanwhile. ``cancelled`` is asked some times a second;
    the box is ended when it says so. What the command does is data, however it ends. Any thread may call it; it blocks.

    Raises:
        ValueError: ``plan.hosts`` cannot be read.
        UsageError: an exposure that cannot be.
        NoSandboxError: no sandbox works on this machine.
        BoxLostError: one of our own processes died.
        InstallError: the folder cannot be kept: it holds more than the limits allow, or ``into`` cannot be written.
        CancelledError: ``cancelled`` said so.
    """

    def check() -> None:
        if cancelled():
            raise CancelledError("the installation was cancelled")

    started = time.monotonic()
    with _launched(plan, into) as (box, exchanges):
        with _collecting(plan, box) as collector:
            watching = Watching(box, exchanges, apart=(plan.folder, *plan.aside))
            collector.collect(watching.observed())
            with suppress(BrokenPipeError):  # a box whose first folder is not there has ended already
                os.write(box.stdin, b"go\n")
            stopped = _wait(box, watching, started + plan.seconds, plan.seconds, check)
            _settle(box, watching)
            limits = tuple(box.limits_hit())
            status = None if stopped else box.exit_status
            observed = watching.finish()
            effects = collector.collect(observed)
            missing = watching.missing | (frozenset(Instrument) - collector.instruments)
        contacts = Contacts.of(observed.exchanges, plan.hosts)
        if status is None and not stopped:
            stopped = (
                "; ".join(sentence for _, sentence in limits) or "the box of the installation was killed"
            )
        return Installed(
            status=status,
            seconds=time.monotonic() - started,
            stdout=watching.stdout(),
            stderr=box.stderr_tail(),
            tree=_copied(plan, box, into, check) if status == 0 else None,
            effects=tuple(effect for effect in effects if foreign(effect, contacts)),
            relayed=contacts.relayed,
            refused=contacts.refused,
            unreached=contacts.unreached,
            stopped=stopped,
            limits_hit=limits,
            missing=missing,
        )


@contextmanager
def _launched(plan: InstallPlan, into: Path) -> Iterator[tuple[Box, ExchangeLog]]:
    with (
        closing(World.start()) as world,
        Launcher.start() as launcher,
        # Beside what is made: whoever removes that after a crash removes this.
        tempfile.TemporaryDirectory(prefix="empty-", dir=into.parent) as empty,
    ):
        warden, exchanges = world.attach("install", relay=plan.hosts, addresses=plan.addresses)
        with closing(exchanges):
            try:
                box = launcher.launch(_box_plan(plan, empty), warden)
            finally:
                os.close(warden)
            with box:
                yield box, exchanges


def _box_plan(plan: InstallPlan, empty: str) -> BoxPlan:
    decoys = _decoys() if plan.canaries else _Decoys()
    certificates = plan.certificates
    if certificates is None:
        certificates = machine_certificates(os.environ)
    own = (plan.folder, *plan.aside)
    seeds = {
        seed.path: seed
        for seed in (
            *decoys.seeds,
            *trust_seeds(certificates),
            *(SeedEntry(path, "dir", 0o755) for path in own),
            *plan.seeds,
        )
    }
    # What installers leave behind there (node's compiled code) says nothing of a package.
    temporary = {"TMPDIR": plan.aside[0]} if plan.aside else {}
    return BoxPlan(
        argv=("/bin/sh", "-c", _GATE, "sh", *plan.argv),
        env={**World.environment, **decoys.environment, **temporary, **plan.env},
        cwd=plan.cwd or plan.folder,
        exposures=(*plan.exposures, *(Exposure(empty, at) for at in own)),
        seeds=tuple(seeds[path] for path in sorted(seeds)),
        canaries=tuple(path for path in decoys.paths if path in seeds),
        limits=plan.limits,
        watch_files=False,
    )


@dataclass(frozen=True, slots=True)
class _Decoys:
    seeds: tuple[SeedEntry, ...] = ()
    paths: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def _decoys() -> _Decoys:
    planted = plant_canaries(HOME)
    left_out = {f"{HOME}/{name}" for name in _SETTINGS}
    seeds = tuple(seed for seed in planted.seeds if seed.path not in left_out)
    return _Decoys(seeds, planted.paths, dict(planted.environment))


@contextmanager
def _collecting(plan: InstallPlan, box: Box) -> Iterator[Collector]:
    """The collector of what happens outside of the plan's own folders."""
    own = {plan.folder, *plan.aside}
    with closing(ContentStore()) as content, Readers() as readers:
        collector = Collector(
            [layer for layer in box.layers if layer.prefix not in own],
            content=content,
            readers=readers,
            workspace=plan.folder,
            home=HOME,
            canaries=plant_canaries(HOME).paths,
        )
        with closing(collector):
            yield collector


def _wait(box: Box, watching: Watching, deadline: float, seconds: float, check: Callable[[], None]) -> str:
    """Wait for the command's end; returns why it was ended, "" where it ended by itself."""
    while box.alive:
        watching.look(_LOOK_S)
        box.check()
        check()
        if time.monotonic() > deadline:
            return f"the installation took longer than {seconds:.0f} seconds"
    return ""


def _settle(box: Box, watching: Watching) -> None:
    """Let what the command left behind come to rest, within bounds."""
    deadline = time.monotonic() + _SETTLE_S
    while box.processes() and time.monotonic() < deadline:
        watching.look(_LOOK_S)
        if box.quiet():
            return


def _copied(plan: InstallPlan, box: Box, into: Path, check: Callable[[], None]) -> Tree:
    layer = next(layer for layer in box.layers if layer.prefix == plan.folder)
    shown = shown_folders(SYSTEM_FOLDERS, (each.at or each.path for each in plan.exposures))
    # Where the ids of a shown folder cannot be mapped, a server may write only to what is its own.
    owner = server_owner() if os.geteuid() == 0 else None
    rules = CopyRules(plan.folder, shown, plan.limits.disk_mb << 20, cancelled=check, owner=owner)
    return copy_tree(layer.upper, str(into), rules)
