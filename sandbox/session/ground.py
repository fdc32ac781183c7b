"""What all sessions of one run stand on: the launcher, the gateway and the plan of the box."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.boxes.launcher import Launcher
from sandbox.boxes.plan import BoxPlan
from sandbox.model import Instrument
from sandbox.world import World


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How sessions are held. Times are seconds or milliseconds as the names say.

    ``quiet_ms`` bounds how long a step waits for the server to come to rest after its reply; ``roots`` are
    the folders that the client offers. ``transport`` is ``stdio`` or ``http``: Streamable HTTP on ``port``
    and ``path`` of the box's loopback.
    """

    roots: tuple[str, ...] = ()
    handshake_s: float = 30.0
    quiet_ms: float = 3000.0
    transport: str = "stdio"
    port: int = 8000
    path: str = "/mcp"


@dataclass(frozen=True, slots=True)
class Ground:
    """The shared parts of a run. Owns nothing: whoever made the parts closes them."""

    launcher: Launcher
    world: World
    plan: BoxPlan
    settings: SessionSettings

    @property
    def instruments(self) -> frozenset[Instrument]:
        """The instruments of every box on this ground; a session drops those that fail in it."""
        return frozenset(Instrument)
