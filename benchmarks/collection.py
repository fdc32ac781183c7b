"""What it costs to find that a call changed nothing: with a seeded workspace, and with one that stays below."""

from __future__ import annotations

import time
from pathlib import Path

import anyio.to_thread
from figures import Figure, median
from servers import Things, corpus, stage_of

from sandbox.effects import Collector
from sandbox.model import Call, Effect, Observed, Tool

CALLS = 150


def _timed(collector: Collector, observed: Observed) -> tuple[tuple[Effect, ...], float]:
    started = time.perf_counter()
    effects = collector.collect(observed)
    return effects, (time.perf_counter() - started) * 1000


async def measure(root: Path) -> list[Figure]:
    """One figure for 500 files that are seeded, one for 10,000 that are not."""
    return [
        await _case(root / "small", 440, "500 seeded files", 5),
        await _case(root / "large", 10_000, "a 10,000-file lower", 1),
    ]


async def _case(root: Path, files: int, what: str, goal: float) -> Figure:
    root.mkdir()
    things = Things.make(root)
    for number in range(files):
        folder = things.folder / f"part-{number % 20:02d}"
        folder.mkdir(exist_ok=True)
        (folder / f"entry-{number:05d}.txt").write_text(f"Entry {number}\n" * 8)
    async with stage_of(corpus(things)[0]) as stage:
        session = await stage.pool.take()
        collector = stage.collector(session)
        listing = await session.conversation.list_tools()
        call = Call("list_directory", {"path": str(things.folder)})
        tool: Tool = next(tool for tool in listing.tools if tool.name == call.tool)
        # What the start left for the first look is no part of a call.
        collector.collect(await session.idle(0))
        took = []
        for number in range(CALLS + 5):
            _, observed = await session.call(call, tool, 15_000)
            # In a thread, as the engine does it, and timed there.
            effects, ms = await anyio.to_thread.run_sync(_timed, collector, observed)
            if number >= 5:
                took.append(ms)
            if effects:
                raise AssertionError(f"a listing had effects: {effects[0].summary}")
        collector.close()
        seeded = sum(seed.kind == "file" for seed in stage.plan.seeds)
    slowest = sorted(took)[CALLS * 9 // 10]
    detail = f"{seeded} files seeded in all; {CALLS} calls, nine in ten under {slowest:.2f} ms"
    return Figure(f"effect collection, nothing changed, {what}", goal, median(took), "ms", detail)
