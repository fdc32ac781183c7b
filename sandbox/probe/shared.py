"""Boxes that several tools were called in: each effect there is put down to the tool that shows it alone.

A write may come when its call was answered long ago: while another tool is called, or when the box is already
given up because that other tool changed something. So a shared box always ends with the long idle, and what
goes against a claim is not believed of a tool that came second until it shows it in a box of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from sandbox.judge import claims
from sandbox.judge.counting import bears_on
from sandbox.judge.likeness import Likeness, pair_off
from sandbox.model import Call, Effect, Hint, Purpose, StepKind, Tool, Trial
from sandbox.policy import Profile, Reason
from sandbox.probe.again import again
from sandbox.probe.aside import Settling
from sandbox.probe.boxes import BoxKeeper
from sandbox.probe.dossier import Dossier
from sandbox.probe.late import LateSearch, among, marks, shown_by
from sandbox.probe.live import LiveBox, telling

_RERUNS = 3
"""How many calls of one tool in one box are made again in a box of their own."""


@dataclass(frozen=True, slots=True)
class _End:
    """A shared box on its way out: its name, the calls made in it, the tools concerned in their order, and its
    settle."""

    box: str
    calls: tuple[tuple[Tool, Call], ...]
    concerned: tuple[str, ...]
    settling: Settling


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A trial in a shared box with effects that the tool did not show alone, and the trial that tried."""

    dossier: Dossier
    place: int
    alone: Trial
    missing: tuple[Effect, ...]


