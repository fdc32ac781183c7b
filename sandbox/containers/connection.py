"""The connection to a Docker engine on this machine, and what is to be known about it."""

from __future__ import annotations

import os
import platform
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sandbox.errors import NoDockerError

if TYPE_CHECKING:
    from docker import DockerClient

_ANSWER_S = 300
"""How long Docker may take for one answer; on a machine under load it takes tens of seconds to make a container."""

_INSTALL = "install Docker and start it (Debian and Ubuntu: sudo apt install docker.io; macOS and Windows: Docker Desktop)"


@dataclass(frozen=True, slots=True)
class Facts:
    """What Docker says about itself.

    version: of the engine. security: names of its security options (``seccomp``, ``apparmor``, ``selinux``,
    ``rootless``, ``userns``, ...). same_kernel: its containers run on this very kernel, so user ids mean the
    same in them; Docker Desktop runs a machine of its own. memory_mb, cpus: what that machine has.
    """

    version: str
    security: frozenset[str]
    same_kernel: bool
    memory_mb: int
    cpus: int


@dataclass(frozen=True, slots=True)
class Docker:
    """A Docker engine that answers. address: its socket, for messages."""

    client: DockerClient
    address: str
    facts: Facts

    def url(self, path: str) -> str:
        """The URL of a path of Docker's API, for requests that docker-py has no method for."""
        api = self.client.api
        return f"{api.base_url}/v{api.api_version}{path}"


@contextmanager
def connect() -> Iterator[Docker]:
    """The Docker engine that ``docker`` would use: DOCKER_HOST, the current context, or the usual socket.

    Raises NoDockerError, which says what was tried and what to do: none answers, this user may not use it, or
    it is on another machine.
    """
    import docker
    import requests

    try:
        address = _address(os.environ)
    except (docker.errors.DockerException, OSError, ValueError) as error:
        raise NoDockerError(
            f"the settings of docker cannot be read: {error}", "see docker context ls"
        ) from error
    _refuse_remote(address)
    _knock(address)
    client = None
    try:
        client = docker.DockerClient(base_url=address, version="auto", timeout=_ANSWER_S)
        facts = _facts(client.info())
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        if client is not None:
            client.close()
        raise NoDockerError(
            f"Docker at {address} does not answer: {error}",
            f"see whether `docker version` works; if not, {_INSTALL}",
        ) from error
    try:
        yield Docker(client, address, facts)
    finally:
        client.close()


def _address(environment: Mapping[str, str]) -> str:
    """Where Docker listens, as a URL."""
    from docker.constants import IS_WINDOWS_PLATFORM
    from docker.context import ContextAPI

    if environment.get("DOCKER_HOST"):
        return environment["DOCKER_HOST"]
    name = environment.get("DOCKER_CONTEXT")
    context = ContextAPI.get_context(name) if name else ContextAPI.get_current_context()
    if name and context is None:
        raise NoDockerError(
            f"DOCKER_CONTEXT names {name}, and there is no such context", "see docker context ls"
        )
    host = context.Host if context is not None else None
    if host and not _is_usual(host):
        return str(host)
    if IS_WINDOWS_PLATFORM:
        return "npipe:////./pipe/docker_engine"
    usual = "/var/run/docker.sock"
    own = [
        Path(environment.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}", "docker.sock"),
        Path(environment.get("HOME") or "/", ".docker/run/docker.sock"),
    ]
    found = next((str(path) for path in own if path.exists()), usual) if not os.path.exists(usual) else usual
    return f"unix://{found}"


def _is_usual(host: str) -> bool:
    return host.endswith("/var/run/docker.sock")


def _refuse_remote(address: str) -> None:
    scheme = address.partition("://")[0]
    if scheme not in ("unix", "npipe", "http+unix"):
        raise NoDockerError(
            f"Docker is at {address}, another machine perhaps: the folders that a server needs would be looked for there",
            "use an engine on this machine (unset DOCKER_HOST; docker context use default), or run hintproof over there",
        )


def _knock(address: str) -> None:
    """See whether anybody listens, since docker-py's own error hides the reason. Raises NoDockerError."""
    scheme, _, path = address.partition("://")
    if not scheme.endswith("unix"):
        return
    try:
        with socket.socket(socket.AF_UNIX) as door:
            door.connect(path)
    except PermissionError as error:
        raise NoDockerError(
            f"this user may not use Docker at {address}",
            f"add the user to the group docker (sudo usermod -aG docker {_user()}; then log in again), or run Docker rootless",
        ) from error
    except FileNotFoundError as error:
        raise NoDockerError(
            f"no Docker engine listens at {address}", f"{_INSTALL}; DOCKER_HOST names another socket"
        ) from error
    except OSError as error:
        raise NoDockerError(
            f"the Docker engine behind {address} does not run: {error.strerror or error}",
            "start it (sudo systemctl start docker)",
        ) from error


def _user() -> str:
    return os.environ.get("USER") or "$USER"


def _facts(info: Mapping[str, Any]) -> Facts:
    options = info.get("SecurityOptions") or ()
    names = frozenset(
        value
        for option in options
        for key, _, value in (part.partition("=") for part in option.split(","))
        if key == "name"
    )
    return Facts(
        version=str(info.get("ServerVersion", "")),
        security=names,
        same_kernel=sys.platform == "linux" and info.get("KernelVersion") == platform.release(),
        memory_mb=int(info.get("MemTotal") or 0) >> 20,
        cpus=int(info.get("NCPU") or 0),
    )
