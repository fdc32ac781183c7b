"""What a finding carries beside its verdict: a stable id, the severity, and the evidence, smallest arguments first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from sandbox.judge.counting import lasts, loses
from sandbox.judge.sightings import Sighting, canonical
from sandbox.model import Call, Declared, Effect, EffectKind, Evidence, Hint, Severity, Verdict

_EVIDENCE_KEPT = 8


def finding_id(
    tool: str, hint: Hint, *, declared: Declared, verdict: Verdict, reason: str, call: Call | None
) -> str:
    """A digest of 10 hex digits that two runs with the same outcome share; ``hintproof replay`` takes it."""
    words = [tool, hint.value, declared.value, verdict.value, reason, canonical(call)]
    return hashlib.blake2b(json.dumps(words).encode(), digest_size=5).hexdigest()


def grouped_evidence(decided_by: Sequence[Sighting]) -> tuple[Evidence, ...]:
    """The deciding sightings by step, in their order, at most 8 steps.

    A second step with the same arguments is among them only where it shows a kind of effect that the steps
    before it did not: what comes after the reply beside what the reply left.
    """
    steps: dict[tuple[str, int], list[Sighting]] = {}
    for sighting in decided_by:
        steps.setdefault((sighting.trial.id, sighting.index), []).append(sighting)
    chosen: list[list[Sighting]] = []
    shown: dict[str, set[EffectKind]] = {}
    for group in steps.values():
        kinds = {sighting.effect.kind for sighting in group}
        known = shown.setdefault(canonical(group[0].call), set())
        if not kinds <= known:
            known |= kinds
            chosen.append(group)
    return tuple(_evidence(group) for group in chosen[:_EVIDENCE_KEPT])


def severity_of(decided_by: Sequence[Sighting]) -> Severity:
    """How bad it is that a client trusted the claim: by the worst of what decided it."""
    effects = [sighting.effect for sighting in decided_by]
    if any(loses(effect) or effect.kind is EffectKind.PROCESS_LEFT for effect in effects):
        return Severity.HIGH
    if any(_sends_a_secret(sighting) for sighting in decided_by):
        return Severity.HIGH
    return Severity.MEDIUM if any(_is_write_or_contact(effect) for effect in effects) else Severity.LOW


def _evidence(group: Sequence[Sighting]) -> Evidence:
    first = group[0]
    return Evidence(first.trial.id, first.index, first.call, tuple(sighting.effect for sighting in group))


def _sends_a_secret(sighting: Sighting) -> bool:
    """Whether a planted secret was opened in the same step before this was sent."""
    if sighting.effect.kind not in (EffectKind.NET_REQUEST, EffectKind.NET_DATAGRAM):
        return False
    reads = (effect for effect in sighting.step.effects if effect.kind is EffectKind.SECRET_READ)
    return any(read.at_ms <= sighting.effect.at_ms for read in reads)


def _is_write_or_contact(effect: Effect) -> bool:
    if effect.kind in (EffectKind.FILE_METADATA, EffectKind.INDEX_CHANGED):
        return False
    return lasts(effect) or effect.kind.value.startswith("net.")
