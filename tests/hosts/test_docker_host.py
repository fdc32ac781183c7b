"""Whole commands with ``--host docker``, side by side with the local host, and every way in which they can end."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from standin import HONEST, LYING, PATIENCE_S, ROGUE, ROOT, USER_ADMIN

from sandbox.containers.connection import Docker, connect

pytestmark = pytest.mark.docker

REAL = ROOT / ".real"
TOKEN = "tok-f2a-not-for-docker"
GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "sandbox", *words]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def hintproof(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return ended(command(*words), cwd)


def ended(argv: list[str], cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv,
        cwd=cwd,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        check=False,
    )


def on_both(cwd: Path, runs: Path, *server: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The reports of one server on the local host and in a container, made at the same time."""

    def verified(host: str) -> dict[str, Any]:
        done = hintproof(
            "verify", "--json", "-q", "--host", host, "--runs", str(runs), "--", *server, cwd=cwd
        )
        assert done.stdout, f"{host}: {done.stderr}"
        report: dict[str, Any] = json.loads(done.stdout)
        assert report["exit_code"] == done.returncode
        return report

    with ThreadPoolExecutor() as pool:
        local, docker = pool.map(verified, ("local", "docker"))
    assert (local["host"], local["host_image"]) == ("local", None)
    assert docker["host"] == "docker"
    assert docker["host_image"].startswith("sha256:")
    return local, docker


def verdicts(report: dict[str, Any]) -> dict[tuple[str, str], tuple[Any, ...]]:
    names = ("declared", "verdict", "reason", "severity", "confidence", "supports")
    return {
        (tool["name"], finding["hint"]): tuple(finding[name] for name in names)
        for tool in report["tools"]
        for finding in tool["findings"]
    }


def accepted(report: dict[str, Any]) -> set[str]:
    return {tool["name"] for tool in report["tools"] if tool["calls"]["accepted"]}


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.05)


@pytest.fixture(scope="module")
def engine() -> Iterator[Docker]:
    """The Docker engine itself."""
    with connect() as docker:
        yield docker


def containers_of(docker: Docker, pid: int) -> list[str]:
    found = docker.client.api.containers(all=True, filters={"label": f"hintproof.owner.pid={pid}"})
    return [str(each["Id"]) for each in found]