class Attributor:
    """Finds out whose doing the effects of shared boxes are, and corrects the trials of the tools."""

    def __init__(
        self,
        keeper: BoxKeeper,
        dossiers: Mapping[str, Dossier],
        profiles: Sequence[Profile],
        closed_world: tuple[str, ...],
        settle: Callable[[LiveBox, float], Settling],
    ) -> None:
        self._keeper = keeper
        self._dossiers = dossiers
        self._profiles = profiles
        self._closed_world = closed_world
        self._settle = settle
        self._ends: list[_End] = []
        self._followers: set[tuple[str, str]] = set()

    def leave(self, box: LiveBox) -> None:
        """Let a box idle that no call will be made in any more; what it shows waits to be attributed."""
        settling = self._settle(box, self._keeper.settings.settle_ms)
        end = _End(box.session.name, tuple(box.calls), box.tools, settling)
        self._ends.append(end)
        self._followers.update((end.box, name) for name in end.concerned[1:])

    def waits_for(self, name: str) -> bool:
        """Whether a box with calls of this tool was left and is not attributed yet."""
        return any(name in end.concerned for end in self._ends)

    @property
    def ready(self) -> bool:
        """Whether nothing would have to be waited for."""
        return all(end.settling.over for end in self._ends)

    async def attribute(self) -> None:
        """Wait for the boxes that were left, and put right whose their effects are."""
        while self._ends:
            await self._attribute(self._ends[0])
            del self._ends[0]

    async def _attribute(self, end: _End) -> None:
        step = await end.settling.wait()
        if step is None:
            await self._settle_again(end)
        else:
            for name in end.concerned:
                self._dossiers[name].settled = True
        late = telling(step.effects) if step else ()
        doubts = [doubt for name in end.concerned[1:] for doubt in await self._doubts(end, name)]
        if late or any(doubt.missing for doubt in doubts):
            await self._search(end, late, [doubt for doubt in doubts if doubt.missing])
        for doubt in doubts:
            if not doubt.missing:
                doubt.dossier.trials[doubt.place] = doubt.alone

    async def _settle_again(self, end: _End) -> None:
        """The box died under the last of its tools: wait for what the others do late in another one."""
        waiting = [self._dossiers[name] for name in end.concerned[:-1]]
        waiting = [dossier for dossier in waiting if not dossier.settled and dossier.accepted]
        if not waiting or self._keeper.spent():
            return
        box = await self._keeper.fresh()
        for dossier in waiting:
            call = next(call for call, _ in dossier.accepted_calls())
            if box.session.alive:
                await box.call(StepKind.CALL, dossier.tool, call, self._keeper.settings.call_timeout_ms)
        self.leave(box)

    async def rested(self, tool: Tool, trial: Trial, call: Call) -> Trial:
        """A trial after preparations, or the like of it with a rest before the tool's call.

        It takes the place where something goes against a claim, and where the rest shows everything that the
        call does not show any more: that is what the preparations do late.
        """
        shown = tuple(effect for effect in shown_by(trial) if self._matters(effect, [tool]))
        if not shown or self._keeper.spent():
            return trial
        rest_ms = self._keeper.settings.dirty_settle_ms
        later = await again(self._keeper, tool, trial, call, Purpose.PROBE, rest_ms=rest_ms)
        missing = _missing(shown, shown_by(later))
        before = marks(e for step in later.steps if step.kind is StepKind.PREPARE for e in step.effects)
        return later if len(among(missing, before)) == len(missing) else trial

    # --- whose is what a call showed? -----------------------------------------------------------------

    async def _doubts(self, end: _End, name: str) -> list[_Doubt]:
        """What the tool ``name`` showed after others in this box, tried again in boxes of its own."""
        dossier, before = self._dossiers[name], end.concerned[: end.concerned.index(name)]
        claimants = [self._dossiers[other].tool for other in (*before, name)]
        alone = [trial for trial in dossier.trials if (trial.box, name) not in self._followers]
        known = marks(effect for trial in alone for effect in shown_by(trial))
        doubts: list[_Doubt] = []
        for place, trial in enumerate(dossier.trials):
            if trial.box != end.box:
                continue
            shown = tuple(effect for effect in shown_by(trial) if self._matters(effect, claimants))
            call = next((step.call for step in trial.steps if step.kind is StepKind.CALL), None)
            if call is None or len(among(shown, known)) == len(shown):
                continue
            if len(doubts) == _RERUNS or self._keeper.spent():
                break
            again_alone = await again(self._keeper, dossier.tool, trial, call, Purpose.PROBE)
            theirs = shown_by(again_alone)
            known |= marks(theirs)
            doubts.append(_Doubt(dossier, place, again_alone, _missing(shown, theirs)))
        return doubts

    def _matters(self, effect: Effect, claimants: Iterable[Tool]) -> bool:
        """Whether the effect goes against a claim of one of these tools, whoever reads it."""
        return any(
            bears_on(hint, effect, profile, self._closed_world)
            for tool in claimants
            for hint in Hint
            if claims(hint, tool.hints.of(hint))
            for profile in self._profiles
        )

    # --- whose is what came late? -----------------------------------------------------------------------

    async def _search(self, end: _End, late: tuple[Effect, ...], doubts: list[_Doubt]) -> None:
        doubted = tuple(effect for doubt in doubts for effect in doubt.missing)
        search = LateSearch(self._keeper, (*late, *doubted))
        culprits = await search.search(end.calls)
        for tool, trial in culprits:
            self._dossiers[tool.name].trials.append(trial)
        concerned = [self._dossiers[name] for name in end.concerned]
        for effect in search.background:
            for dossier in concerned:
                if effect.loses or not effect.own:
                    dossier.note(Reason.IDLE_WRITES, f"Without any call: {effect.summary}")
        found = (*search.background, *(e for _, trial in culprits for e in shown_by(trial)))
        known = marks(found)
        for doubt in doubts:
            # What nobody else shows stays with the tool in whose call it was seen.
            if len(among(doubt.missing, known)) == len(doubt.missing):
                doubt.dossier.trials[doubt.place] = doubt.alone
        if missing := _missing(late, found):
            for dossier in concerned:
                dossier.note(
                    Reason.UNATTRIBUTED_LATE_EFFECT,
                    f"After the last call of {end.box}, and not again: {missing[0].summary}",
                )


def _missing(effects: tuple[Effect, ...], others: tuple[Effect, ...]) -> tuple[Effect, ...]:
    """The effects that have no like among ``others``."""
    likeness = pair_off(effects, others)
    return tuple(e for e, alike in zip(effects, likeness, strict=True) if alike is Likeness.NONE)
