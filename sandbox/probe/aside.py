"""Long idles of boxes that no call will be made in any more, beside the course of the others.

A settle only waits, so it costs time but no work; doing it aside keeps the order of all calls, and so what
a seed makes of a run, as it was.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from anyio.abc import TaskGroup

from sandbox.model import Step, StepKind
from sandbox.probe.boxes import BoxKeeper
from sandbox.probe.live import LiveBox


@dataclass(slots=True)
class Settling:
    """One settle under way; ``step`` is there once :meth:`wait` returns, None where the server had died."""

    step: Step | None = None
    _done: anyio.Event = field(default_factory=anyio.Event)

    def end(self) -> None:
        """The settle is over and its box is gone."""
        self._done.set()

    @property
    def over(self) -> bool:
        """Whether waiting would return at once."""
        return self._done.is_set()

    async def wait(self) -> Step | None:
        """The settle's step, when it is over and the box is gone."""
        await self._done.wait()
        return self.step


class Aside:
    """Starts settles in the task group of a course; see :func:`aside`."""

    def __init__(self, tasks: TaskGroup, keeper: BoxKeeper) -> None:
        self._tasks = tasks
        self._keeper = keeper

    def settle(self, box: LiveBox, ms: float, then: Callable[[Step], None] = lambda _: None) -> Settling:
        """Let a box idle for ``ms``, tell ``then`` the step, and throw the box away."""
        settling = Settling()
        self._tasks.start_soon(self._run, box, ms, then, settling)
        return settling

    async def _run(self, box: LiveBox, ms: float, then: Callable[[Step], None], settling: Settling) -> None:
        try:
            if box.session.alive:
                settling.step = await box.idle(StepKind.SETTLE, ms)
                then(settling.step)
            await self._keeper.discard(box)
        finally:
            settling.end()


@asynccontextmanager
async def aside(keeper: BoxKeeper) -> AsyncIterator[Aside]:
    """An :class:`Aside` for the length of a block, which ends when the last settle does.

    The first error, of the block or of a settle, ends all of it and is raised as what it is, not in a group:
    what a course raises decides the exit code.
    """
    try:
        async with anyio.create_task_group() as tasks:
            yield Aside(tasks, keeper)
    except ExceptionGroup as group:
        error: Exception = group
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        raise error from None
