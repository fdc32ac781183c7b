"""What the connections of one box are served with."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.world.authority import Authority
from sandbox.world.exchanges import Journal
from sandbox.world.names import NameBook
from sandbox.world.relay import Relay


@dataclass(frozen=True, slots=True)
class Desk:
    """The box's own names and journal, the run's certificate authority, and the way out that the box may have."""

    names: NameBook
    journal: Journal
    authority: Authority
    relay: Relay | None = None
