"""The first pass over a tool: its argument sets, one call after another, repeats where they tell something."""

from __future__ import annotations

from collections.abc import Callable

from sandbox.arguments import Learned, Proposal, propose
from sandbox.model import Call, Json, Outcome, Purpose, Step, StepKind, Tool
from sandbox.policy import Reason
from sandbox.probe.aside import Aside
from sandbox.probe.boxes import BoxKeeper
from sandbox.probe.dossier import Dossier
from sandbox.probe.live import LiveBox, lasting, telling
from sandbox.workspace import Surroundings

CallListener = Callable[[Step], None]


class Sweep:
    """Calls tools in shared boxes that stay clean, and in boxes of their own once they change something."""

    def __init__(
        self,
        keeper: BoxKeeper,
        surroundings: Surroundings,
        learned: Learned,
        examples: dict[str, tuple[dict[str, Json], ...]],
        *,
        aside: Aside,
        leave: Callable[[LiveBox], None],
        on_call: CallListener,
    ) -> None:
        self.keeper = keeper
        self.learned = learned
        self.shared: LiveBox | None = None
        self._surroundings = surroundings
        self._examples = examples
        self._aside = aside
        self._leave_shared = leave
        self._on_call = on_call

    def proposals(self, tool: Tool, learned: Learned | None = None) -> list[Proposal]:
        """The argument sets for a tool: the user's examples first, then generated ones."""
        settings = self.keeper.settings
        given = [
            Proposal(arguments=arguments, label=f"example {number}", origin="given in the scenario")
            for number, arguments in enumerate(self._examples.get(tool.name, ()), 1)
        ]
        made = propose(
            tool, self._surroundings, learned or self.learned, seed=settings.seed, limit=settings.calls
        )
        return [*given, *made]

    async def clean_box(self) -> LiveBox:
        """The shared box, or a fresh one where it is used up."""
        if self.shared is not None and not self.shared.usable:
            self.end_shared()
        if self.shared is None:
            self.shared = await self.keeper.fresh()
        return self.shared

    def end_shared(self) -> None:
        """Leave the shared box, where there is one, to its long idle."""
        if self.shared is not None:
            self._leave_shared(self.shared)
            self.shared = None

    async def probe(self, dossier: Dossier) -> None:
        """Make the tool's calls. Trials and counts go into the dossier."""
        settings = self.keeper.settings
        tool, dirty_boxes, repeated = dossier.tool, 0, False
        for proposal in self.proposals(tool):
            if self._enough(dossier, dirty_boxes):
                dossier.missed.append(proposal.label)
                continue
            box = await self.clean_box()
            step = await self.call(box, StepKind.CALL, dossier, proposal)
            steps = [step]
            changed = bool(lasting(step.effects))
            if box.session.alive and step.reply and step.reply.outcome is not Outcome.TIMED_OUT:
                first_accepted = step.reply.outcome is Outcome.ACCEPTED and not repeated
                if changed or telling(step.effects) or first_accepted:
                    repeated = repeated or first_accepted
                    again = await box.call(
                        StepKind.REPEAT,
                        tool,
                        step.call or proposal_call(tool, proposal),
                        settings.call_timeout_ms,
                    )
                    dossier.spent_ms += again.duration_ms
                    self._on_call(again)
                    steps.append(again)
            number = self.keeper.number()
            dossier.trials.append(box.trial(tool, Purpose.PROBE, steps, number=number))
            if box.dirty:
                dirty_boxes += 1
                self.shared = None
                await self._leave(box, dossier, steps, number)

    async def _leave(self, box: LiveBox, dossier: Dossier, steps: list[Step], number: int) -> None:
        """Leave a box that a tool has changed: the tool's first one with a settle, which joins its trial.

        Where other tools were called before, that settle, and the change too, may show what they do late.
        """
        if box.tools != (dossier.tool.name,):
            self._leave_shared(box)
            return
        if dossier.settled or not box.session.alive:
            await self.keeper.discard(box)
            return
        dossier.settled = True
        place = len(dossier.trials) - 1

        def join(step: Step) -> None:
            dossier.trials[place] = box.trial(dossier.tool, Purpose.PROBE, [*steps, step], number=number)

        dossier.settlings.append(self._aside.settle(box, self.keeper.settings.dirty_settle_ms, join))

    async def call(self, box: LiveBox, kind: StepKind, dossier: Dossier, proposal: Proposal) -> Step:
        """One first call of an argument set: counted, learned from, told to the listener."""
        call = proposal_call(dossier.tool, proposal)
        step = await box.call(kind, dossier.tool, call, self.keeper.settings.call_timeout_ms)
        dossier.count(step, proposal.label)
        if step.reply is not None:
            self.learned.absorb(call, step.reply)
        self._on_call(step)
        return step

    def _enough(self, dossier: Dossier, dirty_boxes: int) -> bool:
        settings = self.keeper.settings
        if self.keeper.spent(len(self.shared.calls) if self.shared else 0):
            dossier.note(
                Reason.BUDGET_SPENT, "The run's budget was used up before all of this tool's calls were made."
            )
            return True
        if dossier.failures >= 2:
            return True
        if dirty_boxes >= settings.dirty_boxes:
            return True
        return dossier.spent_ms > settings.tool_ms and dossier.accepted > 0


def proposal_call(tool: Tool, proposal: Proposal) -> Call:
    """The call that sends a proposal."""
    return Call(tool.name, proposal.arguments, proposal.origin)
