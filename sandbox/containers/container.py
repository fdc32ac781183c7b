"""One container around one engine, from its creation to its certain removal.

Four things remove it, so that one is always left: :meth:`EngineContainer.remove`; the end of its stdin, which
the kernel brings about when this process dies, whereupon the engine in it exits; Docker's own removal of a
container that has exited; and :func:`sandbox.containers.sweep.sweep` at the next start. Only a Docker that is killed
leaves the engine running, until Docker is started again.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sandbox.containers.connection import Docker
from sandbox.containers.owner import this_process
from sandbox.containers.ownimage import BUILD
from sandbox.containers.spec import ContainerSpec, request
from sandbox.containers.stream import AttachedStream
from sandbox.containers.sweep import sweep
from sandbox.errors import ContainerLostError, ContainerRefusedError, ImageMissingError

if TYPE_CHECKING:
    from docker import APIClient

_GONE_S = 60.0
_KILLED, _STOPPED = 137, 143  # 128 + SIGKILL, SIGTERM


class EngineContainer:
    """A running container; leaving its context removes it.

    Any thread may call :meth:`remove`, also while others read lines or wait.
    """

    def __init__(self, api: APIClient, name: str, spec: ContainerSpec) -> None:
        """Use :meth:`start`."""
        self.name = name
        self._api = api
        self._spec = spec
        self._stream: AttachedStream | None = None
        self._end: Any = None
        self._removal = threading.Lock()
        self._removed = False

    @classmethod
    def start(cls, docker: Docker, spec: ContainerSpec) -> Self:
        """Remove what dead owners left behind, then create a container, attach to it and start it.

        Raises ImageMissingError, ContainerRefusedError when Docker does not start it, ContainerLostError when
        Docker goes away.
        """
        import requests
        from docker.errors import APIError, ImageNotFound

        sweep(docker)
        container = cls(docker.client.api, f"hintproof-{secrets.token_hex(6)}", spec)
        try:
            container._begin(docker)
        except BaseException as error:
            # Its name was ours to choose, so it can be removed even when the answer to its creation never came.
            container.remove()
            if isinstance(error, ImageNotFound):
                raise ImageMissingError(f"the image {spec.image} is gone", f"build it: {BUILD}") from error
            if isinstance(error, APIError):
                said = str(error.explanation or error).strip()
                reason = f"Docker does not start the engine's container (rung {spec.rung.name}): {said}"
                raise ContainerRefusedError(reason, _cure(said)) from error
            if isinstance(error, requests.RequestException):
                raise ContainerLostError(f"Docker went away while it started a container: {error}") from error
            raise
        return container

    def _begin(self, docker: Docker) -> None:
        api = self._api
        arguments = request(self._spec, docker.facts, this_process().labels())
        api.create_container(name=self.name, **arguments)
        parameters = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        self._stream = AttachedStream(api.attach_socket(self.name, parameters))
        # Asked before the start, or an engine that ends at once would be gone, its exit code with it.
        self._end = api.post(
            docker.url(f"/containers/{self.name}/wait"),
            params={"condition": "removed"},
            stream=True,
            timeout=None,
        )
        api.start(self.name)

    def send(self, data: bytes) -> None:
        """Write to the engine's stdin, which stays open. Raises ContainerLostError."""
        self._attached().send(data)

    def lines(self) -> Iterator[bytes]:
        """The lines of the engine's stdout, without their ends, until it ends. Raises ContainerLostError."""
        return self._attached().lines()

    def stderr_tail(self) -> str:
        """The last 64 KiB of the engine's stderr, complete when the lines have ended."""
        return self._attached().stderr_tail()

    def wait(self) -> int:
        """Wait until the container has ended and is removed; its exit code.

        Raises ContainerLostError when Docker goes away before it says so.
        """
        import requests

        try:
            answer = self._end.json()
            return int(answer["StatusCode"])
        except (requests.RequestException, OSError, ValueError, KeyError, TypeError) as error:
            raise ContainerLostError(
                "Docker went away while the engine's container ran (was it stopped or restarted?); run hintproof again"
            ) from error

    def explain_exit(self, code: int) -> str:
        """What an exit code of the container itself, not of an engine that ended by itself, means to people."""
        if code == _KILLED:
            return f"the engine's container was killed: as a rule it used more than its {self._spec.memory_mb} MiB of memory"
        return f"the engine's container ended with exit code {code}"

    def remove(self) -> None:
        """Kill and remove the container, whatever it does; returns when it is gone. May be called again."""
        with self._removal:
            if self._removed:
                return
            if self._stream is not None:
                self._stream.close()
            self._force_away()
            if self._end is not None:
                self._end.close()
            self._removed = True

    def _force_away(self) -> None:
        import requests
        from docker.errors import APIError, NotFound

        deadline = time.monotonic() + _GONE_S
        while time.monotonic() < deadline:
            try:
                self._api.remove_container(self.name, force=True, v=True)
            except NotFound:
                return
            except APIError:  # its own end removes it at this moment
                time.sleep(0.05)
            except requests.RequestException:  # Docker is gone; the next sweep finds what it leaves
                return
            else:
                return

    def _attached(self) -> AttachedStream:
        assert self._stream is not None, "start() attaches"
        return self._stream

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.remove()


def _cure(said: str) -> str:
    text = said.lower()
    if "bind source path does not exist" in text or "mounts denied" in text or "not shared" in text:
        return (
            "Docker sees other folders than hintproof. Docker Desktop: share the folder (Settings, Resources, File"
            " sharing). In a container that was handed Docker's socket: run hintproof outside of it"
        )
    if "seccomp" in text:
        return "hintproof does not run servers without seccomp: use a kernel and a Docker engine that have it"
    if "apparmor" in text:
        return "Docker must be allowed to start containers with apparmor=unconfined, since AppArmor's default refuses mounts"
    if "pids" in text or "cgroup" in text or "cpu" in text or "memory" in text:
        return "see that Docker may limit memory, cpus and pids (docker info says what it cannot)"
    return "see the log of Docker (journalctl -u docker)"
