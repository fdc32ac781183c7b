"""Whether boxes can be built in the engine's container: a rung is tried with the real image."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sandbox.containers.connection import Docker
from sandbox.containers.container import EngineContainer
from sandbox.containers.ownimage import COMMAND
from sandbox.containers.spec import ContainerRung, ContainerSpec
from sandbox.errors import ContainerLostError, ContainerRefusedError

_LOG = "see the log of Docker (journalctl -u docker)"


@dataclass(frozen=True, slots=True)
class Trial:
    """How a rung did: why it does not work, and what would cure that."""

    rung: ContainerRung
    works: bool
    why_not: str = ""
    cure: str = ""


def try_rung(docker: Docker, image: str, rung: ContainerRung) -> Trial:
    """Start a container on a rung and have the engine in it build trial boxes.

    Raises ImageMissingError when the image is gone.
    """
    spec = ContainerSpec(image, (COMMAND, "doctor", "--json", "--host", "local"), rung)
    try:
        with EngineContainer.start(docker, spec) as container:
            output = b"\n".join(container.lines())
            code = container.wait()
            said = container.stderr_tail().strip()
    except ContainerRefusedError as refused:
        return Trial(rung, False, refused.reason, refused.cure)
    except ContainerLostError as lost:
        return Trial(rung, False, str(lost), _LOG)
    if code == 0:
        return Trial(rung, True)
    try:
        failed = [check for check in json.loads(output) if not check["works"] and check["kind"] != "useful"]
    except ValueError:
        why = container.explain_exit(code) + (f": {said.splitlines()[-1]}" if said else "")
        return Trial(rung, False, why, "report this with the output of hintproof doctor")
    why = "; ".join(f"{check['name']}: {check['why_not']}" for check in failed)
    cures = dict.fromkeys(outside(str(check["cure"])) for check in failed)
    return Trial(rung, False, why, "; or ".join(cures))


def outside(cure: str) -> str:
    """A cure that the engine named in the container, where it did not know who had started it."""
    if not cure.startswith("inside a container"):
        return cure
    return (
        "the container allows this already: something around Docker refuses it (another runtime than runc, see docker info;"
        " a Docker that is itself in a container; a security module of the machine, see sudo dmesg)"
    )
