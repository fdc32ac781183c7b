"""Images that Docker built and keeps: from scratch, and with a server in Python on a whole distribution."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from imageruns import ROOT, SHIPPED, Ran, reply, verify
from test_scratch_images import BY_USER

from sandbox.containers.connection import connect
from sandbox.containers.ownimage import find_image

pytestmark = pytest.mark.docker

HOSTS = ("local", "docker")
SERVERS = ROOT / "tests" / "servers"

SCRATCH = """
FROM scratch
COPY --chown=1234:0 data /data
COPY etc /etc
COPY server /server
USER 1234
ENTRYPOINT ["/server"]
CMD ["--fail"]
"""

PYTHON = """
FROM {base}
USER root
COPY servers /srv/servers
WORKDIR /srv
ENTRYPOINT ["python3", "/srv/servers/network.py"]
"""


@contextmanager
def built(name: str, dockerfile: str, files: Mapping[str, tuple[bytes, int]]) -> Iterator[str]:
    """An image of that name, for the length of the block."""
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as tar:
        for path, (content, mode) in {"Dockerfile": (dockerfile.encode(), 0o644), **files}.items():
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), mode
            tar.addfile(member, io.BytesIO(content))
    context.seek(0)
    with connect() as docker:
        docker.client.images.build(
            fileobj=context, custom_context=True, tag=name, rm=True, forcerm=True, network_mode="none"
        )
        try:
            yield name
        finally:
            docker.client.images.remove(name, force=True)


@pytest.fixture(scope="module")
def scratch(server: bytes) -> Iterator[str]:
    files = {
        "data/shipped.txt": (SHIPPED, 0o644),
        "etc/settings.conf": (b"a = b\n", 0o644),
        "server": (server, 0o755),
    }
    with built("hintproof-images-test-scratch", SCRATCH, files) as name:
        yield name


@pytest.fixture(scope="module")
def python() -> Iterator[str]:
    files = {
        f"servers/{name}": ((SERVERS / name).read_bytes(), 0o644)
        for name in ("base.py", "network.py", "writes.py")
    }
    with connect() as docker:
        base = find_image(docker)  # the engine's own, which has a Python
    with built("hintproof-images-test-python", PYTHON.format(base=base), files) as name:
        yield name


def on_both(*target: str, cwd: Path, options: tuple[str, ...] = (), **variables: str) -> list[Ran]:
    """The same verification on every host, at the same time."""
    with ThreadPoolExecutor() as pool:
        ran = list(pool.map(lambda host: verify(host, *target, cwd=cwd, options=options, **variables), HOSTS))
    for each in ran:
        assert each.answer, each.said
    return ran


def test_an_image_from_scratch_is_verified_as_its_archive_is(scratch: str, tmp_path: Path) -> None:
    local, docker = on_both(f"oci:{scratch}", "--", "serve", cwd=tmp_path)
    assert local.verdicts == docker.verdicts == BY_USER["user"]
    assert local.answer["digests"] == docker.answer["digests"]
    assert (local.code, docker.code) == (1, 1)


def test_a_docker_run_command_is_taken_for_what_it_is(scratch: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "mine.txt").write_text("of the host")
    command = (
        "docker", "run", "-i", "--rm", "-e", "GREETING=a secret value", "-v", f"{project}:/projects:ro",
        "-p", "1:1", "-u", "77:88", "-w", "/projects", scratch, "serve",
    )  # fmt: skip
    told = {reply(host, "tell", *command, cwd=tmp_path) for host in HOSTS}
    assert told == {"77:88 in /projects, home /home/user, greeting [redacted]"}
    runs = on_both("--", *command, cwd=tmp_path, options=("--tool", "read_*"))
    for ran in runs:
        assert ran.verdicts["read_shipped readOnlyHint"] == "consistent"
        assert "a secret value" not in str(ran.answer)
        notes = " ".join(remark["text"] for remark in ran.answer["remarks"])
        assert "-p 1:1 has no meaning" in notes
        assert "/projects is a copy" in notes
    assert [path.name for path in project.iterdir()] == ["mine.txt"]


def test_a_server_in_python_trusts_the_worlds_certificates(python: str, tmp_path: Path) -> None:
    options = ("--tool", "https_post", "--tool", "loopback")
    local, docker = on_both(f"oci:{python}", cwd=tmp_path, options=options)
    assert local.verdicts == docker.verdicts
    assert local.verdicts["https_post openWorldHint"].startswith("contradicted")
    assert local.verdicts["loopback openWorldHint"] == "consistent"
    for ran in (local, docker):
        # The path is seen only inside of TLS, by whoever the server trusts.
        assert "net.request https://licence.example.com/check" in ran.effects("https_post", "openWorldHint")


def test_a_server_in_python_writes_where_its_image_lets_it(python: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    command = ("python3", "/srv/servers/writes.py", str(project))
    local, docker = on_both("--", *command, cwd=tmp_path, options=("--image", python, "--tool", "write_in_*"))
    assert local.verdicts == docker.verdicts
    contradicted = {name for name, verdict in local.verdicts.items() if verdict == "contradicted"}
    assert contradicted == {f"write_in_{place} readOnlyHint" for place in ("workspace", "home", "tmp")}
    assert local.effects("write_in_home", "readOnlyHint") == {"file.created /root/settings-of-writes.txt"}


def test_an_image_that_is_not_to_be_had_says_so(tmp_path: Path) -> None:
    for host in HOSTS:
        ran = verify(
            host, "-q", "--", "docker", "run", "--pull", "never", "hintproof-images-test-none", cwd=tmp_path
        )
        assert (ran.code, "there is no image" in ran.said) == (2, True), ran.said
