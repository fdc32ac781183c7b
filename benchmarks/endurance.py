"""The engine's own memory while ten thousand calls pass through it, box after box."""

from __future__ import annotations

import multiprocessing
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import anyio
import anyio.to_thread
import psutil
from figures import Figure
from servers import Server, stage_of

from sandbox.model import Call, StepKind
from sandbox.probe.boxes import BoxKeeper
from sandbox.probe.settings import ProbeSettings

CALLS = 10_000
CALLS_PER_BOX = 500
GOAL_MB = 200
FLAT_MB = 5
"""Growth from the second box to the last that still counts as flat: the allocator's own breathing."""

SERVER = Path(__file__).resolve().parents[1] / "tests" / "servers" / "writes.py"
_MIB = 1 << 20


async def measure(root: Path) -> list[Figure]:
    """The peak of the engine and its helpers, and the engine's growth; in a fresh process, whose memory is
    all its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as process:
        future = process.submit(_in_process, str(root))
        engine, helpers = await anyio.to_thread.run_sync(future.result)
    detail = (
        f"engine {engine[0]:.0f} MB at the first box, {engine[1]:.0f} at the second, {engine[-1]:.0f} at the end, its "
        f"helpers {max(helpers):.0f} MB; {CALLS} calls in {CALLS // CALLS_PER_BOX} boxes"
    )
    peak = max(one + other for one, other in zip(engine, helpers, strict=True))
    growth = engine[-1] - engine[1]
    return [
        Figure("memory of the engine and its helpers, peak", GOAL_MB, peak, "MB", detail),
        Figure(
            f"growth of the engine over {CALLS} calls",
            FLAT_MB,
            growth,
            "MB",
            "from the second box to the last",
        ),
    ]


def _in_process(root: str) -> tuple[list[float], list[float]]:
    return anyio.run(_endure, Path(root))


async def _endure(root: Path) -> tuple[list[float], list[float]]:
    """Resident megabytes of the engine and of its helper processes, after each box."""
    engine: list[float] = []
    helpers: list[float] = []
    async with stage_of(Server("writes", (sys.executable, str(SERVER), str(root)), root), spares=1) as stage:
        keeper = BoxKeeper(stage.pool, stage.collector, ProbeSettings(), lambda *_: None)
        for _ in range(CALLS // CALLS_PER_BOX):
            box = await keeper.fresh()
            listing = await box.session.conversation.list_tools()
            tool = next(tool for tool in listing.tools if tool.name == "read")
            for _ in range(CALLS_PER_BOX):
                await box.call(StepKind.CALL, tool, Call("read", {}), 15_000)
            engine.append(psutil.Process().memory_info().rss / _MIB)
            inside = {process.pid for process in box.session.box.processes()}
            helpers.append(_helpers(inside))
            await keeper.discard(box)
    return engine, helpers


def _helpers(inside: set[int]) -> float:
    """Resident megabytes of the engine's children that are not in a box, pages that they share left out."""
    total = 0
    for process in psutil.Process().children(recursive=True):
        if process.pid in inside:
            continue
        try:
            memory = process.memory_info()
        except psutil.NoSuchProcess:
            continue
        total += memory.rss - memory.shared
    return total / _MIB
