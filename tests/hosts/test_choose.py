"""Which host a job goes to, and what its run folder keeps of that."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from standin import LYING, job

from sandbox.errors import ContainerLostError, ImageMissingError, NoSandboxError, TargetNotFoundError
from sandbox.events import Event, Listener, Progress, RunStarted
from sandbox.evidence.runs import RunFolder, RunRecord, load_record, load_report
from sandbox.hosts import docker, local
from sandbox.hosts.choose import perform
from sandbox.hosts.job import Answer, Job
from sandbox.model import Confidence, Declared, Finding, Hint, Report, Severity, Tool, ToolReport, Verdict

STARTED = RunStarted("run-1", "target", ("x",))
NOWHERE = NoSandboxError("no namespaces here")
NO_IMAGE = ImageMissingError("there is no image", "build it")


@dataclasses.dataclass
class Hosts:
    """Both hosts, each of which ends as it is told to."""

    local: Answer | Exception
    docker: Answer | Exception
    asked: list[str] = dataclasses.field(default_factory=list)

    def host(self, name: str) -> Callable[[Job, RunFolder | None, Listener], Answer]:
        def run(_job: Job, _folder: RunFolder | None, listener: Listener) -> Answer:
            self.asked.append(name)
            listener(STARTED)
            end: Answer | Exception = getattr(self, name)
            if isinstance(end, Exception):
                raise end
            return end

        return run


@pytest.fixture
def hosts(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Hosts]:
    def make(local_end: Answer | Exception, docker_end: Answer | Exception) -> Hosts:
        made = Hosts(local_end, docker_end)
        monkeypatch.setattr(local, "perform", made.host("local"))
        monkeypatch.setattr(docker, "perform", made.host("docker"))
        return made

    return make


@pytest.fixture
def recorded(folder: RunFolder) -> RunFolder:
    """A folder as the command line leaves it to a host."""
    folder.save_record(RunRecord("run-1", "target", ("x",), (), 0, "now", {"host": None, "seed": "1"}))
    return folder


def asked(host: str) -> Job:
    made = job(LYING)
    return dataclasses.replace(made, settings=dataclasses.replace(made.settings, host=host))


def report() -> Report:
    finding = Finding(
        "0123",
        "save",
        Hint.READ_ONLY,
        Declared.TRUE,
        Verdict.CONTRADICTED,
        "",
        "it wrote",
        Severity.LOW,
        Confidence.CERTAIN,
    )
    tool = ToolReport(Tool.read({"name": "save"}), (finding,), 1, 1, (), (), (), {})
    return Report("run-1", "t", ("x",), (), None, 0, "spec", "", 0, (), (), (tool,))


@pytest.mark.parametrize(
    ("host", "local_end", "expected"),
    [
        ("local", report(), ["local"]),
        ("docker", NOWHERE, ["docker"]),
        ("auto", report(), ["local"]),
        ("auto", NOWHERE, ["local", "docker"]),
    ],
)
def test_auto_takes_docker_only_where_there_is_no_sandbox_here(
    hosts: Callable[..., Hosts],
    recorded: RunFolder,
    host: str,
    local_end: Answer | Exception,
    expected: list[str],
) -> None:
    made = hosts(local_end, report())
    heard: list[Event] = []
    answer = perform(asked(host), recorded, heard.append)
    assert made.asked == expected
    assert isinstance(answer, Report)
    assert answer.exit_code == 1
    assert load_report(recorded.path)["exit_code"] == 1
    record = load_record(recorded.path)
    assert record.launch == {"host": expected[-1], "seed": "1"}
    assert heard.count(STARTED) == (1 if host != "auto" or len(expected) == 2 else 0)
    fell_back = Progress("no sandbox works on this machine; trying docker")
    assert (fell_back in heard) == (len(expected) == 2)


def test_where_neither_works_both_reasons_are_told(hosts: Callable[..., Hosts], recorded: RunFolder) -> None:
    hosts(NOWHERE, NO_IMAGE)
    with pytest.raises(NoSandboxError) as raised:
        perform(asked("auto"), recorded, lambda _: None)
    assert raised.value.exit_code == 4
    for said in (
        "no namespaces here",
        "Nor is there a sandbox in docker: there is no image",
        "cure: build it",
    ):
        assert said in str(raised.value)


@pytest.mark.parametrize(
    "error", [NO_IMAGE, ContainerLostError("gone"), TargetNotFoundError("no such program")]
)
def test_a_host_that_was_asked_for_is_not_replaced(
    hosts: Callable[..., Hosts], recorded: RunFolder, error: Exception
) -> None:
    made = hosts(report(), error)
    with pytest.raises(type(error)):
        perform(asked("docker"), recorded, lambda _: None)
    assert made.asked == ["docker"]
    assert not (recorded.path / "report.json").exists()


def test_a_target_that_only_the_container_has_is_looked_for_there_where_this_machine_has_no_sandbox(
    hosts: Callable[..., Hosts], recorded: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = hosts(TargetNotFoundError("node: no such command"), report())
    monkeypatch.setattr(local, "obstacle", lambda: None)
    with pytest.raises(TargetNotFoundError):
        perform(asked("auto"), recorded, lambda _: None)
    assert made.asked == ["local"]

    monkeypatch.setattr(local, "obstacle", lambda: NOWHERE)
    perform(asked("auto"), recorded, lambda _: None)
    assert made.asked == ["local", "local", "docker"]


def test_another_system_goes_to_docker_at_once(
    hosts: Callable[..., Hosts], recorded: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = hosts(report(), report())
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(NoSandboxError, match="needs Linux; use --host docker"):
        perform(asked("local"), recorded, lambda _: None)
    perform(asked("auto"), recorded, lambda _: None)
    assert made.asked == ["docker"]


def test_the_report_is_written_without_the_values_of_e(
    hosts: Callable[..., Hosts], recorded: RunFolder
) -> None:
    hosts(dataclasses.replace(report(), target="run with hush-hush"), report())
    secret = asked("local")
    settings = dataclasses.replace(secret.settings, env={"TOKEN": "hush-hush"})
    perform(dataclasses.replace(secret, settings=settings), recorded, lambda _: None)
    assert "hush-hush" not in Path(recorded.report).read_text()
    assert json.loads(Path(recorded.report).read_text())["target"] == "run with [redacted]"
