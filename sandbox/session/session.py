"""One live session: make a call or stay idle, wait for rest, and hand out what the instruments saw."""

from __future__ import annotations

import itertools
import os
import time
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from sandbox import client
from sandbox.boxes.box import Box
from sandbox.client import ClientSettings
from sandbox.errors import BoxLostError, ServerStartError
from sandbox.model import Call, Instrument, Observed, ProcessFact, Remark, Reply, SyscallEvent, Tool
from sandbox.session.ground import Ground
from sandbox.session.http import converse_inside
from sandbox.world import ExchangeLog, read_tap

if TYPE_CHECKING:  # importing it for real is left to the first conversation: it costs a second
    from sandbox.client import Conversation

_SPAWNING = frozenset({"fork", "vfork", "clone", "clone3", "execve", "execveat"})
_NUMBERS = itertools.count(1)
_REST_POLL_S = 0.002
"""Two looks this far apart that both find nothing new mean rest (a runnable thread is seen in between)."""

_LINES_SHOWN, _LINE_SHOWN = 12, 300
"""How much of a server's last words an error quotes: lines, and the end of each."""


class Session:
    """A box with a server that has answered the handshake.

    Made by a :class:`SessionTask`: the conversation's cancel scopes belong to that task, while calls may
    come from any other.
    """

    def __init__(self, box: Box, exchanges: ExchangeLog, conversation: Conversation, ground: Ground) -> None:
        self.box = box
        self.conversation = conversation
        self.opened_ns = time.monotonic_ns()
        self.calls_made = 0
        self._exchanges = exchanges
        self._settings = ground.settings
        self._world = ground.world
        self._instruments = set(ground.instruments)
        self._processes: tuple[ProcessFact, ...] = ()

    @property
    def name(self) -> str:
        """The box's name: unique in the run."""
        return self.box.name

    @property
    def alive(self) -> bool:
        """Whether the server still runs and could answer another call."""
        return self.box.alive

    @property
    def instruments(self) -> frozenset[Instrument]:
        """The instruments that have worked without loss since the session was opened."""
        return frozenset(self._instruments)

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What the client noticed about the server's manners so far."""
        return self.conversation.remarks()

    async def call(self, call: Call, tool: Tool, timeout_ms: float) -> tuple[Reply, Observed]:
        """Make one call, wait for rest, and return the reply and everything recorded meanwhile."""
        started = time.monotonic_ns()
        reply = await self.conversation.call(call, tool, timeout_ms)
        self.calls_made += 1
        return reply, await self._observe(started)

    async def idle(self, ms: float) -> Observed:
        """Call nothing for ``ms`` milliseconds and return what happened all the same."""
        started = time.monotonic_ns()
        await anyio.sleep(ms / 1000)
        return await self._observe(started)

    async def _observe(self, started: int) -> Observed:
        events, quiet = await self._rest()
        packets, dropped = read_tap(self.box.tap)
        exchanges = self._exchanges.read_new()
        if dropped:
            self._instruments.discard(Instrument.TAP)
        if self.box.events.overflowed:
            self._instruments.discard(Instrument.OBSERVER)
        if self._exchanges.overflowed or not self._world.alive:
            self._instruments.discard(Instrument.GATEWAY)
        return Observed(
            started_ns=started,
            ended_ns=time.monotonic_ns(),
            events=tuple(events),
            exchanges=tuple(exchanges),
            packets=tuple(packets),
            processes=self._alive(events),
            canary_reads=tuple(self.box.canary_reads()),
            packets_dropped=dropped,
            quiet=quiet,
            limits_hit=tuple(self.box.limits_hit()),
        )

    def _alive(self, events: list[SyscallEvent]) -> tuple[ProcessFact, ...]:
        """The box's processes, looked up only where they can have changed: the look costs milliseconds."""
        if len(self._processes) != 1 or any(event.name in _SPAWNING for event in events):
            self._processes = tuple(self.box.processes())
        return self._processes

    async def _rest(self) -> tuple[list[SyscallEvent], bool]:
        """Wait until nothing new is recorded and nothing of the server is runnable, within bounds."""
        deadline = time.monotonic() + self._settings.quiet_ms / 1000
        events = self.box.events.read_new()
        while True:
            if not self.box.alive:
                return events + self.box.events.read_new(), True
            if self.box.quiet():
                await anyio.sleep(_REST_POLL_S)
                fresh = self.box.events.read_new()
                if not fresh and self.box.quiet():
                    return events, True
                events += fresh
            else:
                await anyio.sleep(_REST_POLL_S)
                events += self.box.events.read_new()
            if time.monotonic() > deadline:
                return events, False


