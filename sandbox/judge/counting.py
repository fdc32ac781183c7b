"""Which effects count against which claim (design, section 3, the table)."""

from __future__ import annotations

from sandbox.judge.contacts import CONTACTS, host_of, is_outside
from sandbox.model import Confidence, Effect, EffectKind, Hint, Instrument, Weight
from sandbox.policy import Profile

NEEDED: dict[Hint, tuple[Instrument, ...]] = {
    Hint.READ_ONLY: (Instrument.FILES, Instrument.OBSERVER, Instrument.GATEWAY),
    Hint.DESTRUCTIVE: (Instrument.FILES, Instrument.GATEWAY),
    Hint.IDEMPOTENT: (Instrument.FILES, Instrument.GATEWAY),
    Hint.OPEN_WORLD: (Instrument.TAP, Instrument.GATEWAY),
}
"""The instruments without which nothing is called consistent."""

_ALTERING = frozenset(
    {
        EffectKind.FILE_MODIFIED,
        EffectKind.FILE_DELETED,
        EffectKind.FILE_MOVED,
        EffectKind.FILE_METADATA,
        EffectKind.ROW_UPDATED,
        EffectKind.ROW_DELETED,
        EffectKind.RECORD_UPDATED,
        EffectKind.RECORD_DELETED,
        EffectKind.REF_MOVED,
        EffectKind.REF_DELETED,
        EffectKind.INDEX_CHANGED,
    }
)
_ADDING = frozenset(
    {EffectKind.ROW_INSERTED, EffectKind.RECORD_ADDED, EffectKind.SCHEMA_CHANGED, EffectKind.REF_CREATED}
)
_LASTING = _ALTERING | _ADDING | {EffectKind.FILE_CREATED, EffectKind.PROCESS_LEFT, EffectKind.STATE_CHANGED}


def lasts(effect: Effect) -> bool:
    """Whether the effect is of a sort that is still there when the call is over (its weight is another matter)."""
    return effect.kind in _LASTING or (effect.kind is EffectKind.PROCESS_SIGNALLED and effect.loses)


def loses(effect: Effect) -> bool:
    """Whether something that existed before the trial is gone, overwritten, truncated or replaced."""
    return effect.loses and not effect.own


def alters(effect: Effect) -> bool:
    """Whether the effect changes something that existed before the trial, rather than adding to it."""
    return not effect.own and (effect.loses or effect.kind in _ALTERING)


def touches_existing(effect: Effect) -> bool:
    """Whether the effect changes, or adds to, a file or store that existed before the trial."""
    return not effect.own and (effect.loses or effect.kind in _ALTERING | _ADDING)


def is_contact(effect: Effect, closed_world: tuple[str, ...]) -> bool:
    """Whether the effect is contact with a host outside this machine and the closed world."""
    return effect.kind in CONTACTS and is_outside(host_of(effect), closed_world)


def may_write_elsewhere(effect: Effect) -> bool:
    """Whether the effect may have changed something on another machine, which its form cannot tell.

    A request other than GET and HEAD, a datagram, or data sent over a connection in another protocol than
    HTTP.
    """
    if effect.weight is Weight.BACKGROUND or not is_contact(effect, ()):
        return False
    match effect.kind:
        case EffectKind.NET_REQUEST:
            return str(effect.detail.get("method", "")).upper() not in ("GET", "HEAD")
        case EffectKind.NET_CONNECT:
            return bool(effect.detail.get("body_size"))
        case _:
            return effect.kind is EffectKind.NET_DATAGRAM


def weight_under(effect: Effect) -> Weight:
    """The weight that counts: what is made on first use is material where it alters what existed before."""
    if effect.weight is Weight.FIRST_USE and alters(effect):
        return Weight.MATERIAL
    return effect.weight


def bears_on(hint: Hint, effect: Effect, profile: Profile, closed_world: tuple[str, ...]) -> bool:
    """Whether the effect goes against the claim of ``hint``, however sure it is."""
    if weight_under(effect) not in profile.counts[hint]:
        return False
    match hint:
        case Hint.READ_ONLY:
            return lasts(effect)
        case Hint.DESTRUCTIVE:
            return loses(effect)
        case Hint.IDEMPOTENT:
            return lasts(effect) and not effect.volatile
        case Hint.OPEN_WORLD:
            return is_contact(effect, closed_world)


def counts_against(hint: Hint, effect: Effect, profile: Profile, closed_world: tuple[str, ...]) -> bool:
    """Whether the effect contradicts the claim of ``hint`` once it is reproduced; ``possible`` effects never do."""
    return effect.confidence is not Confidence.POSSIBLE and bears_on(hint, effect, profile, closed_world)
