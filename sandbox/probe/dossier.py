"""What is known so far about one tool while its run goes on; becomes a ToolEvidence at the end."""

from __future__ import annotations

from dataclasses import dataclass, field

from sandbox.model import Call, Effect, EffectKind, Outcome, Step, StepKind, Tool, ToolEvidence, Trial
from sandbox.policy import Reason
from sandbox.probe.aside import Settling
from sandbox.probe.live import lasting, telling

_REFUSALS_KEPT = 5


@dataclass(slots=True)
class Dossier:
    """The trials and counts of one tool."""

    tool: Tool
    trials: list[Trial] = field(default_factory=list)
    tried: int = 0
    accepted: int = 0
    space: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    settled: bool = False
    settlings: list[Settling] = field(default_factory=list)
    spent_ms: float = 0.0
    failures: int = 0

    def count(self, step: Step, label: str) -> None:
        """Count one first call (not a repeat) of an argument set."""
        if step.reply is None:
            return
        self.tried += 1
        self.spent_ms += step.duration_ms
        if step.reply.outcome is Outcome.ACCEPTED:
            self.accepted += 1
            self.failures = 0
            if label not in self.space:
                self.space.append(label)
            if label in self.missed:
                self.missed.remove(label)
            return
        if label not in self.space and label not in self.missed:
            self.missed.append(label)
        if step.reply.text and step.reply.text not in self.refusals:
            self.refusals = [*self.refusals, step.reply.text][-_REFUSALS_KEPT:]
        if step.reply.outcome is Outcome.TIMED_OUT:
            self.failures += 1
            self.notes[Reason.TIMED_OUT] = (
                "A call did not answer in time; what it would have done later is unknown."
            )
        elif step.reply.outcome is Outcome.CRASHED:
            self.failures += 1
            self.notes[Reason.CRASHED] = "The server ended during a call of this tool."

    def note(self, code: Reason, sentence: str) -> None:
        """Remember a reason code that bears on the tool as a whole."""
        self.notes.setdefault(code, sentence)

    @property
    def had_loss(self) -> bool:
        """Whether an accepted call of this tool took something away, made for it or not."""
        return any(effect.loses for _, left in self.accepted_calls() for effect in left)

    @property
    def acts_late(self) -> bool:
        """Whether something was seen to come when the calls of this tool were over."""
        steps = (step for trial in self.trials for step in trial.steps if step.kind is StepKind.SETTLE)
        return any(telling(step.effects) for step in steps)

    def accepted_calls(self) -> list[tuple[Call, tuple[Effect, ...]]]:
        """The first calls that were accepted, each with what it left behind."""
        return [
            (step.call, lasting(step.effects))
            for trial in self.trials
            for step in trial.steps
            if step.kind is StepKind.CALL
            and step.call is not None
            and step.reply is not None
            and step.reply.outcome is Outcome.ACCEPTED
        ]

    def left_things(self) -> set[tuple[EffectKind, str]]:
        """What accepted calls left behind, by kind and subject."""
        return {(effect.kind, effect.subject) for _, left in self.accepted_calls() for effect in left}

    def evidence(self, closed_world: tuple[str, ...]) -> ToolEvidence:
        """The facts as the judge takes them."""
        return ToolEvidence(
            tool=self.tool,
            trials=tuple(self.trials),
            tried=self.tried,
            accepted=self.accepted,
            space=tuple(self.space),
            space_missed=tuple(self.missed),
            refusals=tuple(self.refusals),
            notes=tuple(self.notes.items()),
            closed_world=closed_world,
        )
