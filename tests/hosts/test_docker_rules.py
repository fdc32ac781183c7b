"""What the docker host makes of a container's end, of its rungs and of its words, without a container."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from standin import LYING, StandIn, job

from sandbox.config import Settings
from sandbox.containers.spec import ContainerRung
from sandbox.errors import (
    BoxLostError,
    ContainerRefusedError,
    ImageMissingError,
    NoSandboxError,
    ServerStartError,
    TargetNotFoundError,
    UsageError,
)
from sandbox.evidence.runs import RunFolder
from sandbox.hosts import docker
from sandbox.hosts.docker import container_spec, converse
from sandbox.hosts.job import Answer, Job, Task
from sandbox.hosts.mounts import Bind, Sight, View
from sandbox.hosts.stream import write_job
from sandbox.model import Limits, Listing, Report

RUNG = ContainerRung("user", "1000:1000", (), "as a user")
ROOT_RUNG = ContainerRung("admin", "0:0", ("SYS_ADMIN",), "as root")


class Told:
    """An engine that has these lines to tell, and ends with this code and these words."""

    def __init__(self, *lines: dict[str, object], code: int = 0, words: str = "") -> None:
        self._lines = [json.dumps(line).encode() for line in lines]
        self._code, self._words = code, words
        self.sent = b""

    def send(self, data: bytes) -> None:
        self.sent += data

    def lines(self) -> Iterator[bytes]:
        return iter(self._lines)

    def stderr_tail(self) -> str:
        return self._words

    def wait(self) -> int:
        return self._code

    def explain_exit(self, code: int) -> str:
        return f"it ended with {code}"


def sight(asked: Job | None = None, **more: str) -> Sight:
    return Sight(asked or job(LYING), View(()), **more)


def silent(_: object) -> None:
    """Nobody listens."""


def test_the_engine_is_told_its_job_and_nothing_else(folder: RunFolder) -> None:
    engine = Told({"error": "UsageError", "message": "no"})
    with pytest.raises(UsageError, match=r"^no$"):
        converse(engine, sight(), folder, silent)
    assert engine.sent == write_job(job(LYING))


def test_an_engine_that_falls_silent_is_lost_with_its_last_words(folder: RunFolder) -> None:
    engine = Told({"event": "Progress", "data": {"note": "x"}}, code=137, words="\nout of\nmemory\n")
    with pytest.raises(BoxLostError, match=r"it ended with 137\nout of\nmemory$"):
        converse(engine, sight(), folder, silent)
    with pytest.raises(BoxLostError, match=r"it ended with 0$"):
        converse(Told(), sight(), folder, silent)


def test_why_a_target_is_missing_in_there_is_told_with_it(folder: RunFolder) -> None:
    told = Told({"error": "TargetNotFoundError", "message": "x: there is no such file."})
    with pytest.raises(TargetNotFoundError, match=r"there is no such file\.\n  why: because$"):
        converse(told, sight(if_missing="  why: because"), folder, silent)
    told = Told({"error": "ServerStartError", "message": "it exited"})
    with pytest.raises(ServerStartError, match=r"it exited\n  another python$"):
        converse(told, sight(if_it_fails="  another python"), folder, silent)


def test_a_rung_that_carries_no_box_leads_to_the_next_one() -> None:
    tried: list[str] = []
    listing = Listing(None, (), (), {})  # type: ignore[arg-type]

    def run(rung: ContainerRung) -> Answer:
        tried.append(rung.name)
        if rung is RUNG:
            raise NoSandboxError("no user namespaces")
        return listing

    assert docker.climb((RUNG, ROOT_RUNG), run) is listing
    assert tried == ["user", "admin"]


def test_where_no_rung_carries_every_reason_is_told() -> None:
    def run(rung: ContainerRung) -> Answer:
        if rung is RUNG:
            raise ContainerRefusedError("no seccomp here", "get it")
        raise NoSandboxError("no namespaces")

    with pytest.raises(NoSandboxError) as raised:
        docker.climb((RUNG, ROOT_RUNG), run)
    said = str(raised.value)
    assert raised.value.exit_code == 4
    for words in ("user, as a user: no seccomp here", "cure: get it", "admin, as root: no namespaces"):
        assert words in said


@pytest.mark.parametrize(
    "error", [ImageMissingError("gone", "build it"), ServerStartError("it exited"), UsageError("x")]
)
def test_no_other_error_is_tried_on_the_next_rung(error: Exception) -> None:
    tried: list[str] = []

    def run(rung: ContainerRung) -> Answer:
        tried.append(rung.name)
        raise error

    with pytest.raises(type(error)):
        docker.climb((RUNG, ROOT_RUNG), run)
    assert tried == ["user"]


def test_the_container_is_as_large_as_its_boxes_and_sees_read_only() -> None:
    settings = Settings(limits=Limits(memory_mb=100, disk_mb=50, processes=10), env={"TOKEN": "hush-hush"})
    asked = dataclasses.replace(job(LYING), settings=settings)
    view = View((Bind("/a,b: c", "/a,b: c"), Bind("/real", "/link")), ("/data", "/tmp"))
    spec = container_spec("sha256:1", RUNG, Sight(asked, view), cpus=2)
    assert spec.memory_mb == 4 * 150 + 1024
    assert spec.pids == 4 * 10 + 256
    assert spec.cpus == 2
    assert [(mount.source, mount.target, mount.read_only) for mount in spec.mounts] == [
        ("/a,b: c", "/a,b: c", True),
        ("/real", "/link", True),
    ]
    assert spec.folders == ("/data",)  # the container's own /tmp is there
    assert "hush-hush" not in repr(spec)


def test_what_is_known_here_is_not_taken_from_the_container(tmp_path: Path, folder: RunFolder) -> None:
    """A whole run through the stand-in, whose report claims to be another one."""
    asked = dataclasses.replace(job(LYING), invocation=("hintproof", "verify"))
    lied = dataclasses.replace(
        asked, run="another", command=("x",), stands_for=asked.command, invocation=("y",)
    )
    (tmp_path / "scratch").mkdir()
    with StandIn(tmp_path / "scratch") as engine:
        engine.send(write_job(lied))
        report = docker.hear(engine.lines(), asked, folder, silent)
    assert isinstance(report, Report)
    assert (report.run, report.command) == ("another", ("x",))
    known = docker.with_facts(report, asked, "sha256:0123")
    assert isinstance(known, Report)
    assert (known.run, known.target, known.command) == ("run-1", asked.target, asked.command)
    assert (known.invocation, known.host, known.host_image) == (
        ("hintproof", "verify"),
        "docker",
        "sha256:0123",
    )
    assert known.tools == report.tools


def test_a_listing_names_no_host() -> None:
    listing = Listing(None, (), (), {})  # type: ignore[arg-type]
    assert docker.with_facts(listing, job(LYING, task=Task.LIST), "x") is listing
