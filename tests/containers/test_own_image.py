"""The engine's image: what is in it, that it is the one of this code, and that building it again gives the same."""

from __future__ import annotations

import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import sandbox
from sandbox.containers import context
from sandbox.containers.connection import Docker
from sandbox.containers.container import EngineContainer
from sandbox.containers.ownimage import COMMAND, PYTHON, find_image, name
from sandbox.containers.spec import ContainerRung, ContainerSpec
from sandbox.errors import ImageBuildError, ImageMissingError

ROOT = Path(__file__).parents[2]
BASE = "org.opencontainers.image.base.name"


@dataclass(frozen=True)
class Entry:
    """A file of an image as far as it must not change from build to build."""

    kind: bytes
    mode: int
    owner: tuple[int, int]
    target: str
    content: str


@pytest.fixture(scope="module")
def contents(docker: Docker, image: str) -> dict[str, Entry]:
    """Every file of the engine's image."""
    return dict(entries(docker, image))


@pytest.mark.docker
def test_two_builds_on_one_base_give_equal_files(
    docker: Docker, image: str, contents: dict[str, Entry]
) -> None:
    base = docker.client.images.get(image).labels[BASE]
    again = build(docker, base, nocache=True)
    try:
        second = dict(entries(docker, again))
    finally:
        docker.client.api.remove_image(again, force=True)
    assert contents.keys() == second.keys()
    assert {path: (entry, second[path]) for path, entry in contents.items() if entry != second[path]} == {}


@pytest.mark.docker
def test_everybody_can_read_and_run_the_engine_and_what_servers_need(
    docker: Docker, image: str, contents: dict[str, Entry]
) -> None:
    script = "set -e; node --version; npm --version; npx --version; uv --version; uvx --version; git --version; hintproof --version"
    rung = ContainerRung("user", "61234:61234", (), "an id that no account has")
    with EngineContainer.start(docker, ContainerSpec(image, ("sh", "-c", script), rung)) as container:
        lines = list(container.lines())
        assert container.wait() == 0, container.stderr_tail()
    assert len(lines) == 7
    closed = [
        path
        for path, entry in contents.items()
        if path.startswith(("opt/hintproof", "usr/local"))
        and entry.kind in (tarfile.REGTYPE, tarfile.DIRTYPE)
        and entry.mode & 0o044 != 0o044
    ]
    assert closed == []


@pytest.mark.docker
def test_the_image_is_not_roots_and_says_its_version(
    docker: Docker, image: str, contents: dict[str, Entry]
) -> None:
    found = docker.client.images.get(image)
    assert found.labels["hintproof.version"] == sandbox.__version__
    assert found.attrs["Config"]["User"] not in ("", "0", "root", "0:0")
    assert {PYTHON, COMMAND} <= {f"/{path}" for path in contents}


@pytest.mark.docker
def test_an_image_of_other_code_or_version_is_not_used(
    docker: Docker, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    monkeypatch.setattr(sandbox, "__version__", "0.0.1.test")
    with pytest.raises(ImageMissingError, match=r"hintproof:0\.0\.1\.test is not there yet"):
        find_image(docker)
    try:
        for labels, said in (
            ({"hintproof.version": "0.0.0"}, "is of version 0.0.0, this hintproof of 0.0.1.test"),
            ({}, "is of version unknown"),
            ({"hintproof.version": "0.0.1.test", "hintproof.source": "x"}, "was built from other code"),
        ):
            made.append(labelled(docker, {**labels, BASE: "my-base"}))
            with pytest.raises(ImageMissingError, match=said) as caught:
                find_image(docker)
            assert caught.value.cure.endswith("hintproof doctor --build --base my-base")
        made.append(labelled(docker, {"hintproof.version": "0.0.1.test"}))
        assert find_image(docker) == made[-1]
    finally:
        for image in made:
            docker.client.api.remove_image(image, force=True)


@pytest.mark.docker
def test_a_base_that_cannot_be_had_is_said_with_the_cure(docker: Docker) -> None:
    from sandbox.containers.ownimage import build_image

    with pytest.raises(ImageBuildError) as caught:
        build_image(docker, "hintproof-no-such-base:at-all")
    assert "hintproof-no-such-base" in caught.value.reason
    assert "--base IMAGE" in caught.value.cure


def test_the_dockerfile_names_the_version_of_the_code() -> None:
    assert f"ARG VERSION={sandbox.__version__}\n" in (ROOT / "Dockerfile").read_text()


def test_the_context_is_the_same_for_the_same_code(tmp_path: Path) -> None:
    """From a checkout and from an installed wheel, whoever made the files and when."""
    site = tmp_path / "site"
    shutil.copytree(ROOT / "sandbox", site / "sandbox", copy_function=shutil.copyfile)
    included = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"][
        "wheel"
    ]
    for source, target in included["force-include"].items():
        copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copyfile
        (site / target).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / source, site / target)
    code = "import sys; sys.path.insert(0, sys.argv[1]); from sandbox.containers.context import digest; print(digest())"
    there = subprocess.run(
        [sys.executable, "-S", "-c", code, str(site)], capture_output=True, text=True, check=True
    )
    assert there.stdout.strip() == context.digest()


def test_the_context_holds_code_and_nothing_else_of_a_checkout() -> None:
    with tarfile.open(fileobj=io.BytesIO(context.archive())) as tar:
        paths = tar.getnames()
    assert {"Dockerfile", "LICENSE", "locks/hintproof.txt", "sandbox/containers/seccomp.json"} <= set(paths)
    assert {path.partition("/")[0] for path in paths} == {"Dockerfile", "LICENSE", "locks", "sandbox"}
    assert not [path for path in paths if "__pycache__" in path]


def build(docker: Docker, base: str, *, nocache: bool) -> str:
    image, _ = docker.client.images.build(
        fileobj=io.BytesIO(context.archive()),
        custom_context=True,
        buildargs={"BASE": base, "VERSION": sandbox.__version__},
        rm=True,
        forcerm=True,
        nocache=nocache,
    )
    return str(image.id)


def labelled(docker: Docker, labels: dict[str, str]) -> str:
    """An image under the engine's name with nothing in it but labels."""
    changes = [f"LABEL {key}={value}" for key, value in labels.items()]
    empty = io.BytesIO()
    with tarfile.open(fileobj=empty, mode="w"):
        pass
    docker.client.api.import_image_from_data(
        empty.getvalue(), repository=name().partition(":")[0], tag=name().partition(":")[2], changes=changes
    )
    return str(docker.client.images.get(name()).id)


def entries(docker: Docker, image: str) -> Iterator[tuple[str, Entry]]:
    """Every file of an image."""
    api = docker.client.api
    container = api.create_container(image)["Id"]
    try:
        pieces = api.export(container)
        with tarfile.open(fileobj=_Stream(pieces), mode="r|", bufsize=1 << 20) as tar:
            for member in tar:
                packed = tar.extractfile(member) if member.isreg() else None
                content = hashlib.file_digest(packed, "sha256").hexdigest() if packed else ""  # type: ignore[arg-type]
                owner = (member.uid, member.gid)
                yield member.name, Entry(member.type, member.mode, owner, member.linkname, content)
    finally:
        api.remove_container(container, force=True)


class _Stream(io.RawIOBase):
    """An iterator of bytes as a file to read from."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:  # type: ignore[override]
        parts, wanted = [self._rest], size
        wanted -= len(self._rest)
        while wanted > 0 and (piece := next(self._pieces, b"")):
            parts.append(piece)
            wanted -= len(piece)
        joined = b"".join(parts)
        taken, self._rest = joined[:size], joined[size:]
        return taken
