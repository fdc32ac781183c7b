"""The docker host against the local one, and against starting one container for every trial."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora import verify
from figures import Figure, median
from servers import Server, Things, corpus

from sandbox.containers.connection import Docker, connect
from sandbox.containers.ownimage import find_image
from sandbox.containers.stream import AttachedStream
from sandbox.evidence.runs import find_run, load_evidence
from sandbox.model import ToolEvidence

SERVERS = ("filesystem", "memory", "git")
ROUNDS = 3
STARTS = 5
TRIALS = 12
"""Trials that are really run in a container each; the others are reckoned at their median."""

_HELLO: tuple[dict[str, Any], ...] = (
    {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "benchmark", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)


async def measure(root: Path) -> list[Figure]:
    """Whole verifications on both hosts in turn, and the trials of one with a container each."""
    things = Things.make(root)
    servers = [server for server in corpus(things) if server.name in SERVERS]
    ratios, shares = [], []
    with connect() as docker:
        image = find_image(docker)
        start = median(_start(docker, image) for _ in range(STARTS))
        for server in servers:
            here, there = [], []
            for _ in range(ROUNDS):
                here.append(verify(server.command, server.cwd, root / "runs", "--host", "local").seconds)
                there.append(verify(server.command, server.cwd, root / "runs", "--host", "docker").seconds)
            ratios.append((median(here), median(there) - start))
            shares.append(f"{server.name} {ratios[-1][1] / ratios[-1][0]:.2f}")
        each = _container_for_each_trial(_Baseline(docker, image, servers[0], things.folder, root))
    return [
        Figure(
            "whole verify in docker, less the container's start / on the local host",
            1.3,
            sum(there for _, there in ratios) / sum(here for here, _ in ratios),
            "",
            f"{', '.join(shares)}; the container's start and removal: {start:.2f} s; {ROUNDS} rounds in turn",
        ),
        each,
    ]


@dataclass(frozen=True, slots=True)
class _Baseline:
    """What a container for each trial is started with: ``root`` is where the workspace is copied to."""

    docker: Docker
    image: str
    server: Server
    folder: Path
    root: Path


def _start(docker: Docker, image: str) -> float:
    """Seconds of a container of the image that does nothing, from its creation to its removal."""
    started = time.monotonic()
    with _container(docker, image, ["true"], []) as (_, stream):
        for _ in stream.lines():
            pass
    return time.monotonic() - started


def _container_for_each_trial(base: _Baseline) -> Figure:
    server, runs = base.server, base.root / "runs"
    run = verify(server.command, server.cwd, runs, "--host", "docker")
    trials = list(_trials(load_evidence(find_run(runs, run.report["run"]))))
    chosen = trials[:: max(1, len(trials) // TRIALS)][:TRIALS]
    each = [_one_trial(base, calls) for calls in chosen]
    return Figure(
        "one container for each trial / whole verify in docker",
        5,
        median(each) * len(trials) / run.seconds,
        "",
        f"{server.name}: {len(trials)} trials, {median(each):.2f} s each as the median of {len(chosen)}, against {run.seconds:.1f} s",
        at_most=False,
        decisive=False,
    )


def _trials(evidence: list[ToolEvidence]) -> Iterator[list[dict[str, Any]]]:
    """The calls of every trial of a run."""
    for tool in evidence:
        for trial in tool.trials:
            calls = [step.call for step in trial.steps if step.call is not None]
            if calls:
                yield [{"name": call.tool, "arguments": dict(call.arguments)} for call in calls]


def _one_trial(base: _Baseline, calls: list[dict[str, Any]]) -> float:
    """Seconds of one trial in a container of its own: a copy of the workspace, the calls, what changed, the end."""
    started = time.monotonic()
    server, copy = base.server, base.root / "copy"
    shutil.copytree(base.folder, copy, symlinks=True)
    binds = [f"{copy}:{base.folder}", f"{server.cwd}:{server.cwd}:ro"]
    try:
        with _container(base.docker, base.image, list(server.command), binds, str(server.cwd)) as (
            name,
            stream,
        ):
            lines = stream.lines()
            for message in (*_HELLO, *_requests(calls)):
                stream.send(json.dumps(message).encode() + b"\n")
                if "id" in message:
                    _await(lines, message["id"])
            base.docker.client.api.diff(name)
            subprocess.run(
                ["diff", "--recursive", "--brief", base.folder, copy], stdout=subprocess.DEVNULL, check=False
            )
        return time.monotonic() - started
    finally:
        shutil.rmtree(copy)


@contextmanager
def _container(
    docker: Docker, image: str, argv: list[str], binds: list[str], cwd: str = "/"
) -> Iterator[tuple[str, AttachedStream]]:
    """A running container with ordinary flags and no network; removed at the end."""
    api = docker.client.api
    created = api.create_container(
        image,
        argv[1:],
        entrypoint=argv[:1],
        stdin_open=True,
        user="0:0",
        working_dir=cwd,
        host_config=api.create_host_config(binds=binds, network_mode="none", init=True),
    )
    name = str(created["Id"])
    try:
        stream = AttachedStream(api.attach_socket(name, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}))
        try:
            api.start(name)
            yield name, stream
        finally:
            stream.close()
    finally:
        api.remove_container(name, force=True, v=True)


def _requests(calls: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for number, call in enumerate(calls, 1):
        yield {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": call}


def _await(lines: Iterator[bytes], number: int) -> None:
    for line in lines:
        if json.loads(line).get("id") == number:
            return
    sys.exit("the server in the container ended before its answer")
