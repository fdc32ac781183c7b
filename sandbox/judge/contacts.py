"""Contacts: which host an effect concerns, and whether that host is outside (design, section 2)."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from sandbox.model import Effect, EffectKind, Json
from sandbox.policy import Reason

CONTACTS = frozenset(
    {EffectKind.NET_LOOKUP, EffectKind.NET_CONNECT, EffectKind.NET_REQUEST, EffectKind.NET_DATAGRAM}
)

# Second levels below which the public registers names (co.uk, com.au); a short stand-in for the Public Suffix
# List, because it only chooses between two reasons for the same verdict.
_SECOND_LEVELS = frozenset({"ac", "co", "com", "edu", "gov", "go", "net", "ne", "or", "org"})


def host_of(effect: Effect) -> str:
    """The host that a contact concerns, in lower case without a final dot: a name where known, else an address."""
    known = effect.detail.get("host")
    text = known if isinstance(known, str) and known else effect.subject
    if "://" in text:
        try:
            text = urlsplit(text).hostname or text
        except ValueError:  # the URL is the server's own text and need not be one
            text = text.split("://", 1)[1].split("/", 1)[0]
    elif text.startswith("["):
        text = text[1:].split("]", 1)[0]
    elif text.count(":") == 1:
        text = text.split(":", 1)[0]
    return text.rstrip(".").lower()


def is_outside(host: str, closed_world: Sequence[str]) -> bool:
    """Whether contact with ``host`` leaves both this machine and the closed world that the user named."""
    if host == "localhost" or host.endswith(".localhost"):
        return False
    address = _address(host)
    if address is not None and (address.is_loopback or address.is_unspecified):
        return False
    return not any(_covers(entry.rstrip(".").lower(), host) for entry in closed_world if entry.strip("."))


def contact_reason(contacts: Iterable[tuple[str, str]]) -> Reason | None:
    """Why a set of contacts, as (host, text of the call's arguments) pairs, is what it is; None for no pattern."""
    pairs = list(contacts)
    # An address stands for a name that was looked up before it; where names are known they tell more.
    named = [(host, arguments) for host, arguments in pairs if _address(host) is None] or pairs
    if not named:
        return None
    if all(host in arguments for host, arguments in named):
        return Reason.HOST_FROM_ARGUMENT
    if any(host in arguments for host, arguments in named):
        return None
    return Reason.FIXED_HOST if len({_registrable(host) for host, _ in named}) == 1 else None


def words_of(arguments: Json) -> str:
    """Every string in a call's arguments, keys left out, joined by newlines in lower case."""
    if isinstance(arguments, str):
        return arguments.lower()
    if isinstance(arguments, dict):
        return "\n".join(words_of(value) for value in arguments.values())
    if isinstance(arguments, list):
        return "\n".join(words_of(value) for value in arguments)
    return ""


def _covers(entry: str, host: str) -> bool:
    return host == entry or (_address(host) is None and host.endswith("." + entry.lstrip("*.")))


def _address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(host.split("%", 1)[0])
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _registrable(host: str) -> str:
    if _address(host) is not None:
        return host
    labels = host.split(".")
    keep = 3 if len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVELS else 2
    return ".".join(labels[-keep:])
