"""Fresh and shared live boxes for the probe, numbered trials, and the budget of the run."""

from __future__ import annotations

import time
from collections.abc import Callable

from sandbox.effects import Collector
from sandbox.errors import ServerStartError
from sandbox.model import Effect, Instrument, Remark
from sandbox.probe.live import LiveBox
from sandbox.probe.settings import ProbeSettings
from sandbox.session import Session, SessionPool

WireLines = list[tuple[float, str, str]]
"""A box's wire log: milliseconds, direction and text of each line."""

BoxListener = Callable[[str, tuple[Remark, ...], WireLines, frozenset[Instrument]], None]
"""Told when a box is thrown away: its name, remarks, wire log, and the instruments that failed in it."""


class BoxKeeper:
    """Takes sessions from the pool and makes live boxes of them."""

    def __init__(
        self,
        pool: SessionPool,
        collector: Callable[[Session], Collector],
        settings: ProbeSettings,
        on_discard: BoxListener,
    ) -> None:
        self.settings = settings
        self.startup_effects: tuple[Effect, ...] = ()
        self._pool = pool
        self._collector = collector
        self._on_discard = on_discard
        self._started = time.monotonic()
        self._calls = 0
        self._trials = 0

    async def fresh(self, idle_ms: float | None = None) -> LiveBox:
        """A box that nothing was called in, its idle control recorded.

        A server that started once and does not start again gets one more try: start-up races are not ours
        to judge.

        Raises:
            ServerStartError: it failed twice in a row.
        """
        try:
            session = await self._pool.take()
        except ServerStartError:
            session = await self._pool.take()
        return await self._begin(session, idle_ms)

    async def adopt(self, session: Session) -> LiveBox:
        """Use a session that was opened for something else, such as the first listing."""
        return await self._begin(session, None)

    async def discard(self, box: LiveBox) -> None:
        """Throw a box away."""
        self._calls += len(box.calls)
        session = box.session
        missing = frozenset(Instrument) - (session.instruments & box.collector.instruments)
        try:
            self._on_discard(session.name, session.remarks, session.conversation.wire.dump(), missing)
        finally:
            await self._pool.give_back(session)
            box.collector.close()

    def number(self) -> int:
        """The next trial number of the run."""
        self._trials += 1
        return self._trials

    def spent(self, pending_calls: int = 0) -> bool:
        """Whether the run's own budget (not a tool's) is used up."""
        seconds, calls = self.settings.budget_s, self.settings.budget_calls
        return bool(seconds and time.monotonic() - self._started > seconds) or bool(
            calls and self._calls + pending_calls >= calls
        )

    async def _begin(self, session: Session, idle_ms: float | None) -> LiveBox:
        box = LiveBox(session, self._collector(session))
        await box.begin(self.settings.idle_ms if idle_ms is None else idle_ms)
        self.startup_effects = self.startup_effects or box.startup_effects
        return box
