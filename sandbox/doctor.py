"""What works on this machine: each rung of the sandbox, each instrument, the gateway and the client."""

from __future__ import annotations

import importlib
import shutil
from dataclasses import dataclass

from sandbox.boxes.rungs import ladder
from sandbox.errors import BoxLostError
from sandbox.world import World


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was tried: ``needed`` says whether hintproof can do nothing without it."""

    name: str
    works: bool
    meaning: str
    why_not: str = ""
    cure: str = ""
    needed: bool = False


def examine() -> tuple[Check, ...]:
    """Try everything; a failing check says why and what to change."""
    rungs = [Check(rung.name, rung.works, rung.meaning, rung.why_not, rung.cure) for rung in ladder()]
    return (*rungs, _gateway(), _client(), *_runtimes())


def usable(checks: tuple[Check, ...]) -> bool:
    """Whether a server can be verified here: one rung carries and nothing that is needed fails."""
    carried = any(check.works for check in checks if check.name in ("root", "user"))
    return carried and all(check.works for check in checks if check.needed)


def _gateway() -> Check:
    meaning = "answers every address of a box: DNS, TCP, TLS, HTTP"
    world = World.start()
    try:
        world.ca_pem  # noqa: B018 - waits until the gateway is ready
    except BoxLostError as error:
        cure = "reinstall hintproof: its gateway needs cryptography, h11, h2 and dnslib"
        return Check("gateway", False, meaning, str(error), cure, needed=True)
    finally:
        world.close()
    return Check("gateway", True, meaning, needed=True)


def _client() -> Check:
    meaning = "speaks MCP to the server"
    try:
        importlib.import_module("sandbox.client.conversation")
    except ImportError as error:
        return Check(
            "client", False, meaning, str(error), "reinstall hintproof: it needs mcp >= 2.3", needed=True
        )
    return Check("client", True, meaning, needed=True)


def _runtimes() -> tuple[Check, ...]:
    """Programs that servers commonly need; hintproof itself needs none of them."""
    uses = {"node": "servers from npm", "git": "servers that work on repositories"}
    return tuple(
        Check(
            name,
            path is not None,
            f"for {use}",
            "" if path else "not in PATH",
            "" if path else f"install {name}",
        )
        for name, use in uses.items()
        for path in (shutil.which(name),)
    )
