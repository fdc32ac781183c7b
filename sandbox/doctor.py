"""What works on this machine: each rung of the sandbox, each instrument, the gateway and the client; the same in
a container; and the programs that servers need."""

from __future__ import annotations

import importlib
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

from sandbox.containers.connection import Docker, connect
from sandbox.containers.ownimage import build_image, find_image
from sandbox.containers.spec import rungs
from sandbox.containers.trial import try_rung
from sandbox.errors import BoxLostError, ImageMissingError, NoDockerError

Host = Literal["local", "docker"]
HOSTS: tuple[Host, ...] = get_args(Host)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing of one host that was tried.

    kind: of the ``rung``s one must carry, what is ``needed`` must work, what is ``useful`` need not. tried: False
    for what could not be tried, and why_not says why.
    """

    host: Host
    name: str
    works: bool
    meaning: str
    why_not: str = ""
    cure: str = ""
    kind: Literal["rung", "needed", "useful"] = "useful"
    tried: bool = True


def examine(hosts: tuple[Host, ...] = HOSTS) -> tuple[Check, ...]:
    """Try everything on these hosts; a failing check says why and what to change."""
    local = _local() if "local" in hosts else ()
    return (*local, *(_docker() if "docker" in hosts else ()))


def usable(checks: tuple[Check, ...]) -> bool:
    """Whether a server can be verified here: on one of the hosts a rung carries and nothing that is needed fails."""
    return any(_usable([check for check in checks if check.host == host]) for host in HOSTS)


def build(base: str, say: Callable[[str], None]) -> None:
    """Build the image of the docker host, on another base image if one is named; say gets each line of the build.

    Raises NoDockerError, ImageBuildError, ContainerLostError.
    """
    with connect() as docker:
        build_image(docker, base, say)


def _usable(checks: list[Check]) -> bool:
    carried = any(check.works for check in checks if check.kind == "rung")
    return carried and all(check.works for check in checks if check.kind == "needed")


def _local() -> tuple[Check, ...]:
    if sys.platform != "linux":
        why = "boxes are made of what only Linux has"
        return (Check("local", "linux", False, "boxes on this machine", why, "use --host docker", "needed"),)
    from sandbox.boxes.rungs import ladder
    from sandbox.linux.namespaces import RungName

    found = [
        Check(
            "local",
            rung.name,
            rung.works,
            rung.meaning,
            rung.why_not,
            rung.cure,
            "rung" if rung.name in get_args(RungName) else "useful",
        )
        for rung in ladder()
    ]
    return (*found, _gateway(), _client(), *_runtimes())


def _gateway() -> Check:
    from sandbox.world import World

    meaning = "answers every address of a box: DNS, TCP, TLS, HTTP"
    world = World.start()
    try:
        world.ca_pem  # noqa: B018 - waits until the gateway is ready
    except BoxLostError as error:
        cure = "reinstall hintproof: its gateway needs cryptography, h11, h2 and dnslib"
        return Check("local", "gateway", False, meaning, str(error), cure, "needed")
    finally:
        world.close()
    return Check("local", "gateway", True, meaning, kind="needed")


def _client() -> Check:
    meaning = "speaks MCP to the server"
    try:
        importlib.import_module("sandbox.client.conversation")
    except ImportError as error:
        cure = "reinstall hintproof: it needs mcp >= 2.3"
        return Check("local", "client", False, meaning, str(error), cure, "needed")
    return Check("local", "client", True, meaning, kind="needed")


def _runtimes() -> tuple[Check, ...]:
    """Programs that servers commonly need; hintproof itself needs none of them."""
    uses = {"node": "servers from npm", "git": "servers that work on repositories"}
    return tuple(
        Check(
            "local",
            name,
            path is not None,
            f"for {use}",
            "" if path else "not in PATH",
            "" if path else f"install {name}",
        )
        for name, use in uses.items()
        for path in (shutil.which(name),)
    )


def _docker() -> tuple[Check, ...]:
    meaning = "a Docker engine on this machine"
    try:
        with connect() as docker:
            answers = f"Docker {docker.facts.version} at {docker.address}"
            return (Check("docker", "engine", True, answers, kind="needed"), *_in_containers(docker))
    except NoDockerError as error:
        return (Check("docker", "engine", False, meaning, error.reason, error.cure, "needed"),)


def _in_containers(docker: Docker) -> list[Check]:
    meaning = "the engine's image, built from this version"
    ladder = rungs(docker.facts)
    try:
        image = find_image(docker)
        trials = [try_rung(docker, image, rung) for rung in ladder]
    except ImageMissingError as error:
        untried = [
            Check("docker", rung.name, False, rung.meaning, "it needs the image", error.cure, "rung", False)
            for rung in ladder
        ]
        return [Check("docker", "image", False, meaning, error.reason, error.cure, "needed"), *untried]
    return [
        Check("docker", "image", True, meaning, kind="needed"),
        *(
            Check(
                "docker",
                trial.rung.name,
                trial.works,
                trial.rung.meaning,
                trial.why_not,
                trial.cure,
                "rung",
            )
            for trial in trials
        ),
    ]
