"""How long a call takes in the box, against the same client over plain pipes, on servers that live side by side."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

from bare import bare_conversation, lay_out
from figures import Figure, median
from servers import Server, Things, corpus, stage_of

from sandbox.client import Conversation
from sandbox.model import Call, Outcome, Tool

ROUNDS = 11


async def measure(root: Path) -> list[Figure]:
    """One figure for each of the three servers of the goal."""
    things = Things.make(root)
    note, database = things.folder / "notes.txt", things.database
    servers = {server.name: server for server in corpus(things)}
    cases = (
        ("filesystem", Call("read_text_file", {"path": str(note)}), 60, 1.15, things.folder),
        ("sqlite", Call("read_query", {"query": "SELECT 1 AS one"}), 60, 1.10, database.parent),
        ("git", Call("git_status", {"repo_path": str(things.repository)}), 15, 1.35, things.repository),
    )
    return [await _case(servers[name], call, calls, goal, place) for name, call, calls, goal, place in cases]


async def _case(server: Server, call: Call, calls: int, goal: float, place: Path) -> Figure:
    async with AsyncExitStack() as stack:
        stage = await stack.enter_async_context(stage_of(server))
        lay_out(stage.plan.seeds, place)
        boxed = (await stage.pool.take()).conversation
        launch = stage.launch
        bare = await stack.enter_async_context(
            bare_conversation(launch.argv, launch.cwd or str(place), launch.env)
        )
        tool = await _tool(boxed, call.tool)
        await _tool(bare, call.tool)
        for conversation in (bare, boxed):
            await _round(conversation, call, tool, 5)
        ratios, plain = [], []
        for turn in range(ROUNDS):
            # Whoever comes second finds warmer caches: they take turns.
            order = (bare, boxed) if turn % 2 else (boxed, bare)
            took = {id(one): await _round(one, call, tool, calls) for one in order}
            plain.append(took[id(bare)])
            ratios.append(took[id(boxed)] / took[id(bare)])
    detail = f"`{call.tool}`: {median(plain) * 1000:.2f} ms bare; {ROUNDS} rounds of {calls} calls, {_spread(ratios)}"
    return Figure(f"call latency in the box / bare, {server.name}", goal, median(ratios), "", detail)


async def _tool(conversation: Conversation, name: str) -> Tool:
    listing = await conversation.list_tools()
    return next(tool for tool in listing.tools if tool.name == name)


async def _round(conversation: Conversation, call: Call, tool: Tool, calls: int) -> float:
    """The median time of a call, in seconds."""
    took = []
    for _ in range(calls):
        started = time.perf_counter()
        reply = await conversation.call(call, tool, 15_000)
        took.append(time.perf_counter() - started)
        if reply.outcome is not Outcome.ACCEPTED:
            raise AssertionError(f"{call.tool} was not accepted: {reply.text}")
    return median(took)


def _spread(ratios: list[float]) -> str:
    ordered = sorted(ratios)
    quarter: Iterator[float] = (ordered[len(ordered) * part // 4] for part in (1, 3))
    return "quartiles " + " to ".join(f"{ratio:.2f}" for ratio in quarter)
