"""What a conversation is opened with, and what a listing comes back as."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox.model import Remark, Tool


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """How a conversation is held.

    ``era`` is ``legacy`` (the ``initialize`` handshake, up to 2025-11-25) or ``modern`` (2026-07-28:
    ``server/discover`` and per-request ``_meta``). ``roots`` are absolute paths that ``roots/list`` is
    answered with. ``max_line`` bounds one message in bytes, ``wire_bytes`` the evidence log.
    """

    era: str = "legacy"
    roots: tuple[str, ...] = ()
    handshake_timeout_s: float = 30.0
    max_line: int = 64 << 20
    wire_bytes: int = 4 << 20
    client_name: str = "hintproof"


@dataclass(frozen=True, slots=True)
class ToolListing:
    """Every page of ``tools/list`` joined: the first tool of each name, in the server's order."""

    tools: tuple[Tool, ...]
    remarks: tuple[Remark, ...] = ()
