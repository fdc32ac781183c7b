"""Whom an installation spoke to: the registries, and everyone else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sandbox.model import Effect, EffectKind, Exchange, Weight
from sandbox.provision.plan import Relayed
from sandbox.world.destinations import REFUSED, UNREACHED, read_destinations

_MOST_REFUSED = 100
_TEMPORARY = ("/tmp/", "/var/tmp/")


@dataclass(frozen=True, slots=True)
class Contacts:
    """``hosts`` and ``places`` are the registries, by name and by name with port; ``relayed`` is what passed; ``refused`` are the other
    places that were wanted, and registries that were asked for something else; ``unreached`` says of registries why nothing passed."""

    hosts: frozenset[str]
    places: frozenset[str]
    relayed: tuple[Relayed, ...]
    refused: tuple[str, ...]
    unreached: tuple[str, ...]

    @classmethod
    def of(cls, exchanges: Iterable[Exchange], hosts: Iterable[str]) -> Contacts:
        """Sum up what the gateway recorded."""
        listed = read_destinations(hosts, {})
        sums: dict[str, Relayed] = {}
        refused: dict[str, None] = {}
        unreached: dict[str, None] = {}
        for exchange in exchanges:
            place = _place(exchange.host or exchange.address, exchange.port)
            if exchange.note.startswith(UNREACHED):
                unreached[f"{place}: {exchange.note.removeprefix(UNREACHED)}"] = None
            elif exchange.kind == "relayed":
                known = sums.get(place, Relayed(place, 0, 0, 0))
                sums[place] = Relayed(
                    place,
                    known.connections + 1,
                    known.received + exchange.answer_size,
                    known.sent + exchange.body_size,
                )
            elif len(refused) < _MOST_REFUSED and _is_refused(exchange):
                refused[place] = None
        return cls(
            frozenset(each.name for each in listed),
            frozenset(each.place for each in listed),
            tuple(sums.values()),
            tuple(refused),
            tuple(unreached),
        )


def foreign(effect: Effect, contacts: Contacts) -> bool:
    """Whether an effect is worth telling of an installation.

    Looking up and connecting to a registry is not, nor that programs were run, of which an installer is made, nor files of
    /tmp that are gone again.
    """
    if effect.kind is EffectKind.PROCESS_SPAWNED:
        return False
    if effect.weight is Weight.TRANSIENT and effect.subject.startswith(_TEMPORARY):
        return False
    if effect.kind is EffectKind.NET_LOOKUP:
        return effect.subject not in contacts.hosts
    if effect.kind is EffectKind.NET_CONNECT:
        return effect.subject not in contacts.places or effect.subject in contacts.refused
    return True


def _is_refused(exchange: Exchange) -> bool:
    return exchange.kind == "udp" or exchange.note.startswith(REFUSED)


def _place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
