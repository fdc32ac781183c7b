"""One box's collector: joins the file diff with events, packets, exchanges, processes and canary reads into effects."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from operator import itemgetter

from sandbox.effects.attribution import Attribution, Trace
from sandbox.effects.differ import FileDiffer, is_beneath
from sandbox.effects.file_effects import FileEffects
from sandbox.effects.mappings import Mappings
from sandbox.effects.network import network_effects
from sandbox.effects.processes import Processes, ipc_effects, refusals, secrets_read
from sandbox.effects.provenance import Provenance
from sandbox.effects.reader import Readers
from sandbox.effects.trees import LayerLike
from sandbox.effects.volatile import fingerprint, mask_subject
from sandbox.effects.weights import Grounds
from sandbox.evidence.content import ContentStore
from sandbox.model import Effect, EffectKind, FileChange, Instrument, Observed, Weight

MAX_EFFECTS = 200
"""Effects told of one step; the rest is counted in one more."""

_WORKING = re.compile(r"-(?:journal|wal|shm)$|/\.git/(?:.*\.lock|objects/.*)$")
"""Made and removed by every write of SQLite and git: nothing worth telling once it is gone."""


class Collector:
    """Collects the effects of one box, step after step.

    Make it as soon as the box is seeded: what stands in its layers then is the baseline. ``seeded`` names the
    paths that were put there (all of them, where not given); a file of the layers that is not among them was
    made by the server while it started. ``content`` and ``readers`` are shared by the boxes of a run and stay
    their owner's.
    """

    def __init__(
        self,
        layers: Sequence[LayerLike],
        *,
        content: ContentStore,
        readers: Readers,
        workspace: str,
        home: str,
        canaries: Collection[str] = (),
        seeded: Collection[str] | None = None,
    ) -> None:
        self._differ = FileDiffer(layers, content)
        self._differ.baseline()
        known = frozenset(seeded) if seeded is not None else None
        self._provenance = Provenance(
            () if known is None else (p for p in self._differ.paths() if p not in known)
        )
        self._attribution = Attribution()
        self._processes = Processes()
        self._mappings = Mappings()
        grounds = Grounds(workspace.rstrip("/"), home.rstrip("/"), frozenset(canaries))
        self._files = FileEffects(
            differ=self._differ,
            content=content,
            readers=readers,
            provenance=self._provenance,
            attribution=self._attribution,
            grounds=grounds,
        )

    @property
    def instruments(self) -> frozenset[Instrument]:
        """The instruments that worked for the whole box as far as collecting goes: FILES is lost by an overflow."""
        every = frozenset(Instrument)
        return every if self._differ.complete else every - {Instrument.FILES}

    def begin(self) -> None:
        """The tool's own calls begin now: whatever exists is not their ``own``, whoever made it."""
        self._provenance.begin()
        self._processes.begin()

    def collect(self, observed: Observed) -> tuple[Effect, ...]:
        """The effects of one step in their order, at most :data:`MAX_EFFECTS` and one that counts the rest."""
        self._attribution.take(observed.events, observed.started_ns)
        self._mappings.take(observed.events)
        changes = self._differ.scan([*self._differ.paths()] if self._mappings.any else ())
        effects, omitted = self._files.tell(changes, MAX_EFFECTS)
        effects += self._transient(changes)
        effects += network_effects(observed)
        effects += self._processes.effects(observed)
        effects += ipc_effects(observed, self._is_foreign)
        effects += secrets_read(observed)
        effects += refusals(observed)
        self._provenance.learn(changes, effects)
        return _bounded(effects, omitted)

    def close(self) -> None:
        """Release what the collector holds of the box."""
        self._differ.close()

    def _is_foreign(self, path: str) -> bool:
        return self._differ.after(path) is not None and not self._provenance.server_made(path)

    def _transient(self, changes: Sequence[FileChange]) -> Iterator[Effect]:
        """What the events show was made, written or removed, and of which nothing is left."""
        told = {change.path for change in changes} | {change.source for change in changes}
        for path, trace in self._attribution.traces.items():
            if path in told or is_beneath(path, told) or _WORKING.search(path):
                continue
            says, kind = self._passed(path, trace)
            if kind is None:
                continue
            doer = self._attribution.doer([path])
            yield Effect(
                kind=kind,
                subject=path,
                summary=f"{says} {path}",
                at_ms=doer.at_ms,
                pid=doer.pid,
                executable=doer.executable,
                weight=Weight.TRANSIENT,
                fingerprint=fingerprint("transient", kind.value, mask_subject(path, [doer.pid])),
            )

    def _passed(self, path: str, trace: Trace) -> tuple[str, EffectKind | None]:
        stands = self._differ.after(path) is not None
        if not stands and trace.made and trace.removed:
            return "created, and removed again,", EffectKind.FILE_CREATED
        if stands and trace.removed and (trace.made or path in self._differ.touched):
            return "removed, and put back as it was,", EffectKind.FILE_DELETED
        if stands and path in self._differ.touched and (trace.opened or trace.written or trace.made):
            return "wrote, and left with its old content,", EffectKind.FILE_MODIFIED
        return "", None


def mark_background(effects: Sequence[Effect], idle_effects: Iterable[Effect]) -> tuple[Effect, ...]:
    """Give the weight BACKGROUND to effects whose place and kind also changed while nothing was called.

    The place of a row or record is its table or list: a heartbeat inserts another row each time.
    """
    idle = {_background_key(effect) for effect in idle_effects}
    return tuple(
        effect
        if _background_key(effect) not in idle or effect.weight is Weight.TRANSIENT
        else replace(effect, weight=Weight.BACKGROUND)
        for effect in effects
    )


_KEY = re.compile(r"\[.*$", re.DOTALL)


def _background_key(effect: Effect) -> tuple[EffectKind, str]:
    place, mark, inner = effect.subject.partition("#")
    if mark:
        return effect.kind, f"{mask_subject(place)}#{_KEY.sub('', inner)}"
    return effect.kind, mask_subject(effect.subject)


def _bounded(effects: list[Effect], omitted: int) -> tuple[Effect, ...]:
    if len(effects) > MAX_EFFECTS:
        effects = _telling_first(effects)
        omitted += len(effects) - MAX_EFFECTS
    kept = sorted(effects[:MAX_EFFECTS], key=lambda e: e.at_ms)
    if not omitted:
        return tuple(kept)
    last = effects[MAX_EFFECTS] if len(effects) > MAX_EFFECTS else effects[-1]
    rest = Effect(
        kind=last.kind,
        subject="…",
        summary=f"and {omitted} more effects of this step",
        at_ms=kept[-1].at_ms,
        weight=last.weight,
        fingerprint=fingerprint("more", last.kind.value),
        detail={"omitted": omitted},
    )
    return (*kept, rest)


def _telling_first(effects: Iterable[Effect]) -> list[Effect]:
    """What counts before what does not, losses before the rest, and the kinds in turn: a flood of one kind,
    which a claim may allow, must not push out the only effect of another."""
    before: Counter[EffectKind] = Counter()
    ranked = []
    for effect in sorted(effects, key=lambda e: (_COUNTS_LESS.get(e.weight, 0), not e.loses)):
        ranked.append((_COUNTS_LESS.get(effect.weight, 0), before[effect.kind], effect))
        before[effect.kind] += 1
    ranked.sort(key=itemgetter(0, 1))
    return [effect for _, _, effect in ranked]


_COUNTS_LESS = {Weight.INCIDENTAL: 1, Weight.TRANSIENT: 2}
