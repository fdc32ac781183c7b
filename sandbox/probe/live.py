"""A session whose steps are recorded as facts: every call or idle becomes a Step with its effects."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import anyio.to_thread

from sandbox.effects import Collector, mark_background
from sandbox.judge.counting import lasts
from sandbox.model import (
    Call,
    Effect,
    EffectKind,
    Observed,
    Outcome,
    Purpose,
    Reply,
    Step,
    StepKind,
    Tool,
    Trial,
    Weight,
)
from sandbox.policy import Reason
from sandbox.probe.denied import denied_writes
from sandbox.session import Session

_PASSING = frozenset({Weight.BACKGROUND, Weight.TRANSIENT})
_WRITTEN = frozenset({EffectKind.FILE_CREATED, EffectKind.FILE_MODIFIED})
_OF_PROCESSES = frozenset({EffectKind.PROCESS_LEFT, EffectKind.PROCESS_SIGNALLED})


def lasting(effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """The effects after which a box is no longer as it was."""
    return tuple(e for e in effects if lasts(e) and e.weight not in _PASSING and not _is_of_a_helper(e))


def _is_of_a_helper(effect: Effect) -> bool:
    """A child that the server keeps for its own use, or ends, leaves the box as it was."""
    return effect.kind in _OF_PROCESSES and effect.weight is Weight.INCIDENTAL


def telling(effects: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """The effects that some claim could rest on: what lasts, and what went out."""
    return tuple(
        e
        for e in effects
        if e.weight not in _PASSING and (lasts(e) or e.kind.value.startswith(("net.", "ipc.", "secret.")))
    )


@dataclass(slots=True)
class LiveBox:
    """One session in use, with what was done in it so far."""

    session: Session
    collector: Collector
    started_ns: int = field(default_factory=time.monotonic_ns)
    idle_effects: list[Effect] = field(default_factory=list)
    startup_effects: tuple[Effect, ...] = ()
    steps: list[Step] = field(default_factory=list)
    calls: list[tuple[Tool, Call]] = field(default_factory=list)
    dirty: bool = False
    control: Step | None = None
    prepared: list[Step] = field(default_factory=list)

    @property
    def usable(self) -> bool:
        """Whether another tool may be called here as if the box were fresh."""
        return self.session.alive and not self.dirty

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that were called here, in their order."""
        return tuple(dict.fromkeys(tool.name for tool, _ in self.calls))

    async def begin(self, idle_ms: float) -> None:
        """Take what start-up did out of the account, then record the idle control."""
        observed = await self.session.idle(0)
        self.startup_effects = await self._effects(observed)
        self.collector.begin()
        self.started_ns = time.monotonic_ns()
        self.control = await self.idle(StepKind.IDLE, idle_ms)

    async def call(self, kind: StepKind, tool: Tool, call: Call, timeout_ms: float) -> Step:
        """Make one call and record it; one that changes something, hangs, dies or reaches a limit uses the box up."""
        reply, observed = await self.session.call(call, tool, timeout_ms)
        self.calls.append((tool, call))
        step = await self._step(kind, observed, call=call, reply=reply)
        stuck = reply.outcome in (Outcome.TIMED_OUT, Outcome.CRASHED)
        if lasting(step.effects) or stuck or observed.limits_hit:
            self.dirty = True
        if kind is StepKind.PREPARE:
            self._prepare(step)
        return step

    async def rest(self, ms: float) -> None:
        """Let happen what the calls of preparation do late, before the tool itself is called."""
        self._prepare(await self.idle(StepKind.PREPARE, ms))

    def _prepare(self, step: Step) -> None:
        self.prepared.append(step)
        # What another tool made exists before the tool's own calls: to lose it is a loss.
        self.collector.begin()

    async def idle(self, kind: StepKind, ms: float) -> Step:
        """Let time pass and record what happens by itself."""
        observed = await self.session.idle(ms)
        step = await self._step(kind, observed)
        if kind is StepKind.IDLE:
            self.idle_effects.extend(step.effects)
        elif lasting(step.effects):
            self.dirty = True
        return step

    def trial(
        self, tool: Tool, purpose: Purpose, steps: list[Step], confirms: str = "", *, number: int
    ) -> Trial:
        """The steps as one trial of ``tool``: control and preparations first."""
        before = [self.control] if self.control else []
        return Trial(
            id=f"{self.session.name}.{number}",
            tool=tool.name,
            purpose=purpose,
            box=self.session.name,
            steps=(*before, *self.prepared, *steps),
            instruments=self.session.instruments & self.collector.instruments,
            confirms=confirms,
        )

    async def _step(
        self, kind: StepKind, observed: Observed, *, call: Call | None = None, reply: Reply | None = None
    ) -> Step:
        effects = await self._effects(observed)
        if kind is not StepKind.IDLE:
            effects = mark_background(effects, tuple(self.idle_effects))
        unreached = [(Reason.BOX_LIMIT, text) for _, text in observed.limits_hit]
        box = self.session.box
        written = [effect.subject for effect in effects if effect.kind in _WRITTEN]
        unreached += [(Reason.BOX_LIMIT, text) for text in map(box.file_limit_hit, written) if text]
        denied = denied_writes(observed.events, box.look, box.user, has_image=box.has_image)
        unreached += [(Reason.REFUSED_BY_BOX, sentence) for sentence in denied]
        step = Step(
            kind=kind,
            call=call,
            reply=reply,
            effects=effects,
            started_ms=(observed.started_ns - self.started_ns) / 1e6,
            duration_ms=(observed.ended_ns - observed.started_ns) / 1e6,
            quiet=observed.quiet,
            unreached=tuple(unreached),
        )
        self.steps.append(step)
        return step

    async def _effects(self, observed: Observed) -> tuple[Effect, ...]:
        return await anyio.to_thread.run_sync(self.collector.collect, observed)
