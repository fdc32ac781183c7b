"""Sessions in advance: while one is used the next one starts, so that a restart is rarely waited for."""

from __future__ import annotations

from contextlib import AsyncExitStack
from types import TracebackType

import anyio
from anyio.abc import TaskGroup

from sandbox.errors import ServerStartError
from sandbox.session.ground import Ground
from sandbox.session.session import Session, SessionTask

_ERAS = ("legacy", "modern")
"""Legacy first: it works on legacy and dual-era servers, and some servers exit on an unknown first request."""


class SessionPool:
    """Hands out fresh sessions of one ground and keeps ``spares`` of them warm.

    Use as an async context manager; leaving it ends every session that is still open.
    """

    def __init__(self, ground: Ground, spares: int = 1) -> None:
        self.ground = ground
        self.era = ""
        self.opened = 0
        self._spares = spares
        self._warm: list[SessionTask] = []
        self._used: dict[Session, SessionTask] = {}
        # All that were not told to leave: one whose taker was cancelled is neither warm nor used.
        self._started: set[SessionTask] = set()
        self._tasks: TaskGroup | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> SessionPool:
        self._tasks = await self._stack.enter_async_context(anyio.create_task_group())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with anyio.CancelScope(shield=True):
            for task in list(self._started):
                await task.leave()
        if isinstance(error, Exception):
            # Every task has left, so there is nothing to cancel; handing the error to the group would only
            # wrap it into an ExceptionGroup that no caller asked for.
            await self._stack.__aexit__(None, None, None)
        else:
            await self._stack.__aexit__(kind, error, trace)

    async def take(self) -> Session:
        """A session that nobody has used, and start the next spare.

        The first one settles the era: legacy on one box and, if that fails, modern on another one.

        Raises:
            ServerStartError: the server cannot be spoken to in any era.
            BoxLostError: one of our own processes died.
        """
        if not self.era:
            return await self._first()
        task = self._warm.pop(0) if self._warm else self._start(self.era)
        session = await task.ready()
        self._used[session] = task
        self._keep_warm()
        return session

    async def give_back(self, session: Session) -> None:
        """Throw a used session away."""
        task = self._used.pop(session)
        self._started.discard(task)
        await task.leave()

    def stop_warming(self) -> None:
        """No more spares are wanted: the run is about to end."""
        self._spares = 0

    async def _first(self) -> Session:
        refusals: list[ServerStartError] = []
        for era in _ERAS:
            task = self._start(era)
            try:
                session = await task.ready()
            except ServerStartError as error:
                refusals.append(error)
                if not getattr(error, "other_era", True):
                    raise
                continue
            self.era = era
            self._used[session] = task
            self._keep_warm()
            return session
        raise refusals[0]

    def _start(self, era: str) -> SessionTask:
        if self._tasks is None:
            raise RuntimeError("the pool is not open")
        task = SessionTask(self.ground, era)
        self._tasks.start_soon(task.run)
        self._started.add(task)
        self.opened += 1
        return task

    def _keep_warm(self) -> None:
        while len(self._warm) < self._spares:
            self._warm.append(self._start(self.era))
