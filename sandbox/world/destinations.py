"""The places that the box of an installation may reach, as they are listed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sandbox.world.names import canonical

REFUSED = "refused: "
"""How the note of a record begins whose connection was not passed on."""

UNREACHED = "not reached: "
"""The same, where it was to be passed on and could not be."""

_PLAIN = "http://"


@dataclass(frozen=True, slots=True)
class Destination:
    """One host and port that a box may be passed on to.

    ``name`` is what the box looks up (or an address that it connects to), ``real`` where it lies if no name service
    knows, else "". ``tls`` says that nothing but TLS for that very name is passed on.
    """

    name: str
    port: int
    tls: bool = True
    real: str = ""

    @property
    def place(self) -> str:
        """Name and port, as records tell them."""
        return f"[{self.name}]:{self.port}" if ":" in self.name else f"{self.name}:{self.port}"


def read_destinations(hosts: Iterable[str], addresses: Mapping[str, str]) -> tuple[Destination, ...]:
    """Read ``HOST:PORT`` (TLS) and ``http://HOST:PORT`` (without). Raises ValueError for anything else."""
    real = {canonical(name): address for name, address in addresses.items()}
    found = []
    for text in hosts:
        name, colon, port = text.removeprefix(_PLAIN).rpartition(":")
        name = canonical(name.removeprefix("[").removesuffix("]"))
        if not (colon and name and port.isascii() and port.isdecimal() and 0 < int(port) < 65_536):
            raise ValueError(f"no host and port: {text!r}")
        if any(character in "/@ \t\r\n" for character in name):
            raise ValueError(f"no host name: {text!r}")
        found.append(Destination(name, int(port), not text.startswith(_PLAIN), real.get(name, "")))
    return tuple(found)
