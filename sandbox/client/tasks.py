"""Calling a tool that can only be called as a task (MCP 2025-11-25, basic/utilities/tasks)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import anyio

from sandbox.client.channel import Answer, Channel, Ended
from sandbox.model import Json

_POLL_FLOOR_S = 0.05
_POLL_CEILING_S = 1.0
"""A server that proposes a longer interval would make the call look longer than it was."""

_CANCEL_S = 0.5
_TERMINAL = frozenset({"completed", "failed", "cancelled"})


@dataclass(frozen=True, slots=True)
class TaskCall:
    """A call made as a task: its last answer, and when its first request was written (nanoseconds)."""

    answer: Answer
    written_ns: int


async def call_as_task(
    channel: Channel, name: str, arguments: Mapping[str, Json], timeout_s: float
) -> TaskCall:
    """Start the task, poll it to its end and fetch its result; cancel it at the timeout.

    A server that answers with a plain result instead of a task has answered.
    """
    deadline = time.monotonic() + timeout_s

    def left() -> float:
        return deadline - time.monotonic()

    params: dict[str, Json] = {
        "name": name,
        "arguments": dict(arguments),
        # The task outlives the call by a little, so that its result can be fetched in time.
        "task": {"ttl": int(timeout_s * 1000) + 60_000},
    }
    started = await channel.ask("tools/call", params, timeout_s, tool=name)
    task = started.body.get("task")
    task_id = task.get("taskId") if isinstance(task, dict) else None
    if started.ended is not Ended.RESULT or not isinstance(task, dict) or not isinstance(task_id, str):
        return TaskCall(started, started.written_ns)
    answer = await _finish(channel, name, task_id, task, left)
    if answer.ended is Ended.TIMED_OUT:
        await channel.ask("tasks/cancel", {"taskId": task_id}, _CANCEL_S)
    return TaskCall(answer, started.written_ns)


async def _finish(
    channel: Channel, name: str, task_id: str, task: Mapping[str, Json], left: Callable[[], float]
) -> Answer:
    state = task
    while state.get("status") not in _TERMINAL:
        if state.get("status") == "input_required":
            # The server's question travels while tasks/result waits; so does the final result.
            break
        if left() <= 0:
            return Answer(Ended.TIMED_OUT, {}, ended_ns=time.monotonic_ns())
        await anyio.sleep(min(_interval(state), max(left(), 0)))
        polled = await channel.ask("tasks/get", {"taskId": task_id}, left(), tool=name)
        if polled.ended is not Ended.RESULT:
            return polled
        state = polled.body
    return await channel.ask("tasks/result", {"taskId": task_id}, left(), tool=name)


def _interval(state: Mapping[str, Json]) -> float:
    proposed = state.get("pollInterval")
    if isinstance(proposed, bool) or not isinstance(proposed, int | float):
        return _POLL_FLOOR_S
    return min(max(proposed / 1000, _POLL_FLOOR_S), _POLL_CEILING_S)
