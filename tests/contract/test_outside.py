"""A box and its container as the machine around them sees them, while they run and after they were ended."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from ground import ground
from hostruns import TOKEN, verify
from outside import PATIENCE_S, Hanging, containers_of, hanging, wait_until

NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
SHARED = {"cgroup"}
"""Namespaces that a box may share with the machine: nothing of it is shown inside."""


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Hanging]]:
    """One run on each host that hangs while the tests look at it."""
    with ExitStack() as stack:

        @cache
        def start(host: str) -> Hanging:
            place = tmp_path_factory.mktemp(f"{host}-running")
            return stack.enter_context(hanging(host, stack.enter_context(ground()), place))

        yield start


def status(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


@pytest.mark.parametrize("name", ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"])
def test_the_server_has_no_capability(host: str, name: str, running: Callable[[str], Hanging]) -> None:
    assert int(status(running(host).server.pid)[name], 16) == 0


def test_the_server_is_filtered_and_gets_no_new_privileges(
    host: str, running: Callable[[str], Hanging]
) -> None:
    fields = status(running(host).server.pid)
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")


def test_the_server_is_nobody_of_this_machine(host: str, running: Callable[[str], Hanging]) -> None:
    fields = status(running(host).server.pid)
    ids = {int(each) for name in ("Uid", "Gid") for each in fields[name].split()}
    assert 0 not in ids
    assert os.geteuid() != 0 or min(ids) > 65535


@pytest.mark.parametrize("name", NAMESPACES)
def test_the_server_has_namespaces_of_its_own(
    host: str, name: str, running: Callable[[str], Hanging]
) -> None:
    theirs = os.readlink(f"/proc/{running(host).server.pid}/ns/{name}")
    assert name in SHARED or theirs != os.readlink(f"/proc/self/ns/{name}")


def test_no_network_but_loopback_is_there(host: str, running: Callable[[str], Hanging]) -> None:
    run = running(host)
    inits = [each["State"]["Pid"] for each in run.containers]
    for pid in (run.server.pid, *inits):
        lines = Path(f"/proc/{pid}/net/dev").read_text().splitlines()[2:]
        assert [line.partition(":")[0].strip() for line in lines] == ["lo"]
        routes = Path(f"/proc/{pid}/net/route").read_text().splitlines()[1:]
        assert {line.split()[0] for line in routes} <= {"lo"}


def test_the_servers_root_holds_nothing_of_the_machine(host: str, running: Callable[[str], Hanging]) -> None:
    run = running(host)
    root = Path(f"/proc/{run.server.pid}/root")
    assert not (root / run.ground.workspace.parent.relative_to("/") / "hidden").exists()
    assert list((root / "run").iterdir()) == []


def test_the_container_is_started_with_the_least(host: str, running: Callable[[str], Hanging]) -> None:
    run = running(host)
    assert len(run.containers) == int(host == "docker")
    for container in run.containers:
        settings = container["HostConfig"]
        assert not settings["Privileged"]
        assert settings["NetworkMode"] == "none"
        assert settings["ReadonlyRootfs"]
        assert settings["Init"]
        assert settings["CapDrop"] == ["ALL"]
        assert set(settings["CapAdd"] or []) <= {"SETFCAP", "SETUID", "SETGID"}
        assert "no-new-privileges:true" in settings["SecurityOpt"]
        assert any(each.startswith("seccomp={") for each in settings["SecurityOpt"])
        assert settings["Memory"] > 0
        assert settings["PidsLimit"] > 0
        assert all(settings[each] in ("", "private") for each in ("PidMode", "IpcMode", "UTSMode"))
        assert all(not each["RW"] for each in container["Mounts"])
        sources = {each["Source"] for each in container["Mounts"]}
        assert not [each for each in sources if each.endswith(".sock") or each in ("/", str(Path.home()))]


def test_docker_is_told_no_secret_of_the_user(host: str, running: Callable[[str], Hanging]) -> None:
    for container in running(host).containers:
        assert TOKEN not in str(container)


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda each: each.name
)
def test_nothing_is_left_of_a_run_that_was_ended(host: str, number: signal.Signals, tmp_path: Path) -> None:
    with ground() as made, hanging(host, made, tmp_path) as run:
        assert len(run.family) >= 4  # a daemon, a gateway, a warden, a box's init and its server
        run.client.send_signal(number)
        _, said = run.client.communicate(timeout=PATIENCE_S)
        wait_until(lambda: run.left() == [])
    assert "Traceback" not in said
    if number is signal.SIGINT:
        assert run.client.returncode == 130


def test_nothing_is_left_of_a_run_that_ended(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with ground() as made:
        run = verify(host, "limits", made, tmp_path / "runs", "--tool", "be_fine")
        assert run.exit_code == 0
    assert list(temporary.iterdir()) == []
    assert containers_of(host, run.client) == []
