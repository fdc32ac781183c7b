"""``hintproof doctor`` about the docker host."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import sandbox
from sandbox.cli.doctor import command
from sandbox.containers.connection import Docker
from sandbox.doctor import Check, usable
from sandbox.errors import ImageBuildError, NoDockerError


def doctor(*words: str) -> Result:
    return CliRunner().invoke(command, words, standalone_mode=False)


def checks(*words: str) -> dict[str, Check]:
    told = json.loads(doctor("--json", "--host", "docker", *words).output)
    return {check["name"]: Check(**check) for check in told}


def test_without_an_engine_only_that_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    (engine,) = checks().values()
    assert not engine.works
    assert "install Docker" in engine.cure
    done = doctor("--host", "docker")
    assert done.return_value == 4
    assert str(tmp_path) in done.output


def test_one_host_is_enough() -> None:
    works = Check("docker", "engine", True, "", kind="needed"), Check("docker", "root", True, "", kind="rung")
    fails = Check("local", "user", False, "", kind="rung"), Check("local", "gateway", True, "", kind="needed")
    assert usable((*works, *fails))
    assert usable(works)
    assert not usable(fails)


def test_a_rung_of_one_host_does_not_make_up_for_the_other() -> None:
    rung = Check("local", "user", True, "", kind="rung")
    assert not usable((rung, Check("local", "gateway", False, "", kind="needed")))
    assert usable((rung, Check("docker", "engine", False, "", kind="needed")))


def test_a_base_needs_a_build() -> None:
    assert "needs --build" in str(doctor("--base", "debian").exception)


def test_building_where_there_is_no_engine_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    assert isinstance(doctor("--build").exception, NoDockerError)


@pytest.mark.docker
@pytest.mark.usefixtures("image")
def test_the_engine_its_image_and_every_rung_are_tried() -> None:
    found = checks()
    assert list(found)[:2] == ["engine", "image"]
    assert [check.kind for check in found.values()] == ["needed", "needed", "rung", "rung", "rung"]
    assert all(check.works for check in found.values()), found


@pytest.mark.docker
def test_rungs_that_cannot_be_tried_without_an_image_are_untested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "__version__", "0.0.1.test")
    found = checks()
    assert found["engine"].works
    assert "hintproof doctor --build" in found["image"].cure
    assert [check.tried for check in found.values()] == [True, True, False, False, False]
    assert "untested" in doctor("--host", "docker").output


@pytest.mark.docker
def test_a_build_shows_its_lines_and_ends_in_a_reason(docker: Docker) -> None:
    done = doctor("--build", "--base", "hintproof-no-such-base:at-all")
    assert "FROM ${BASE}" in done.stderr
    assert isinstance(done.exception, ImageBuildError)
    assert docker.facts.version
