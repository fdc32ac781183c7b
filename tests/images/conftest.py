"""Archives of images from scratch, made without Docker, and the hosts that they are verified on."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from imageruns import Ran, scratch_archive, verify

HOSTS = [pytest.param("local"), pytest.param("docker", marks=pytest.mark.docker)]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The server of the images: static, so that they need hold nothing else."""
    built = tmp_path_factory.mktemp("server") / "server"
    source = Path(__file__).with_name("image_server.c")
    subprocess.run(["gcc", "-static", "-O1", "-Wall", "-Werror", "-o", built, source], check=True)
    return built.read_bytes()


@pytest.fixture(scope="session")
def stock(tmp_path_factory: pytest.TempPathFactory, server: bytes) -> Path:
    """A folder with ``root.tar`` and ``user.tar``, which differ in whom their server runs as."""
    place = tmp_path_factory.mktemp("images")
    (place / "root.tar").write_bytes(scratch_archive(server))
    (place / "user.tar").write_bytes(scratch_archive(server, "1234", (1234, 0)))
    return place


@pytest.fixture(scope="session", params=HOSTS)
def host(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def verified(host: str, stock: Path) -> Callable[[str], Ran]:
    """The verification of an archive of the stock on a host, made once; all of them side by side."""
    names = ("root", "user")
    with ThreadPoolExecutor() as pool:
        runs = dict(
            zip(
                names, pool.map(lambda name: verify(host, f"oci:./{name}.tar", cwd=stock), names), strict=True
            )
        )
    return runs.__getitem__
