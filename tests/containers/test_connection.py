"""What is said when no Docker engine can be used."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from sandbox.containers.connection import connect
from sandbox.errors import ExitCode, NoDockerError


def refusal() -> NoDockerError:
    with pytest.raises(NoDockerError) as caught, connect():
        pass
    return caught.value


def test_no_socket_says_which_and_how_to_get_docker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    said = refusal()
    assert said.exit_code == ExitCode.NO_SANDBOX
    assert f"{tmp_path}/docker.sock" in said.reason
    assert "install Docker" in said.cure
    assert "DOCKER_HOST" in said.cure


def test_a_socket_without_an_engine_says_to_start_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(tmp_path / "docker.sock"))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    assert "start it" in refusal().cure


@pytest.mark.parametrize(
    "address", ["tcp://203.0.113.5:2376", "ssh://somebody@build.example", "https://10.1.2.3"]
)
def test_an_engine_on_another_machine_is_refused_before_it_is_asked(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", address)
    said = refusal()
    assert address in said.reason
    assert "another machine" in said.reason
    assert "unset DOCKER_HOST" in said.cure


def test_the_current_context_of_docker_is_followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from docker.context.config import get_context_id

    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps({"currentContext": "far"}))
    meta = tmp_path / "contexts" / "meta" / get_context_id("far")
    meta.mkdir(parents=True)
    far = {
        "Name": "far",
        "Metadata": {},
        "Endpoints": {"docker": {"Host": "ssh://build.example", "SkipTLSVerify": False}},
    }
    (meta / "meta.json").write_text(json.dumps(far))
    assert "ssh://build.example" in refusal().reason


def test_a_context_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    monkeypatch.setenv("DOCKER_CONTEXT", "nowhere")
    assert "nowhere" in refusal().reason
