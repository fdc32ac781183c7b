"""Images in the forms that engines write, and archives that are none or were damaged."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from imagefiles import (
    config_of,
    digest,
    docker_archive,
    entry,
    layer,
    layout_archive,
    layout_files,
    layout_folder,
    symlink,
)

from sandbox.containers.archive import Archive, StoredImage
from sandbox.containers.imageconfig import own_architecture
from sandbox.errors import ImageError, TargetNotFoundError

LAYERS = [layer(entry("a", b"1")), layer(entry("b", b"2"))]
CONFIG = config_of(
    LAYERS,
    Entrypoint=["/server"],
    Cmd=["--stdio"],
    Env=["PATH=/bin", "A=b=c", "broken"],
    User="1000:0",
    WorkingDir="/srv",
    Volumes={"/data": {}},
    Labels={"org.opencontainers.image.version": "1.2"},
)


def read(path: Path, architecture: str = "") -> tuple[StoredImage, list[bytes]]:
    with Archive.open(path, path.parent) as archive:
        image = archive.image(architecture)
        return image, [each.blob.read() for each in image.layers]


def written(place: Path, data: bytes) -> Path:
    file = place / "image.tar"
    file.write_bytes(data)
    return file


def newer_docker_archive() -> bytes:
    """As docker save writes it since version 25: a layout, and beside it the manifest of old."""
    files = layout_files(LAYERS, CONFIG, compress=False)
    names = [f"blobs/{digest(data).replace(':', '/')}" for data in (CONFIG, *LAYERS)]
    manifest = [{"Config": names[0], "RepoTags": ["test:1"], "Layers": names[1:]}]
    return layout_archive({**files, "manifest.json": json.dumps(manifest).encode()})


FORMS = {
    "docker save": lambda: docker_archive(LAYERS, CONFIG),
    "docker save, compressed": lambda: gzip.compress(docker_archive(LAYERS, CONFIG)),
    "docker save since 25": newer_docker_archive,
    "an OCI archive": lambda: layout_archive(layout_files(LAYERS, CONFIG, compress=False)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_holds_the_same_image(tmp_path: Path, form: str) -> None:
    image, layers = read(written(tmp_path, FORMS[form]()))
    assert image.digest == digest(CONFIG)
    assert layers == LAYERS
    assert [each.digest for each in image.layers] == [digest(data) for data in LAYERS]
    config = image.config
    assert (config.entrypoint, config.command, config.workdir) == (("/server",), ("--stdio",), "/srv")
    assert (config.user, config.volumes, config.version) == ("1000:0", ("/data",), "1.2")
    assert config.env == {"PATH": "/bin", "A": "b=c"}


def test_a_layout_may_be_a_folder_with_compressed_layers(tmp_path: Path) -> None:
    place = layout_folder(layout_files(LAYERS, CONFIG), tmp_path / "layout")
    image, layers = read(place)
    assert image.digest == digest(CONFIG)
    assert [gzip.decompress(data) for data in layers] == LAYERS


def test_an_archive_may_arrive_in_pieces(tmp_path: Path) -> None:
    data = docker_archive(LAYERS, CONFIG)
    pieces = (data[at : at + 1000] for at in range(0, len(data), 1000))
    with Archive.receive("test:1", pieces, tmp_path) as archive:
        assert archive.image().digest == digest(CONFIG)
    assert list(tmp_path.iterdir()) == []


def test_a_layer_that_is_there_twice_is_a_link(tmp_path: Path) -> None:
    config = config_of([LAYERS[0], LAYERS[0]])
    name = digest(config).removeprefix("sha256:") + ".json"
    manifest = [{"Config": name, "RepoTags": None, "Layers": ["x/layer.tar", "y/layer.tar"]}]
    data = layer(
        entry("x/layer.tar", LAYERS[0]),
        symlink("y/layer.tar", "../x/layer.tar"),
        entry(name, config),
        entry("./manifest.json", json.dumps(manifest).encode()),
    )
    assert read(written(tmp_path, data))[1] == [LAYERS[0], LAYERS[0]]


def nested(*platforms: str) -> bytes:
    """A layout whose index names an index of images for several processors, and an attestation."""
    files: dict[str, bytes] = {}
    listed: list[dict[str, object]] = []
    for name in platforms:
        made = layout_files(
            LAYERS, config_of(LAYERS, architecture=name), platform={"architecture": name, "os": "linux"}
        )
        listed += json.loads(made["index.json"])["manifests"]
        files |= made
    listed.append({"digest": digest(b"x"), "platform": {"architecture": "unknown", "os": "unknown"}})
    inner = json.dumps({"manifests": listed}).encode()
    files["blobs/sha256/" + digest(inner)[7:]] = inner
    kind = "application/vnd.oci.image.index.v1+json"
    return layout_archive(
        {
            **files,
            "index.json": json.dumps({"manifests": [{"digest": digest(inner), "mediaType": kind}]}).encode(),
        }
    )


def test_of_several_processors_this_machines_is_taken(tmp_path: Path) -> None:
    file = written(tmp_path, nested("amd64", "arm64", "riscv64"))
    for architecture in ("amd64", "arm64"):
        assert read(file, architecture)[0].config.architecture == architecture
    with pytest.raises(ImageError, match="an image for 'amd64, arm64, riscv64', and this machine runs s390x"):
        read(file, "s390x")


def without(files: dict[str, bytes], *names: str) -> dict[str, bytes]:
    return {name: data for name, data in files.items() if name not in names}


def layout_with(**changes: object) -> bytes:
    files = layout_files(LAYERS, CONFIG)
    index = json.loads(files["index.json"])
    index.update(changes)
    return layout_archive({**files, "index.json": json.dumps(index).encode()})


def docker_with(*entries: object, config: bytes = CONFIG) -> bytes:
    return layer(
        entry("c.json", config), entry("l", LAYERS[0]), entry("manifest.json", json.dumps(entries).encode())
    )


OWN = own_architecture()
OTHER = "arm64" if OWN == "amd64" else "amd64"
DAMAGED = {
    "nothing": (b"", "neither a manifest.json nor an index.json"),
    "what docker export writes": (layer(entry("bin/sh", b"x")), "docker export does not"),
    "something else": (b"#!/bin/sh\necho\n" * 100, "no archive of an image: it is no tar archive"),
    "a part of an archive": (docker_archive(LAYERS, CONFIG)[:3000], "cut off|not whole|neither"),
    "a part of a compressed archive": (gzip.compress(docker_archive(LAYERS, CONFIG))[:-20], "damaged or cut off"),
    "an archive of two images": (docker_with({"RepoTags": ["a:1"]}, {"RepoTags": ["b:1"]}), "2 images .*a:1.*save one"),
    "another processor's image": (docker_archive(LAYERS, config_of(LAYERS, OTHER)), f"for '{OTHER}', and this machine runs {OWN}"),
    "an image for Windows": (docker_archive(LAYERS, CONFIG.replace(b'"linux"', b'"windows"')), "an image for 'windows'"),
    "a processor of two lines": (docker_archive(LAYERS, config_of(LAYERS, "x\nforged")), r"for 'x\\nforged', and"),
    "a manifest that is no list": (layer(entry("manifest.json", b"{}")), "no list of images"),
    "a manifest that is no JSON": (layer(entry("manifest.json", b"{")), "no JSON"),
    "a manifest that is nested too deep": (layer(entry("manifest.json", b"[" * 100_000)), "no JSON"),
    "a manifest that names nothing": (docker_with({}), "names no configuration"),
    "a lacking layer": (docker_with({"Config": "c.json", "Layers": ["l", "m"]}), "lacks 'm'"),
    "too few digests": (docker_with({"Config": "c.json", "Layers": ["l"]}), "digests of its layers"),
    "a layer named by a path out": (docker_with({"Config": "c.json", "Layers": ["l", "../../etc/passwd"]}), "lacks"),
    "a configuration of another digest": (
        docker_archive(LAYERS, CONFIG).replace(b'"/server"', b'"/sErver"'),
        "not the digest|has not the digest",
    ),
    "a configuration that is no object": (docker_with({"Config": "c.json", "Layers": []}, config=b"[]"), "digests of its layers"),
    "an entrypoint that is no list": (
        docker_archive(LAYERS, config_of(LAYERS, Entrypoint=[1])), "Entrypoint is no list of words"
    ),
    "an entrypoint with a null byte": (
        docker_archive(LAYERS, config_of(LAYERS, Entrypoint=["a\0b"])), "Entrypoint is no list of words"
    ),
    "an index without images": (layout_with(manifests=[]), "names no image"),
    "an index of rubbish": (layout_with(manifests=[1, {"digest": "md5:1"}]), "no sha256 digest"),
    "an index of a climbing digest": (layout_with(manifests=[{"digest": "sha256:../../../etc/passwd"}]), "no sha256 digest"),
    "an index of what is not there": (layout_with(manifests=[{"digest": digest(b"x")}]), "lacks 'blobs"),
}  # fmt: skip


@pytest.mark.parametrize("case", DAMAGED)
def test_what_is_no_whole_image_for_this_machine_says_so(tmp_path: Path, case: str) -> None:
    data, said = DAMAGED[case]
    with pytest.raises(ImageError, match=said) as caught:
        read(written(tmp_path, data))
    assert str(tmp_path / "image.tar") in str(caught.value)


UNUSABLE: dict[str, dict[str, object]] = {
    "half a character in a word": {"Entrypoint": ["/server", "\ud800"]},
    "half a character in a variable": {"Env": ["A=\udc80"]},
    "half a character in a path": {"WorkingDir": "/\ud800"},
    "half a character in a volume": {"Volumes": {"/\ud800": {}}},
    "a null byte in a volume": {"Volumes": {"/a\0b": {}}},
}


@pytest.mark.parametrize("case", UNUSABLE)
def test_a_text_that_the_kernel_cannot_be_told_is_refused(tmp_path: Path, case: str) -> None:
    config = config_of(LAYERS, **UNUSABLE[case])
    with pytest.raises(ImageError, match="its configuration's"):
        read(written(tmp_path, docker_archive(LAYERS, config)))


def test_links_in_a_layouts_folder_are_not_followed(tmp_path: Path) -> None:
    place = layout_folder(layout_files(LAYERS, CONFIG), tmp_path / "layout")
    for blob in (place / "blobs/sha256").iterdir():
        blob.rename(tmp_path / blob.name)
        blob.symlink_to(tmp_path / blob.name)
    with pytest.raises(ImageError, match="not whole"):
        read(place)


@pytest.mark.parametrize("kind", ["fifo", "missing", "device"])
def test_what_cannot_be_read_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "image.tar"
    if kind == "fifo":
        os.mkfifo(path)
    if kind == "device":
        path = Path("/dev/zero")
    with pytest.raises(TargetNotFoundError if kind == "missing" else ImageError):
        Archive.open(path, tmp_path)
