"""What the processes of one box are given by the daemon, by inheritance."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.linux.base import SKELETON
from sandbox.linux.order import Order
from sandbox.model import SeedEntry


@dataclass(frozen=True, slots=True)
class Sources:
    """What a box is made of, made reachable by the daemon, which may see more of the host than the box's init.

    ``layers`` are folders below the base, ``files`` descriptors; they go with those of the order.
    """

    layers: tuple[str, ...]
    files: tuple[int, ...]

    @property
    def lowers(self) -> tuple[str, ...]:
        """The lower layer of each overlay, the root's first."""
        return (SKELETON, *self.layers)


@dataclass(frozen=True, slots=True)
class Assignment:
    """One box to run.

    ``extra_size`` is what files and seeds need in the scratch beyond the order's ``disk_size``, in bytes; ``stdio`` are the
    server's ends of its three pipes; ``log`` is the event log; ``gateway`` the socket on which listeners are passed on; ``proc``
    the host's /proc; ``skeleton`` the root's lower layer, for the engine.
    """

    order: Order
    sources: Sources
    seeds: tuple[SeedEntry, ...]
    extra_size: int
    stdio: tuple[int, int, int]
    log: int
    gateway: int | None
    proc: int
    skeleton: int
