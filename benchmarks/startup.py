"""What a box costs beside the server in it: its start and its teardown around a program that only speaks a word."""

from __future__ import annotations

import dataclasses
import os
import select
import subprocess
import time
from pathlib import Path

import anyio.to_thread
from figures import Figure, median
from servers import Things, corpus, stage_of

from sandbox.boxes.plan import BoxPlan
from sandbox.probe.stage import Stage

ROUNDS = 40
WORD = ("/bin/echo", "ready")


async def measure(root: Path) -> list[Figure]:
    """The one figure, with the boxes of the filesystem server: its code, a workspace, the decoys."""
    server = corpus(Things.make(root))[0]
    async with stage_of(server) as stage:
        plan = dataclasses.replace(stage.plan, argv=WORD)
        await anyio.to_thread.run_sync(_boxed, stage, plan)
        boxed, bare = [], []
        for _ in range(ROUNDS):
            bare.append(_bare())
            boxed.append(await anyio.to_thread.run_sync(_boxed, stage, plan))
        rung = stage.pool.ground.launcher.rung
    starts, ends = zip(*boxed, strict=True)
    both = [start + end for start, end in boxed]
    detail = (
        f"as {rung}: start {median(starts):.1f} ms, teardown {median(ends):.1f} ms, less {median(bare):.1f} ms of plain "
        f"fork and exec; {ROUNDS} of each in turn, with {len(plan.seeds)} seeds"
    )
    return [Figure("box start + teardown", 25, median(both) - median(bare), "ms", detail)]


def _boxed(stage: Stage, plan: BoxPlan) -> tuple[float, float]:
    """Milliseconds from the order to the program's word, and of the teardown."""
    ground = stage.pool.ground
    started = time.perf_counter()
    gateway, exchanges = ground.world.attach("benchmark")
    box = ground.launcher.launch(plan, gateway)
    os.close(gateway)
    select.select([box.stdout], [], [], 30)
    if os.read(box.stdout, 64) != b"ready\n":
        raise AssertionError(f"the program in the box did not speak: {box.stderr_tail()}")
    spoke = time.perf_counter()
    box.close()
    exchanges.close()
    return (spoke - started) * 1000, (time.perf_counter() - spoke) * 1000


def _bare() -> float:
    started = time.perf_counter()
    subprocess.run(WORD, stdout=subprocess.PIPE, check=True)
    return (time.perf_counter() - started) * 1000
