"""The process that unpacks images for the docker host, run without a container."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from standin import StandIn

from sandbox.containers.cache import UnpackedImage
from sandbox.containers.imageconfig import own_architecture
from sandbox.errors import ImageError, StreamError
from sandbox.events import Event, Progress
from sandbox.hosts.imagevolume import write_order
from sandbox.hosts.pipes import frame
from sandbox.hosts.stream import hear_of_image
from sandbox.targets.dockerrun import ImageOrder

MODULE = "sandbox.hosts.unpack"


def packed(**files: bytes) -> bytes:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(name.replace("__", "."))
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return archive.getvalue()


LAYER = packed(hello=b"hello from an image\n")
CONFIG = json.dumps(
    {
        "architecture": own_architecture(),
        "os": "linux",
        "config": {"Entrypoint": ["/server"], "User": "1234"},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(LAYER).hexdigest()}"]},
    }
).encode()
DIGEST = f"sha256:{hashlib.sha256(CONFIG).hexdigest()}"
MANIFEST = json.dumps([{"Config": "config__json", "RepoTags": None, "Layers": ["layer__tar"]}])
ARCHIVE = packed(manifest__json=MANIFEST.replace("__", ".").encode(), config__json=CONFIG, layer__tar=LAYER)


class Unpacking:
    """One process, and how often it asked for the archive."""

    def __init__(self, engine: StandIn, cache: Path) -> None:
        self.engine, self.cache = engine, cache
        self.heard: list[Event] = []
        self.asked = 0

    def of(self, image: str, digest: str = DIGEST, archive: bytes = ARCHIVE) -> UnpackedImage | None:
        self.engine.send(write_order(str(self.cache), ImageOrder((), image), digest))

        def send() -> None:
            self.asked += 1
            for start in range(0, len(archive), 1000):
                self.engine.send(frame(archive[start : start + 1000]))
            self.engine.send(frame(b""))

        told = hear_of_image(self.engine.lines(), send, self.heard.append)
        return UnpackedImage.decode(told) if told is not None else None


@pytest.fixture
def unpacking(tmp_path: Path) -> Iterator[Unpacking]:
    with StandIn(tmp_path, MODULE) as engine:
        yield Unpacking(engine, tmp_path / "images")


@pytest.fixture
def another(tmp_path: Path) -> Iterator[Unpacking]:
    with StandIn(tmp_path, MODULE) as engine:
        yield Unpacking(engine, tmp_path / "images")


def test_an_image_is_sent_unpacked_and_kept(unpacking: Unpacking, another: Unpacking) -> None:
    image = unpacking.of("mine:1")
    assert image is not None
    assert (image.digest, image.config.entrypoint, image.user.user) == (DIGEST, ("/server",), 1234)
    assert Path(image.root, "hello").read_text() == "hello from an image\n"
    assert unpacking.asked == 1
    assert Progress("unpacking mine:1") in unpacking.heard

    same = another.of("mine:1")  # while the first one still holds it
    assert same == image
    assert another.asked == 0

    for process in (unpacking.engine, another.engine):
        assert process.process.poll() is None
        process.hang_up()
        assert process.wait() == 130
    assert Path(image.root, "hello").exists()


def test_an_archive_is_read_where_it_is(unpacking: Unpacking, tmp_path: Path) -> None:
    (tmp_path / "image.tar").write_bytes(ARCHIVE)
    image = unpacking.of(f"{tmp_path}/image.tar", digest="")
    assert image is not None
    assert image.digest == DIGEST
    assert unpacking.asked == 0
    unpacking.engine.hang_up()
    assert unpacking.engine.wait() == 130


def test_what_is_no_image_is_an_error_of_the_image(unpacking: Unpacking) -> None:
    with pytest.raises(ImageError, match="mine:1"):
        unpacking.of("mine:1", archive=b"no archive")
    assert unpacking.engine.wait() == 0
    assert not [path for path in unpacking.cache.iterdir() if path.is_dir()]


def test_when_the_client_is_gone_within_the_archive_nothing_is_kept(unpacking: Unpacking) -> None:
    def send() -> None:
        unpacking.engine.send(frame(ARCHIVE[:1000]) + b"\0\0\1\0half of a piece")
        unpacking.engine.hang_up()

    unpacking.engine.send(write_order(str(unpacking.cache), ImageOrder((), "mine:1"), DIGEST))
    assert hear_of_image(unpacking.engine.lines(), send, unpacking.heard.append) is None
    assert unpacking.engine.wait() == 130
    assert not [path for path in unpacking.cache.iterdir() if path.is_dir()]


@pytest.mark.parametrize(
    "line", [b'{"answer": {}}', b'{"unpacked": ""}', b'{"unpacked": 3}', b'{"send": 1}', b"x"]
)
def test_a_strange_process_is_not_listened_to(line: bytes) -> None:
    with pytest.raises(StreamError):
        hear_of_image([line], lambda: None, lambda _: None)
