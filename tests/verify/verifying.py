"""Whole verifications of servers with a known truth, side by side, and the questions that tests ask of them."""

from __future__ import annotations

import contextlib
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import psutil

from sandbox.events import CallFinished, Event
from sandbox.evidence.runs import RunFolder, new_run_id
from sandbox.linux.base import BASE
from sandbox.model import EffectKind, Finding, Hint, Limits, Report, ToolReport, Verdict
from sandbox.policy import SPEC
from sandbox.probe.settings import ProbeSettings
from sandbox.probe.stage import StageSettings
from sandbox.session import SessionSettings
from sandbox.targets.resolve import resolve
from sandbox.verify import VerifyOptions, verify

CATALOGUES = (Path(__file__).parents[1] / "servers", Path(__file__).with_name("attackers"))
PATIENCE_S = 10.0

LIMITS = Limits()
QUICK = ProbeSettings(shrinks=1, confirm_idle_ms=250, settle_ms=900, dirty_settle_ms=700, calls=8)
"""Fewer calls and shorter idling than a user's run; longer than every delay of the servers here."""


@dataclass(frozen=True)
class Run:
    """One verification to make: a server of the catalogue, the words after its workspace, and how it is probed."""

    server: str
    words: Sequence[str] = ()
    probe: ProbeSettings = QUICK
    tools: tuple[str, ...] = ()
    limits: Limits = LIMITS
    handshake_s: float = 30.0
    expose: tuple[Path, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    on_call: Callable[[CallFinished], None] = lambda _: None


@dataclass(frozen=True)
class Verified:
    """One finished run."""

    report: Report

    def tool(self, name: str) -> ToolReport:
        """What is said of one tool."""
        return next(tool for tool in self.report.tools if tool.tool.name == name)

    def finding(self, tool: str, hint: Hint) -> Finding:
        """What is said of one hint."""
        return next(finding for finding in self.tool(tool).findings if finding.hint is hint)

    def verdict(self, tool: str, hint: Hint) -> tuple[str, str]:
        """Verdict and reason of one hint."""
        finding = self.finding(tool, hint)
        return finding.verdict.value, finding.reason

    def deciding(self, tool: str, hint: Hint) -> set[EffectKind]:
        """The kinds of the effects that a finding rests on."""
        return {effect.kind for item in self.finding(tool, hint).evidence for effect in item.effects}

    def listed(self, tool: str) -> set[EffectKind]:
        """The kinds of the effects that are told without deciding anything."""
        return {effect.kind for effect in self.tool(tool).listed}

    @property
    def contradicted(self) -> set[tuple[str, Hint]]:
        """Every hint of every tool that is contradicted."""
        return {
            (finding.tool, finding.hint)
            for tool in self.report.tools
            for finding in tool.findings
            if finding.verdict is Verdict.CONTRADICTED
        }


@dataclass(frozen=True)
class Twins:
    """The reports on a lying server and on its honest twin."""

    lying: Verified
    honest: Verified


async def verified(runs: Sequence[Run], place: Path) -> list[Verified]:
    """Make verifications side by side, each in a workspace of its own below ``place``."""
    copy_servers(place)
    done: dict[int, Verified] = {}

    async def one(number: int, run: Run) -> None:
        done[number] = await verified_one(run, place / f"workspace-{number}", place)

    async with anyio.create_task_group() as tasks:
        for number, run in enumerate(runs):
            tasks.start_soon(one, number, run)
    return [done[number] for number in range(len(runs))]


async def verified_one(run: Run, workspace: Path, place: Path) -> Verified:
    """Make one verification of a server that :func:`copy_servers` put below ``place``."""
    workspace.mkdir()
    (workspace / "notes.txt").write_text("notes of old\n")

    def listener(event: Event, /) -> None:
        if isinstance(event, CallFinished):
            run.on_call(event)

    command = command_of(place, run.server, workspace, *run.words)
    launch = resolve(command, cwd=workspace, env=dict(run.env), expose=run.expose)
    stage = StageSettings(run.limits, SessionSettings(handshake_s=run.handshake_s), seed=0)
    options = VerifyOptions(" ".join(command), command, SPEC, run.probe, stage, tools=run.tools)
    with RunFolder(place / "runs", new_run_id()) as folder:
        return Verified(await verify(launch, options, folder, listener))


def copy_servers(place: Path) -> None:
    """Copy the servers to ``place``: the code of one that stands in a repository is all of the repository."""
    for catalogue in CATALOGUES:
        shutil.copytree(
            catalogue, place / "servers", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
        )


def command_of(place: Path, server: str, workspace: Path, *words: str) -> tuple[str, ...]:
    """The command of a server that :func:`copy_servers` put below ``place``."""
    return (sys.executable, str(place / "servers" / server), str(workspace), *words)


@contextlib.contextmanager
def nothing_left(token: str) -> Iterator[None]:
    """See to it that no process with ``token`` in its command line, no child and no mount of ours is left afterwards."""
    children, mounts = set(psutil.Process().children(recursive=True)), _mounts(token)
    yield
    deadline = time.monotonic() + PATIENCE_S
    while left := [*_with_word(token), *(set(psutil.Process().children(recursive=True)) - children)]:
        assert time.monotonic() < deadline, f"left running: {left}"
        time.sleep(0.02)
    assert _mounts(token) == mounts


def _mounts(token: str) -> list[str]:
    """The mounts that could be ours: what else runs on the machine makes others at any time."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [point for point in points if point == BASE or point.startswith(f"{BASE}/") or token in point]


def _with_word(token: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter(["cmdline", "pid"]):
        words = process.info["cmdline"] or []
        if process.pid != psutil.Process().pid and any(token in word for word in words):
            found.append(process)
    return found
