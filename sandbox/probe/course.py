"""The whole course over one server's tools: who is probed when, in which boxes, and when a tool is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sandbox.arguments import Learned, Proposal
from sandbox.model import Call, Effect, Json, Purpose, Step, StepKind, Tool, ToolEvidence
from sandbox.policy import Profile
from sandbox.probe.aside import aside
from sandbox.probe.boxes import BoxKeeper
from sandbox.probe.confirm import Confirmer, made_anyway
from sandbox.probe.dossier import Dossier
from sandbox.probe.live import LiveBox, lasting
from sandbox.probe.order import in_probing_order, looks_like_read, makes_something, removes_something
from sandbox.probe.shared import Attributor
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
        on_finish: Callable[[ToolEvidence], None],
        closed_world: tuple[str, ...] = (),
        examples: Mapping[str, tuple[dict[str, Json], ...]] | None = None,
        on_start: Callable[[Tool], None] = lambda _: None,
        on_call: Callable[[Step], None] = lambda _: None,
    ) -> None:
        self._keeper = keeper
        self._surroundings = surroundings
        self._closed_world = closed_world
        self._examples = dict(examples or {})
        self._on_start = on_start
        self._on_call = on_call
        self._on_finish = on_finish
        self._profiles = tuple(profiles)
        self._confirmer = Confirmer(keeper, self._profiles, closed_world, self._unrelated)
        self._dossiers: dict[str, Dossier] = {}

    async def run(self, tools: tuple[Tool, ...], first: Session | None = None) -> None:
        """Probe the tools; each one's evidence is told as it is finished. ``first`` becomes the first box."""
        async with aside(self._keeper) as self._aside:
            self._attributor = Attributor(
                self._keeper, self._dossiers, self._profiles, self._closed_world, self._aside.settle
            )
            self._sweep = Sweep(
                self._keeper,
                self._surroundings,
                Learned(),
                self._examples,
                aside=self._aside,
                leave=self._attributor.leave,
                on_call=self._on_call,
            )
            if first is not None:
                self._sweep.shared = await self._keeper.adopt(first)
            ordered = in_probing_order(tools)
            reads = [tool for tool in ordered if looks_like_read(tool)]
            waiting = [await self._probe(tool) for tool in reads]
            self._sweep.end_shared()
            unfinished: list[Dossier] = []
            for tool in ordered[len(reads) :]:
                dossier = await self._probe(tool)
                if waiting and self._attributor.ready:
                    unfinished += await self._end_reads(waiting)
                    waiting = []
                if self._needs_more(dossier) or not dossier.settled or self._is_open(dossier):
                    unfinished.append(dossier)
                else:
                    await self._finish(dossier)
            unfinished += await self._end_reads(waiting)
            for dossier in unfinished:
                if self._needs_more(dossier):
                    await self._probe_prepared(dossier)
            self._sweep.end_shared()
            await self._attributor.attribute()
            for dossier in unfinished:
                await self._finish(dossier)

    async def _end_reads(self, reads: list[Dossier]) -> list[Dossier]:
        """Finish the reads once their shared boxes have settled; returns those that need something to work on."""
        if reads:
            await self._attributor.attribute()
        for dossier in reads:
            if not self._needs_more(dossier):
                await self._finish(dossier)
        return [dossier for dossier in reads if self._needs_more(dossier)]

    def _is_open(self, dossier: Dossier) -> bool:
        """Whether a box with calls of the tool may still show what it does late."""
        name, shared = dossier.tool.name, self._sweep.shared
        return self._attributor.waits_for(name) or (shared is not None and name in shared.tools)

    async def _probe(self, tool: Tool) -> Dossier:
        dossier = self._dossiers[tool.name] = Dossier(tool)
        self._on_start(tool)
        await self._sweep.probe(dossier)
        return dossier

    async def _finish(self, dossier: Dossier) -> None:
        for settling in dossier.settlings:
            await settling.wait()
        await self._confirmer.confirm(dossier)
        self._on_finish(dossier.evidence(self._closed_world))

    def _unrelated(self, tool: Tool, effects: tuple[Effect, ...]) -> tuple[Tool, Call] | None:
        """An accepted call of another tool that shows whether ``effects`` are made on first use.

        Best is a reading tool that made nothing but some of the same, where its arguments did not say so: a
        database that whichever tool comes first creates. Else one that changed nothing. What acts late comes
        last: it would act in the call of this tool.
        """
        others = [dossier for dossier in self._dossiers.values() if dossier.tool.name != tool.name]
        others.sort(key=lambda dossier: dossier.acts_late)
        calls = [(other.tool, call, left) for other in others for call, left in other.accepted_calls()]
        for other, call, left in calls:
            if left and looks_like_read(other) and made_anyway(call, left, effects):
                return other, call
        return next(((other, call) for other, call, left in calls if not left), None)

    def _needs_more(self, dossier: Dossier) -> bool:
        """Whether calls after a preparation could tell more: never accepted, or a writer that met nothing to work on.

        A remover met something only where it removed something, another writer where it left more than what
        reading tools leave too: an empty store that it wrote is not that.
        """
        if dossier.accepted == 0:
            return True
        if removes_something(dossier.tool):
            return not dossier.had_loss
        if looks_like_read(dossier.tool):
            return False
        reads = [other for other in self._dossiers.values() if looks_like_read(other.tool)]
        anyway = {thing for other in reads for thing in other.left_things()}
        return dossier.left_things() <= anyway

    def _makers(self, tool: Tool, *, seen_only: bool) -> list[tuple[Tool, Call]]:
        """Accepted calls of other tools that make something, one or two each, removers left out.

        A reader counts where it left something, such as a store that whichever tool comes first creates.
        ``seen_only`` leaves out calls that made nothing that the instruments saw: they may help a tool that
        was never accepted, but hardly show an effect of one that was.
        """
        makers: list[tuple[Tool, Call]] = []
        for dossier in self._dossiers.values():
            maker = makes_something(dossier.tool)
            if dossier.tool.name == tool.name or not (maker or looks_like_read(dossier.tool)):
                continue
            good = [
                call
                for call, left in dossier.accepted_calls()
                if not any(effect.loses for effect in left) and (left or (maker and not seen_only))
            ]
            most = 2 if maker else int(not makers)
            makers += [(dossier.tool, call) for call in good[:most]]
        return makers[: self._keeper.settings.prepare_calls]

    async def _probe_prepared(self, dossier: Dossier) -> None:
        """Try a tool again in a box where other tools make something to work on, one after the other.

        The tool is called after each of them, because one can undo what another made (a commit empties what
        was staged); all its argument sets are tried after the last one.
        """
        makers = self._makers(dossier.tool, seen_only=dossier.accepted > 0)
        if not makers or self._keeper.spent():
            return
        settings, tool = self._keeper.settings, dossier.tool
        box, learned = await self._keeper.fresh(), Learned()
        try:
            for maker, call in makers:
                step = await box.call(StepKind.PREPARE, maker, call, settings.call_timeout_ms)
                if step.reply is not None:
                    learned.absorb(call, step.reply)
                self._on_call(step)
                tries = settings.prepared_calls if (maker, call) == makers[-1] else 2
                for proposal in self._sweep.proposals(tool, learned)[:tries]:
                    if not box.session.alive or dossier.failures >= 2:
                        return
                    if await self._try_prepared(box, dossier, proposal):
                        return
        finally:
            await self._keeper.discard(box)

    async def _try_prepared(self, box: LiveBox, dossier: Dossier, proposal: Proposal) -> bool:
        """One call after preparations, repeated where it had an effect; whether it had one."""
        accepted_before = dossier.accepted
        steps = [await self._sweep.call(box, StepKind.CALL, dossier, proposal)]
        changed = bool(lasting(steps[0].effects))
        call = proposal_call(dossier.tool, proposal)
        settings = self._keeper.settings
        if (changed or (dossier.accepted and not accepted_before)) and box.session.alive:
            steps.append(await box.call(StepKind.REPEAT, dossier.tool, call, settings.call_timeout_ms))
            self._on_call(steps[-1])
        trial = box.trial(dossier.tool, Purpose.PROBE, steps, number=self._keeper.number())
        dossier.trials.append(await self._attributor.rested(dossier.tool, trial, call))
        return changed
