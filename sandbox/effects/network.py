"""Effects on the network: what the packet tap and the gateway saw, one effect per destination and kind.

The tap is the ground truth; the gateway adds names and contents; system calls only say who.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from sandbox.effects.volatile import fingerprint, mask, mask_subject
from sandbox.linux.base import NAME_SERVER
from sandbox.linux.netlink import DNS_PORT
from sandbox.model import Effect, EffectKind, Exchange, Json, Observed, SyscallEvent, Weight
from sandbox.world.destinations import REFUSED

OWN_NAMES = frozenset(
    {"box", "box.localdomain", "localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"}
)
"""Names of the box itself: looking them up is no contact (design, section 2)."""

_OWN_ENDS = (".localhost", ".127.in-addr.arpa", "1" + 31 * ".0" + ".ip6.arpa")
"""RFC 6761 keeps the first at home; the others ask for the name of a loopback address."""


@dataclass(slots=True)
class _Contact:
    """What is known of one destination in one step."""

    address: str
    port: int
    first_ns: int
    packets: int = 0
    host: str = ""
    exchanges: list[Exchange] = field(default_factory=list)


def network_effects(observed: Observed) -> Iterator[Effect]:
    """Look-ups, connections, requests and datagrams of a step, and what it listens on for others."""
    yield from _lookups(observed)
    yield from _contacts(observed, "tcp", EffectKind.NET_CONNECT)
    yield from _requests(observed)
    yield from _contacts(observed, "udp", EffectKind.NET_DATAGRAM)
    yield from _contacts(observed, "other", EffectKind.NET_DATAGRAM)
    yield from _listens(observed)


def _lookups(observed: Observed) -> Iterator[Effect]:
    names: dict[str, list[Exchange]] = {}
    for exchange in observed.exchanges:
        if _is_lookup(exchange) and not _is_own(name := _name(exchange)):
            names.setdefault(name, []).append(exchange)
    for name, queries in names.items():
        first = queries[0]
        detail: dict[str, Json] = {
            "host": name,
            "resolver": _place(first.address, first.port),
            "queries": len(queries),
            "types": [*sorted({query.note for query in queries if query.note})],
            "loopback": False,
        }
        who = _who(observed.events, first.at_ns, DNS_PORT)
        yield _effect(
            observed,
            EffectKind.NET_LOOKUP,
            name,
            f"looked up {name}",
            at_ns=first.at_ns,
            who=who,
            detail=detail,
        )


def _is_lookup(exchange: Exchange) -> bool:
    """Whether a query counts by the name that it asks for.

    One for a name of the box itself that goes to another resolver than the box's own tells that resolver
    whatever its first labels say (``SECRET.localhost``): it is told by where it went.
    """
    if exchange.kind != "dns" or not exchange.host:
        return False
    return exchange.address == NAME_SERVER or not _is_own(_name(exchange))


def _name(exchange: Exchange) -> str:
    return exchange.host.rstrip(".").lower() or "."


def _is_own(name: str) -> bool:
    return name in OWN_NAMES or name.endswith(_OWN_ENDS)


def _contacts(observed: Observed, protocol: str, kind: EffectKind) -> Iterator[Effect]:
    asked = [exchange for exchange in observed.exchanges if exchange.kind == "dns"]
    resolvers = {NAME_SERVER} | {exchange.address for exchange in asked if _is_lookup(exchange)}
    contacts: dict[tuple[str, int], _Contact] = {}
    for packet in observed.packets:
        if packet.protocol == protocol and not (packet.port == DNS_PORT and packet.address in resolvers):
            place = (packet.address, packet.port)
            contact = contacts.setdefault(place, _Contact(*place, packet.at_ns))
            contact.packets += 1
    kinds = {"tcp": ("tcp", "tls-failed", "http", "relayed"), "udp": ("udp",)}.get(protocol, ())
    # What goes to a resolver and asks for no name is told as what it is: a datagram with something in it.
    nameless = [exchange for exchange in asked if not exchange.host] if protocol == "udp" else []
    for exchange in (*(e for e in observed.exchanges if e.kind in kinds), *nameless):
        place = (exchange.address, exchange.port)
        contact = contacts.setdefault(place, _Contact(*place, exchange.at_ns))
        contact.exchanges.append(exchange)
        contact.host = contact.host or exchange.host
    for contact in contacts.values():
        yield _contact(observed, kind, protocol, contact)


def _contact(observed: Observed, kind: EffectKind, protocol: str, contact: _Contact) -> Effect:
    address, port = contact.address, contact.port
    host = contact.host or address
    subject = _place(host, port) if port else host
    known = f" ({address})" if contact.host else ""
    verb = {"tcp": "connected to", "udp": "sent datagrams to"}.get(protocol, "sent packets to")
    if contact.exchanges and all(e.note.startswith(REFUSED) for e in contact.exchanges):
        verb, known = "wanted to connect to", f"{known}, and was refused"
    notes = sorted({e.note for e in contact.exchanges if e.note})
    bodies = [e for e in contact.exchanges if e.kind not in ("http", "relayed") and e.body_size]
    detail: dict[str, Json] = {
        "host": host,
        "address": address,
        "port": port,
        "protocol": protocol,
        "packets": contact.packets,
        "loopback": False,
        "seen_by": [
            *(["tap"] if contact.packets else []),
            *(["gateway"] if contact.exchanges else []),
        ],
    }
    if notes:
        detail["notes"] = [*notes[:10]]
    if bodies:
        detail |= {"body_digest": bodies[0].body_digest, "body_head": bodies[0].body_head}
        detail["body_size"] = sum(e.body_size for e in bodies)
    who = _who(observed.events, contact.first_ns, port, address)
    return _effect(
        observed,
        kind,
        subject,
        f"{verb} {subject}{known}",
        at_ns=contact.first_ns,
        who=who,
        detail=detail,
    )


def _requests(observed: Observed) -> Iterator[Effect]:
    for exchange in observed.exchanges:
        if exchange.kind != "http":
            continue
        size = f" with a body of {exchange.body_size} bytes" if exchange.body_size else ""
        detail: dict[str, Json] = {
            "host": exchange.host or exchange.address,
            "address": exchange.address,
            "port": exchange.port,
            "method": exchange.method,
            "url": exchange.url,
            "headers": [[name, value] for name, value in exchange.headers],
            "body_digest": exchange.body_digest,
            "body_head": exchange.body_head,
            "body_size": exchange.body_size,
            "loopback": False,
        }
        if exchange.note:
            detail["note"] = exchange.note
        who = _who(observed.events, exchange.at_ns, exchange.port, exchange.address)
        pattern = f"{exchange.method} {_without_query(exchange.url)} {mask(exchange.body_head)}"
        yield _effect(
            observed,
            EffectKind.NET_REQUEST,
            exchange.url,
            f"sent {exchange.method} {exchange.url}{size}",
            at_ns=exchange.at_ns,
            who=who,
            detail=detail,
            pattern=pattern,
        )


def _without_query(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:  # the URL is the server's own text and need not be one
        return url
    return f"{parts.scheme}://{parts.netloc}{parts.path}?{mask(parts.query)}"


def _listens(observed: Observed) -> Iterator[Effect]:
    """A bind that a listen of the same process follows. Told for information: nobody from outside can come in."""
    bound: dict[int, SyscallEvent] = {}
    told: set[str] = set()
    for event in observed.events:
        if event.name == "bind" and event.address and not event.address.startswith(("unix:", "family:")):
            bound[event.pid] = event
        elif event.name == "listen" and event.pid in bound:
            place = bound.pop(event.pid).address
            host = place.rpartition(":")[0].strip("[]")
            if place in told or host.startswith("127.") or host == "::1":
                continue
            told.add(place)
            detail: dict[str, Json] = {"host": host, "address": place, "loopback": False}
            yield _effect(
                observed,
                EffectKind.NET_LISTEN,
                place,
                f"listens on {place}",
                at_ns=event.at_ns,
                who=event,
                detail=detail,
                weight=Weight.TRANSIENT,
            )


def _effect(
    observed: Observed,
    kind: EffectKind,
    subject: str,
    summary: str,
    *,
    at_ns: int,
    who: SyscallEvent | None,
    detail: dict[str, Json],
    pattern: str = "",
    weight: Weight = Weight.MATERIAL,
) -> Effect:
    return Effect(
        kind=kind,
        subject=subject,
        summary=summary,
        at_ms=observed.at_ms(at_ns),
        pid=who.pid if who else 0,
        executable=who.executable if who else "",
        weight=weight,
        fingerprint=fingerprint(kind.value, mask_subject(subject), pattern),
        detail=detail,
    )


def _who(events: Sequence[SyscallEvent], before_ns: int, port: int, address: str = "") -> SyscallEvent | None:
    """The last socket call before ``before_ns`` that named the destination; by its port where it alone fits."""
    calls = [
        e for e in events if e.name in ("connect", "sendto", "sendmsg", "sendmmsg") and e.at_ns <= before_ns
    ]
    named = _last(e for e in calls if address and e.address == _place(address, port))
    return named or _last(e for e in calls if e.address.endswith(f":{port}"))


def _last(events: Iterable[SyscallEvent]) -> SyscallEvent | None:
    return max(events, key=lambda e: e.at_ns, default=None)


def _place(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
