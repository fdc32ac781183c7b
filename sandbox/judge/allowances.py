"""Effects that the user accepts with a reason: taken out of the evidence before it is judged, and told."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import date
from fnmatch import fnmatchcase

from sandbox.config import AllowRule
from sandbox.judge.contacts import CONTACTS, host_of
from sandbox.model import Effect, Remark, Step, ToolEvidence


def allow(
    evidence: ToolEvidence, rules: Sequence[AllowRule], today: date
) -> tuple[ToolEvidence, tuple[Remark, ...]]:
    """The evidence without the effects that an active rule accepts, and a remark for each rule that did.

    What is saved and replayed keeps every effect; only the verdict does not count these.
    """
    active = [
        rule for rule in rules if rule.active(today) and fnmatchcase(evidence.tool.name, rule.tool or "*")
    ]
    if not active:
        return evidence, ()
    used: dict[AllowRule, str] = {}

    def kept(effect: Effect) -> bool:
        rule = next((rule for rule in active if _accepts(rule, effect)), None)
        if rule is not None:
            used.setdefault(rule, effect.summary)
        return rule is None

    def without(step: Step) -> Step:
        return dataclasses.replace(step, effects=tuple(effect for effect in step.effects if kept(effect)))

    trials = tuple(
        dataclasses.replace(trial, steps=tuple(without(step) for step in trial.steps))
        for trial in evidence.trials
    )
    remarks = tuple(
        Remark("allowed", f"accepted by {rule.where} ({rule.reason}): {summary}", evidence.tool.name)
        for rule, summary in used.items()
    )
    return dataclasses.replace(evidence, trials=trials), remarks


def _accepts(rule: AllowRule, effect: Effect) -> bool:
    if rule.host:
        return effect.kind in CONTACTS and fnmatchcase(host_of(effect), rule.host.lower())
    path = effect.subject.partition("#")[0].partition("@")[0]
    return bool(rule.path) and path.startswith("/") and fnmatchcase(path, rule.path)