@contextmanager
def half_way(docker: Docker, folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A verification in a container in which one tool has finished and the next one hangs."""
    words = ["verify", "--host", "docker", "--timeout", "call=600", "-e", f"TOKEN={TOKEN}"]
    with subprocess.Popen(
        command(*words, "--", sys.executable, str(ROGUE), "patient"),
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as client:
        try:
            wait_until(lambda: finished_tools(folder) or client.poll() is not None)
            assert finished_tools(folder) == ["000-add_note.json"], client.communicate()
            (container,) = containers_of(docker, client.pid)
            yield client, container
        finally:
            client.kill()


def finished_tools(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob(".hintproof/runs/*/tools/*.json"))


def test_a_server_of_npm_has_the_same_verdicts(tmp_path: Path) -> None:
    notes = tmp_path / "my notes, old: 1"
    notes.mkdir()
    (notes / "notes.txt").write_text("Buy milk\nCall Bob\n")
    (tmp_path / "link").symlink_to(notes.name)
    server = ("npx", "-y", "@modelcontextprotocol/server-filesystem", str(tmp_path / "link"))
    local, docker = on_both(REAL / "node", tmp_path / "runs", *server)
    assert verdicts(docker) == verdicts(local)
    assert accepted(docker) == accepted(local)
    assert len(docker["tools"]) == 14
    assert docker["command"] == local["command"] == list(server)
    assert docker["missing"] == []
    assert (notes / "notes.txt").read_text() == "Buy milk\nCall Bob\n"


def test_a_server_of_pypi_has_the_same_verdicts(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / "README.md").write_text("# Ledger\n")
    for words in (("init", "--quiet"), ("add", "README.md"), ("commit", "--quiet", "-m", "Begin")):
        subprocess.run([*GIT, *words], cwd=repository, check=True)
    server = (str(REAL / "venv/bin/mcp-server-git"), "--repository", str(repository))
    local, docker = on_both(tmp_path, tmp_path / "runs", *server)
    assert verdicts(docker) == verdicts(local)
    assert accepted(docker) == accepted(local)
    assert len(docker["tools"]) == 12


@pytest.mark.parametrize("package", ["npm:@modelcontextprotocol/server-memory", "pypi:mcp-server-time"])
def test_a_package_is_installed_once_and_has_the_same_verdicts(tmp_path: Path, package: str) -> None:
    words = ("verify", "--json", "-q", "--runs", str(tmp_path / "runs"))

    def verified(*more: str) -> dict[str, Any]:
        done = hintproof(*words, *more, package, cwd=tmp_path)
        assert done.stdout, done.stderr
        report: dict[str, Any] = json.loads(done.stdout)
        return report

    first = verified("--host", "docker", "--refresh")
    again = verified("--host", "docker")
    local = verified("--host", "local")

    assert (first["installation"]["fresh"], again["installation"]["fresh"]) == (True, False)
    assert first["installation"]["digest"] == again["installation"]["digest"]
    assert verdicts(first) == verdicts(again) == verdicts(local)
    assert accepted(first) == accepted(local)
    assert first["missing"] == []


def test_a_package_that_cannot_be_had_is_told_as_on_this_machine(tmp_path: Path) -> None:
    done = hintproof("verify", "--host", "docker", "npm:@modelcontextprotocol/no-such-server", cwd=tmp_path)

    assert done.returncode == 3, done.stderr
    assert "npm:@modelcontextprotocol/no-such-server" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_honest_and_the_lying_server_meet_their_scenarios(tmp_path: Path) -> None:
    done = hintproof("run", "-q", "--host", "docker", str(USER_ADMIN), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("as expected") == 2


def test_investigate_replay_judge_list_and_arguments(tmp_path: Path) -> None:
    server = ("--", sys.executable, LYING)
    found = hintproof("investigate", "delete_user", "--host", "docker", "-q", *server, cwd=tmp_path)
    assert found.returncode == 1, found.stderr
    assert "row.deleted" in found.stdout
    finding = found.stdout.split("hintproof replay ")[1].split()[0]

    again = hintproof("replay", finding, cwd=tmp_path)
    assert again.returncode == 1, again.stderr
    assert f"Seen again. {finding}: delete_user readOnlyHint" in again.stdout

    judged = json.loads(hintproof("judge", "--json", cwd=tmp_path).stdout)
    assert judged["host"] == "docker"
    assert judged["host_image"].startswith("sha256:")

    listed = hintproof("list", "--host", "docker", "--json", *server, cwd=tmp_path)
    assert [tool["name"] for tool in json.loads(listed.stdout)["tools"]] == [
        "list_users",
        "get_user",
        "delete_user",
    ]

    sent = hintproof("arguments", "delete_user", "--host", "docker", "--json", *server, cwd=tmp_path)
    assert json.loads(sent.stdout)["delete_user"][0]["arguments"] == {"user_id": 1}


def test_a_replay_uses_the_host_of_its_run(tmp_path: Path) -> None:
    """Without that host there is no replay, although the other one works."""
    found = hintproof("verify", "--json", "-q", "--host", "docker", "--", sys.executable, LYING, cwd=tmp_path)
    (finding,) = [
        each["id"]
        for tool in json.loads(found.stdout)["tools"]
        for each in tool["findings"]
        if each["verdict"] == "contradicted"
    ]
    done = subprocess.run(
        command("replay", finding),
        cwd=tmp_path,
        env={**environment(), "DOCKER_HOST": "unix:///nowhere/docker.sock"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 4
    assert "no Docker engine listens" in done.stderr


@pytest.fixture
def public() -> Iterator[Path]:
    """A folder that everybody may read: the container's user may be another one than the client's."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        folder = Path(place)
        folder.chmod(0o755)
        yield folder


def test_auto_goes_to_docker_where_this_machine_allows_no_sandbox(public: Path) -> None:
    shutil.copy(HONEST, public / "server.py")
    walled = [sys.executable, str(ROOT / "tests/cli/in_a_bare_place.py"), "walled", "-"]
    done = ended([*walled, *command("verify", "--json", "--", "python3", "server.py")], public)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["host"] == "docker"
    assert "no sandbox works on this machine; trying docker" in done.stderr


def test_a_client_on_another_system_has_its_server_resolved_in_the_container(public: Path) -> None:
    """As from a Mac, whose user has another id than the container's."""
    shutil.copy(LYING, public / "server.py")
    elsewhere = [sys.executable, str(ROOT / "tests/hosts/on_another_system.py"), "darwin"]
    done = ended([*elsewhere, "verify", "--json", "--", "python3", "server.py"], public)
    assert done.returncode == 1, done.stderr
    report = json.loads(done.stdout)
    assert (report["host"], report["command"]) == ("docker", ["python3", "server.py"])
    assert report["summary"]["verdicts"]["contradicted"] == 1


def test_an_interrupt_removes_the_container_and_keeps_the_finished_tools(
    tmp_path: Path, engine: Docker
) -> None:
    with half_way(engine, tmp_path) as (client, container):
        told = json.dumps(engine.client.api.inspect_container(container))
        client.send_signal(signal.SIGINT)
        _, said = client.communicate(timeout=PATIENCE_S)
        assert containers_of(engine, client.pid) == []
    assert client.returncode == 130, said
    assert "Traceback" not in said
    assert "1 finished tools are kept: hintproof judge " in said
    assert TOKEN not in told
    assert "add_note" in hintproof("judge", cwd=tmp_path).stdout


def test_a_killed_client_leaves_no_container(tmp_path: Path, engine: Docker) -> None:
    with half_way(engine, tmp_path) as (client, _):
        client.kill()
        client.communicate(timeout=PATIENCE_S)
        wait_until(lambda: not containers_of(engine, client.pid))
    assert finished_tools(tmp_path) == ["000-add_note.json"]


def test_a_killed_engine_is_our_fault_and_keeps_the_finished_tools(tmp_path: Path, engine: Docker) -> None:
    with half_way(engine, tmp_path) as (client, container):
        engine.client.api.kill(container, signal="SIGKILL")
        _, said = client.communicate(timeout=PATIENCE_S)
        assert containers_of(engine, client.pid) == []
    assert client.returncode == 70, said
    assert "the engine's container was killed" in said
    assert "1 finished tools are kept: hintproof judge " in said


def test_a_value_of_e_is_nowhere(tmp_path: Path) -> None:
    server = ("-e", f"TOKEN={TOKEN}", "--", sys.executable, str(ROGUE), "leaks")
    done = hintproof("verify", "--host", "docker", "-v", *server, cwd=tmp_path)
    assert done.returncode in {0, 1}, done.stderr
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not [content for content in written if TOKEN.encode() in content]
    assert TOKEN not in done.stdout + done.stderr


def test_errors_have_their_codes(tmp_path: Path) -> None:
    def ended(*server: str) -> tuple[int, str]:
        done = hintproof("verify", "--host", "docker", "-q", "--", *server, cwd=tmp_path)
        return done.returncode, done.stderr

    code, said = ended(sys.executable, str(ROGUE), "dies")
    assert code == 3
    assert "cannot start: no token" in said
    code, said = ended("no-such-program", "x")
    assert code == 2
    assert "no such command in PATH" in said
    assert ended(sys.executable, str(ROGUE), "refuses")[0] == 5