class SessionTask:
    """Runs one session in a task of its own from launch to teardown."""

    def __init__(self, ground: Ground, era: str) -> None:
        self._ground = ground
        self._era = era
        self._ready = anyio.Event()
        self._leave = anyio.Event()
        self._left = anyio.Event()
        self._whole = anyio.CancelScope()
        self._session: Session | None = None
        self._error: Exception | None = None

    async def run(self) -> None:
        """The task's body: never raises for the server's fault; ``ready`` tells."""
        try:
            with self._whole:
                await self._hold()
        except (ServerStartError, BoxLostError) as error:
            self._error = error
        finally:
            self._ready.set()
            self._left.set()

    async def _hold(self) -> None:
        ground = self._ground
        # Launching blocks for some 10 ms; in a thread, calls of the session in use are not delayed by it.
        box, exchanges = await anyio.to_thread.run_sync(_launch, ground)
        try:
            try:
                async with self._conversation(box) as conversation:
                    self._session = Session(box, exchanges, conversation, ground)
                    self._ready.set()
                    await self._leave.wait()
                    # Kill first: closing must not wait for a server that does not read its stdin.
                    await anyio.to_thread.run_sync(box.kill_server)
            except ServerStartError as error:
                raise _with_stderr(error, box, ground.plan.argv[0]) from error
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(box.close)
            exchanges.close()

    def _conversation(self, box: Box) -> AbstractAsyncContextManager[Conversation]:
        how = self._ground.settings
        settings = ClientSettings(era=self._era, roots=how.roots, handshake_timeout_s=how.handshake_s)
        if how.transport == "http":
            return converse_inside(box, how.port, how.path, settings)
        # The conversation closes its end of stdin, which is how a server is told to stop; the box's own end
        # stays the box's.
        return client.converse(box.stdout, os.dup(box.stdin), settings=settings)

    async def ready(self) -> Session:
        """The session, once its server has answered the handshake.

        Raises:
            ServerStartError: the server exited, hung or did not speak MCP.
            BoxLostError: one of our own processes died.
        """
        await self._ready.wait()
        if self._error is not None:
            raise self._error
        assert self._session is not None
        return self._session

    async def leave(self) -> None:
        """End the session: its box is thrown away. A handshake that is under way is not waited for."""
        self._leave.set()
        if not self._ready.is_set():
            self._whole.cancel()
        await self._left.wait()


def _launch(ground: Ground) -> tuple[Box, ExchangeLog]:
    warden_end, exchanges = ground.world.attach(f"session-{next(_NUMBERS)}")
    try:
        return ground.launcher.launch(ground.plan, warden_end), exchanges
    except BaseException:
        exchanges.close()
        raise
    finally:
        os.close(warden_end)


def _with_stderr(error: ServerStartError, box: Box, program: str) -> ServerStartError:
    tail = error.said = box.stderr_tail().strip()
    if tail:
        lines = [f"  {line[-_LINE_SHOWN:]}" for line in tail.splitlines()[-_LINES_SHOWN:]]
        told = [str(error), "The last lines of its standard error:", *lines]
        if "ModuleNotFoundError: " in tail:
            told.append(f"It was started by {program}. Name the python of its own environment instead.")
        error.args = ("\n".join(told),)
    return error
