"""Images made byte by byte: tar archives with any header, and the archives and layouts that hold them."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox.containers.imageconfig import own_architecture

END = bytes(1024)


def entry(
    name: str | bytes,
    content: bytes = b"",
    kind: bytes = b"0",
    *,
    target: str | bytes = "",
    mode: int = 0o644,
    owner: tuple[int, int] = (0, 0),
    mtime: int = 1_600_000_000,
    size: int | None = None,
) -> bytes:
    """One member: header, content, padding. ``size`` is what the header claims, where that is not the truth."""
    encoded = name.encode() if isinstance(name, str) else name
    link = target.encode() if isinstance(target, str) else target
    fields = [
        encoded[:100].ljust(100, b"\0"),
        b"%07o\0%07o\0%07o\0" % (mode, *owner),
        b"%011o\0" % (len(content) if size is None else size),
        b"%011o\0" % mtime,
        b" " * 8,
        kind,
        link[:100].ljust(100, b"\0"),
        b"ustar\x0000",
    ]
    header = b"".join(fields).ljust(512, b"\0")
    return signed(header) + content + bytes(-len(content) % 512)


def signed(header: bytes) -> bytes:
    """A header with the checksum that belongs to it."""
    blank = header[:148] + b" " * 8 + header[156:]
    return blank[:148] + b"%06o\0 " % sum(blank) + blank[156:]


def folder(name: str, mode: int = 0o755, owner: tuple[int, int] = (0, 0)) -> bytes:
    return entry(name, kind=b"5", mode=mode, owner=owner)


def symlink(name: str, target: str) -> bytes:
    return entry(name, kind=b"2", target=target, mode=0o777)


def hard_link(name: str, target: str) -> bytes:
    return entry(name, kind=b"1", target=target)


def pax(**values: str | bytes) -> bytes:
    """An extended header for the next member."""
    records = b""
    for key, value in values.items():
        text = key.replace("__", ".").encode() + b"=" + (value.encode() if isinstance(value, str) else value)
        length = len(text) + 3
        while len(b"%d %s\n" % (length, text)) != length:
            length += 1
        records += b"%d %s\n" % (length, text)
    return entry("pax", records, b"x")


def layer(*entries: bytes) -> bytes:
    return b"".join(entries) + END


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def config_of(layers: Sequence[bytes], architecture: str = "", **config: object) -> bytes:
    """The configuration of an image with these layers, uncompressed."""
    raw = {
        "architecture": architecture or own_architecture(),
        "os": "linux",
        "config": config,
        "rootfs": {"type": "layers", "diff_ids": [digest(data) for data in layers]},
    }
    return json.dumps(raw).encode()


def docker_archive(layers: Sequence[bytes], config: bytes = b"", tags: Sequence[str] = ("test:1",)) -> bytes:
    """What ``docker save`` wrote up to version 24, the layers before the manifest that names them."""
    config = config or config_of(layers)
    name = digest(config).removeprefix("sha256:") + ".json"
    names = [f"{number:064x}/layer.tar" for number in range(len(layers))]
    manifest = [{"Config": name, "RepoTags": list(tags), "Layers": names}]
    return layer(
        *(
            folder(each.partition("/")[0] + "/") + entry(each, data)
            for each, data in zip(names, layers, strict=True)
        ),
        entry(name, config),
        entry("manifest.json", json.dumps(manifest).encode()),
        entry("repositories", b"{}"),
    )


def layout_files(
    layers: Sequence[bytes],
    config: bytes = b"",
    *,
    compress: bool = True,
    platform: Mapping[str, str] | None = None,
) -> dict[str, bytes]:
    """The files of an OCI layout by their paths."""
    config = config or config_of(layers)
    blobs = [gzip.compress(data, 1, mtime=0) if compress else data for data in layers]
    manifest = json.dumps(
        {"schemaVersion": 2, "config": _described(config), "layers": [_described(blob) for blob in blobs]}
    ).encode()
    described = {**_described(manifest), "mediaType": "application/vnd.oci.image.manifest.v1+json"}
    if platform:
        described["platform"] = dict(platform)
    index = json.dumps({"schemaVersion": 2, "manifests": [described]}).encode()
    files = {_place(data): data for data in (config, manifest, *blobs)}
    return {**files, "index.json": index, "oci-layout": b'{"imageLayoutVersion": "1.0.0"}'}


def _described(data: bytes) -> dict[str, object]:
    return {"digest": digest(data), "size": len(data)}


def _place(data: bytes) -> str:
    return "blobs/sha256/" + digest(data).removeprefix("sha256:")


def layout_archive(files: Mapping[str, bytes]) -> bytes:
    return layer(*(entry(name, data) for name, data in files.items()))


def layout_folder(files: Mapping[str, bytes], place: Path) -> Path:
    for name, data in files.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return place


def stream(data: bytes) -> io.BytesIO:
    return io.BytesIO(data)
