"""A run that hangs, looked at from outside: its processes, its container, and what is left of them afterwards."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from ground import Ground
from hostruns import command, environment

from sandbox.containers.connection import connect

PATIENCE_S = 120.0
"""Bound on everything that is waited for; a container on a busy machine takes its time."""


def wait_until(condition: Callable[[], object]) -> None:
    """Poll until something is true."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.05)


@dataclass
class Hanging:
    """A run whose server's tool ``hang`` has been called. ``containers`` are Docker's own descriptions of them."""

    host: str
    ground: Ground
    temporary: Path
    client: subprocess.Popen[str]
    server: psutil.Process
    family: Sequence[psutil.Process]
    containers: Sequence[dict[str, Any]] = field(default_factory=list)

    def left(self) -> list[str]:
        """What there still is of it, the run's own folder left out."""
        return [
            *(f"process {each.pid}" for each in self.family if _runs(each)),
            *(f"container {each['Name']}" for each in containers_of(self.host, self.client.pid)),
            *(f"mount {line}" for line in self._mounts()),
            *(f"file {path}" for path in self.temporary.rglob("*")),
        ]

    def _mounts(self) -> list[str]:
        words = [str(self.ground.workspace.parent), str(self.temporary)]
        words += [each["Id"] for each in self.containers]
        words += [each["GraphDriver"]["Data"]["MergedDir"] for each in self.containers]
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        return [line for line in lines if any(word in line for word in words)]


@contextlib.contextmanager
def hanging(host: str, ground: Ground, place: Path) -> Iterator[Hanging]:
    """Start a run and wait until its server hangs. The client is killed at the end, if it still runs."""
    temporary = place / "tmp"
    temporary.mkdir()
    words = command(host, "limits", ground, place / "runs", "--tool", "hang", "--timeout", "call=600")
    with subprocess.Popen(
        words,
        env={**environment(), "TMPDIR": str(temporary)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as client:
        try:
            servers: list[psutil.Process] = []
            wait_until(lambda: client.poll() is not None or servers.extend(_hanging(ground)) or servers)
            assert client.poll() is None, client.communicate()
            containers = containers_of(host, client.pid)
            roots = [client.pid, *(each["State"]["Pid"] for each in containers)]
            inits = [psutil.Process(pid) for pid in roots[1:]]
            family = [child for pid in roots for child in psutil.Process(pid).children(recursive=True)]
            yield Hanging(host, ground, temporary, client, servers[0], [*inits, *family], containers)
        finally:
            client.kill()


def containers_of(host: str, pid: int) -> list[dict[str, Any]]:
    """The containers that belong to a process."""
    if host == "local":
        return []
    with connect() as docker:
        found = docker.client.containers.list(all=True, filters={"label": f"hintproof.owner.pid={pid}"})
        return [dict(each.attrs) for each in found]


def _hanging(ground: Ground) -> list[psutil.Process]:
    """The processes of the server that have been told to hang."""
    found = psutil.process_iter(["name", "cmdline"])
    return [
        each
        for each in found
        if each.info["name"] == "hanging" and str(ground.server) in (each.info["cmdline"] or [])
    ]


def _runs(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
