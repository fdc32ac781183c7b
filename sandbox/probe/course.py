"""The whole course over one server's tools: who is probed when, in which boxes, and when a tool is finished."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping

from sandbox.arguments import Learned
from sandbox.model import Call, Effect, Json, Outcome, Purpose, Step, StepKind, Tool, ToolEvidence
from sandbox.policy import Profile
from sandbox.probe.boxes import BoxKeeper
from sandbox.probe.confirm import Confirmer
from sandbox.probe.dossier import Dossier
from sandbox.probe.late import LateSearch
from sandbox.probe.live import LiveBox, lasting, telling
from sandbox.probe.order import in_probing_order, looks_like_read, makes_something
from sandbox.probe.sweep import Sweep, proposal_call
from sandbox.session import Session
from sandbox.workspace import Surroundings


class Course:
    """Probes every tool of one server.

    Reads come first and share a box, which ends with one long idle; then makers, others and removers, each of
    which dirties boxes of its own; then the tools that need something to work on, after calls that make it.
    """

    def __init__(
        self,
        keeper: BoxKeeper,
        surroundings: Surroundings,
        profiles: Iterable[Profile],
        *,
        closed_world: tuple[str, ...] = (),
        examples: Mapping[str, tuple[dict[str, Json], ...]] | None = None,
        on_start: Callable[[Tool], None] = lambda _: None,
        on_call: Callable[[Step], None] = lambda _: None,
    ) -> None:
        self._keeper = keeper
        self._closed_world = closed_world
        self._on_start = on_start
        self._on_call = on_call
        self._sweep = Sweep(keeper, surroundings, Learned(), dict(examples or {}), on_call)
        self._confirmer = Confirmer(keeper, profiles, closed_world, self._unrelated)
        self._dossiers: dict[str, Dossier] = {}

    async def run(self, tools: tuple[Tool, ...], first: Session | None = None) -> AsyncIterator[ToolEvidence]:
        """Yield each tool's evidence as it is finished. ``first`` is a session to use as the first box."""
        if first is not None:
            self._sweep.shared = await self._keeper.adopt(first)
        ordered = in_probing_order(tools)
        waiting: list[Dossier] = []
        reads = [tool for tool in ordered if looks_like_read(tool)]
        for tool in reads:
            waiting.append(await self._probe(tool))
        await self._settle()
        unfinished: list[Dossier] = []
        for dossier in waiting:
            if _needs_more(dossier):
                unfinished.append(dossier)
            else:
                yield await self._finish(dossier)
        for tool in ordered:
            if tool in reads:
                continue
            dossier = await self._probe(tool)
            if _needs_more(dossier) or not dossier.settled:
                unfinished.append(dossier)
            else:
                yield await self._finish(dossier)
        for dossier in unfinished:
            if _needs_more(dossier):
                await self._probe_prepared(dossier)
        await self._settle()
        for dossier in unfinished:
            yield await self._finish(dossier)

    async def _probe(self, tool: Tool) -> Dossier:
        dossier = self._dossiers[tool.name] = Dossier(tool)
        self._on_start(tool)
        await self._sweep.probe(dossier)
        return dossier

    async def _finish(self, dossier: Dossier) -> ToolEvidence:
        await self._confirmer.confirm(dossier)
        return dossier.evidence(self._closed_world)

    async def _settle(self) -> None:
        """End the shared box with its long idle and find out whose doing late effects are."""
        box, self._sweep.shared = self._sweep.shared, None
        if box is None:
            return
        if not box.session.alive or not box.calls:
            await self._keeper.discard(box)
            return
        step = await box.idle(StepKind.SETTLE, self._keeper.settings.settle_ms)
        calls = list(box.calls)
        concerned = [self._dossiers[name] for name in {tool.name for tool, _ in calls}]
        await self._keeper.discard(box)
        for dossier in concerned:
            dossier.settled = True
        if late := telling(step.effects):
            await self._attribute(late, calls, concerned, box)

    async def _attribute(
        self,
        late: tuple[Effect, ...],
        calls: list[tuple[Tool, Call]],
        concerned: list[Dossier],
        box: LiveBox,
    ) -> None:
        search = LateSearch(self._keeper, late)
        culprits = await search.search(calls)
        for tool, trial in culprits:
            self._dossiers[tool.name].trials.append(trial)
        named = {effect.subject for effect in search.background}
        for effect in search.background:
            for dossier in concerned:
                if effect.loses or not effect.own:
                    dossier.note("idle-writes", f"Without any call: {effect.summary}")
        missing = [e for e in late if e.subject not in named]
        if missing and not culprits:
            for dossier in concerned:
                dossier.note(
                    "unattributed-late-effect",
                    f"After the last call of box {box.session.name}, and not again: {missing[0].summary}",
                )

    def _unrelated(self, tool: Tool) -> tuple[Tool, Call] | None:
        """An accepted call of another tool that changed nothing."""
        for dossier in self._dossiers.values():
            if dossier.tool.name == tool.name:
                continue
            for call, left in dossier.accepted_calls():
                if not left:
                    return dossier.tool, call
        return None

    def _makers(self, tool: Tool) -> list[tuple[Tool, Call]]:
        """Accepted calls of other tools that make something, one or two each, removers left out."""
        makers: list[tuple[Tool, Call]] = []
        for dossier in self._dossiers.values():
            if dossier.tool.name == tool.name or not makes_something(dossier.tool):
                continue
            good = [call for call, left in dossier.accepted_calls() if not any(e.loses for e in left)]
            makers += [(dossier.tool, call) for call in good[:2]]
        return makers[: self._keeper.settings.prepare_calls]

    async def _probe_prepared(self, dossier: Dossier) -> None:
        """Try a tool again in a box where other tools have made something to work on."""
        makers = self._makers(dossier.tool)
        if not makers or self._keeper.spent():
            return
        settings = self._keeper.settings
        box = await self._keeper.fresh()
        try:
            learned = Learned()
            for tool, call in makers:
                step = await box.call(StepKind.PREPARE, tool, call, settings.call_timeout_ms)
                if step.reply is not None:
                    learned.absorb(call, step.reply)
                self._on_call(step)
            for proposal in self._sweep.proposals(dossier.tool, learned):
                if not box.session.alive or dossier.failures >= 2:
                    break
                step = await self._sweep.call(box, StepKind.CALL, dossier, proposal)
                accepted = step.reply is not None and step.reply.outcome is Outcome.ACCEPTED
                steps = [step]
                if (accepted or lasting(step.effects)) and box.session.alive:
                    again = await box.call(
                        StepKind.REPEAT,
                        dossier.tool,
                        proposal_call(dossier.tool, proposal),
                        settings.call_timeout_ms,
                    )
                    self._on_call(again)
                    steps.append(again)
                dossier.trials.append(
                    box.trial(dossier.tool, Purpose.PROBE, steps, number=self._keeper.number())
                )
                if lasting(step.effects):
                    break
        finally:
            await self._keeper.discard(box)


def _needs_more(dossier: Dossier) -> bool:
    """Whether calls after a preparation could tell more: never accepted, or a writer without an effect."""
    if dossier.accepted == 0:
        return True
    return not looks_like_read(dossier.tool) and not dossier.had_effect
