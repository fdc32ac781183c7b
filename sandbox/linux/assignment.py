"""What the processes of one box are given by the daemon, by inheritance."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.linux.base import Lower
from sandbox.linux.namespaces import Ids
from sandbox.linux.order import Order
from sandbox.model import SeedEntry


@dataclass(frozen=True, slots=True)
class Sources:
    """What a box is made of, made reachable by the daemon, which may see more of the host than the box's
    init.

    ``lowers`` are the lower layers, the root's first and then those of the order; ``files`` are descriptors
    and go with those of the order.
    """

    lowers: tuple[Lower, ...]
    files: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    """One box to run.

    ``ids`` say who is who in it; ``extra_size`` is what files and seeds need in the scratch beyond the order's ``disk_size``, in bytes;
    ``stdio`` are the server's ends of its three pipes; ``log`` is the event log; ``gateway`` the socket on
    which listeners are passed on; ``proc`` the host's /proc.
    """

    order: Order
    ids: Ids
    sources: Sources
    seeds: tuple[SeedEntry, ...]
    extra_size: int
    stdio: tuple[int, int, int]
    log: int
    gateway: int | None
    proc: int
