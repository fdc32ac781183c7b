"""The connection to a Docker engine on this machine, and what is to be known about it."""

from __future__ import annotations

import os
import platform
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

    address = _address(os.environ)
    _refuse_remote(address)
    client = None
    try:
        client = docker.DockerClient(base_url=address, version="auto", timeout=_ANSWER_S)
        facts = _facts(client.info())
    except (docker.errors.DockerException, requests.RequestException, OSError) as error:
        if client is not None:
            client.close()
        raise _why_not(address, error) from error
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
            f"DOCKER_CONTEXT names {name}, and there is no such context: see docker context ls"
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


def _why_not(address: str, error: BaseException) -> NoDockerError:
    causes = list(_chain(error))
    if any(isinstance(cause, PermissionError) for cause in causes):
        return NoDockerError(
            f"this user may not use Docker at {address}",
            f"add the user to the group docker (sudo usermod -aG docker {_user()}; then log in again), or run Docker rootless",
        )
    if any(isinstance(cause, FileNotFoundError) for cause in causes):
        return NoDockerError(
            f"no Docker engine listens at {address}", f"{_INSTALL}; DOCKER_HOST names another socket"
        )
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return NoDockerError(
            f"the Docker engine behind {address} does not run", "start it (sudo systemctl start docker)"
        )
    return NoDockerError(
        f"Docker at {address} does not answer: {causes[-1]}",
        f"see whether `docker version` works; if not, {_INSTALL}",
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what caused it; urllib3 hides causes among its arguments."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        cause = waiting.pop(0)
        if isinstance(cause, BaseException) and id(cause) not in seen:
            seen.add(id(cause))
            yield cause
            waiting += [cause.__cause__, cause.__context__, getattr(cause, "reason", None), *cause.args]


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
