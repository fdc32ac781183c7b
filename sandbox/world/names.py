"""The fake addresses behind names: every name of the world has its own, the same in every box and run."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address
from typing import TypeVar

MOST_NAMES = 16_384
"""Names that one box may look up before further ones are refused."""

# Servers that guard against request forgery refuse private, reserved, documentation and benchmark
# ranges, so fakes come out of ranges that ``ipaddress`` calls global and no special-purpose registry
# (RFC 6890) lists. Nothing public answers in 22.0.0.0/8 and the upper end of 2630::/12 is not given
# out, so that no program has an address of theirs built in.
_V4_NETWORK = int(IPv4Address("22.0.0.0"))
_V6_NETWORK = int(IPv6Address("263f::"))


_Fake = TypeVar("_Fake", IPv4Address, IPv6Address)


def canonical(name: str) -> str:
    """A host name as it is compared: lower case, no dot at the end (RFC 4343)."""
    return name.rstrip(".").lower()


def _digest(name: str, attempt: int) -> int:
    return int.from_bytes(blake2b(f"{attempt}/{name}".encode(), digest_size=8).digest(), "big")


def _v4(name: str, attempt: int) -> IPv4Address:
    digest = _digest(name, attempt)
    # The last byte is 1 to 254: programs take .0 and .255 for a network's own addresses.
    return IPv4Address(_V4_NETWORK | (digest >> 16 & 0xFFFF) << 8 | 1 + digest % 254)


def _v6(name: str, attempt: int) -> IPv6Address:
    return IPv6Address(_V6_NETWORK | (_digest(name, attempt) >> 16) << 64 | 1)


class NameBook:
    """The names that one box has looked up, and the addresses that they were given.

    An address is a digest of its name, so boxes and runs agree on it. Where two names of one box
    would share an address, the later one takes its next digest.
    """

    def __init__(self, most: int = MOST_NAMES) -> None:
        self._most = most
        self._fakes: dict[str, tuple[IPv4Address, IPv6Address]] = {}
        self._names: dict[str, str] = {}

    def fakes(self, name: str) -> tuple[IPv4Address, IPv6Address] | None:
        """The addresses of ``name``, or None when the book is full and does not know it."""
        name = canonical(name)
        known = self._fakes.get(name)
        if known is not None or len(self._fakes) >= self._most:
            return known
        fakes = self._free(_v4, name), self._free(_v6, name)
        self._fakes[name] = fakes
        for fake in fakes:
            self._names[str(fake)] = name
        return fakes

    def name_of(self, address: str) -> str:
        """The name that ``address`` was given to, or an empty string."""
        return self._names.get(address, "")

    def _free(self, make: Callable[[str, int], _Fake], name: str) -> _Fake:
        attempt = 0
        while str(fake := make(name, attempt)) in self._names:
            attempt += 1
        return fake
