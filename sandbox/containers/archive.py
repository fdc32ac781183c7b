"""Images as files: what ``docker save`` and its kin write, OCI layouts as archives, and OCI layouts as folders.

Sources: Docker image specification v1.2, "Combined Image JSON + Filesystem Changeset Format"; OCI image
specification 1.1, image-layout, image-index and manifest.
"""

from __future__ import annotations

import hashlib
import json
import os
import posixpath
import re
import stat
import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, Protocol

from sandbox.containers.blobs import Measured, Slice, compression, decompressed
from sandbox.containers.imageconfig import ImageConfig, own_architecture
from sandbox.containers.tar import Kind, TarError, TarReader
from sandbox.errors import ImageError, TargetNotFoundError
from sandbox.linux.beneath import open_regular
from sandbox.model import Json

MOST_BYTES = 20 << 30
"""What one image may unpack to, all layers together."""

_MOST_MEMBERS = 20_000
_MOST_LINKS = 8
_LARGEST_DOCUMENT = 8 << 20
_MOST_LAYERS = 512
_PIECE = 1 << 20
_NESTED_INDEXES = 3

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NAMED_BY_DIGEST = re.compile(r"(?:.*/)?([0-9a-f]{64})(?:\.json)?")


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer: where its bytes are, and the digest of what they decompress to."""

    blob: Slice
    digest: str


@dataclass(frozen=True, slots=True)
class StoredImage:
    """One image of an archive, its layers from the lowest up.

    ``name`` is the archive's, for messages; ``digest`` the image's id, which is that of its configuration.
    """

    name: str
    digest: str
    config: ImageConfig
    layers: tuple[Layer, ...]


class _Store(Protocol):
    def find(self, name: str) -> Slice | None:
        """A file of the archive by its path, or None."""


class Archive:
    """An opened archive or layout. Close it, or use it as a context manager; what it gave away ends with it."""

    def __init__(self, name: str, store: _Store, closing: ExitStack) -> None:
        self._name = name
        self._store = store
        self._closing = closing

    @classmethod
    def open(cls, path: Path, scratch: Path) -> Archive:
        """Open an archive, compressed or not, or a folder with an OCI layout.

        A compressed one is unpacked to a nameless file in the folder ``scratch``. Raises TargetNotFoundError
        where ``path`` cannot be read, ImageError where it is no archive.
        """
        with ExitStack() as stack:
            try:
                if path.is_dir():
                    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                    stack.callback(os.close, folder)
                    return cls(str(path), _Folder(folder, stack), stack.pop_all())
                file = stack.enter_context(open(path, "rb", opener=_open_without_waiting))
            except OSError as error:
                raise TargetNotFoundError(f"{path}: cannot be read ({error.strerror}).") from error
            return cls._of_file(str(path), file, scratch, stack)

    @classmethod
    def receive(cls, name: str, pieces: Iterable[bytes], scratch: Path) -> Archive:
        """Open an archive that arrives piece by piece; it is kept in a nameless file in ``scratch``.

        ``name`` is for messages. Raises as :meth:`open`.
        """
        with ExitStack() as stack:
            try:
                file = _kept(pieces, scratch, stack)
            except OSError as error:
                raise _no_room(name, scratch, error) from error
            return cls._of_file(name, file, scratch, stack)

    @classmethod
    def _of_file(cls, name: str, file: BinaryIO, scratch: Path, stack: ExitStack) -> Archive:
        facts = os.fstat(file.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise ImageError(f"{name}: neither an archive of an image nor a folder with an OCI layout.")
        try:
            if compression(os.pread(file.fileno(), 6, 0)):
                plain = Measured(decompressed(Slice(file.fileno(), 0, facts.st_size)), MOST_BYTES)
                file = _kept(iter(partial(plain.read, _PIECE), b""), scratch, stack)
            store = _File(file)
        except TarError as error:
            raise ImageError(f"{name}: no archive of an image: {error}.") from error
        except OSError as error:
            raise _no_room(name, scratch, error) from error
        return cls(name, store, stack.pop_all())

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the files; idempotent."""
        self._closing.close()

    def image(self, architecture: str = "") -> StoredImage:
        """The image in the archive for a processor (this machine's by default).

        Raises ImageError where there is none, where there are several, and for one that is damaged.
        """
        wanted = architecture or own_architecture()
        try:
            if self._store.find("manifest.json") is not None:
                image = self._of_docker()
            elif self._store.find("index.json") is not None:
                image = self._of_layout(wanted)
            else:
                raise ImageError(
                    "it holds neither a manifest.json nor an index.json, so it is no image (docker save makes"
                    " one, docker export does not)"
                )
            if image.config.architecture not in ("", wanted):
                raise ImageError(
                    f"it is an image for {image.config.architecture!r}, and this machine runs {wanted}: get the"
                    f" one for linux/{wanted}"
                )
        except ImageError as error:
            raise ImageError(f"{self._name}: {error}.") from error
        return image

    def _of_docker(self) -> StoredImage:
        entries = self._document("manifest.json")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise ImageError("its manifest.json is no list of images")
        if len(entries) != 1:
            names = [str(entry.get("RepoTags")) for entry in entries if isinstance(entry, dict)]
            raise ImageError(f"it holds {len(entries)} images ({', '.join(names[:5])}): save one alone")
        (entry,) = entries
        assert isinstance(entry, dict)
        config, layers = entry.get("Config"), entry.get("Layers")
        if not isinstance(config, str) or not isinstance(layers, list):
            raise ImageError("its manifest.json names no configuration and layers")
        named = _NAMED_BY_DIGEST.fullmatch(config)
        return self._assembled(config, f"sha256:{named[1]}" if named else "", [str(name) for name in layers])

    def _of_layout(self, architecture: str) -> StoredImage:
        found = self._manifests(self._document("index.json"), _NESTED_INDEXES)
        if not found:
            raise ImageError("its index.json names no image")
        fitting = [digest for digest, known in found.items() if known in ("", architecture)]
        if not fitting:
            there = ", ".join(sorted(set(found.values())))
            raise ImageError(f"it is an image for {there!r}, and this machine runs {architecture}")
        if len(fitting) > 1:
            raise ImageError(f"it holds {len(fitting)} images for {architecture}: save one alone")
        manifest = self._document(_blob(fitting[0]), fitting[0])
        config = manifest.get("config") if isinstance(manifest, dict) else None
        layers = manifest.get("layers") if isinstance(manifest, dict) else None
        if not isinstance(config, dict) or not isinstance(layers, list):
            raise ImageError("its manifest names no configuration and layers")
        digest = _digest(config)
        return self._assembled(_blob(digest), digest, [_blob(_digest(layer)) for layer in layers])

    def _manifests(self, index: Json, depth: int) -> dict[str, str]:
        """Digest and processor ("" where it is not told) of every image of an index, those of its indexes too."""
        listed = index.get("manifests") if isinstance(index, dict) else None
        found: dict[str, str] = {}
        for entry in listed if isinstance(listed, list) else []:
            if not isinstance(entry, dict):
                continue
            platform = entry.get("platform")
            known = platform if isinstance(platform, dict) else {}
            architecture = str(known.get("architecture") or "")
            if architecture == "unknown" or known.get("os") not in (None, "", "linux"):
                continue  # attestations are filed under a platform that there is not
            digest = _digest(entry)
            if "index" in str(entry.get("mediaType")) or "manifest.list" in str(entry.get("mediaType")):
                if depth:
                    found |= self._manifests(self._document(_blob(digest), digest), depth - 1)
            else:
                found[digest] = architecture
        return found

    def _assembled(self, config: str, digest: str, layers: list[str]) -> StoredImage:
        data = self._bytes(config, digest)
        raw = _parsed(config, data)
        roots = raw.get("rootfs") if isinstance(raw, dict) else None
        digests = roots.get("diff_ids") if isinstance(roots, dict) else None
        if not isinstance(digests, list) or len(digests) != len(layers) or len(layers) > _MOST_LAYERS:
            raise ImageError("its configuration does not list the digests of its layers")
        if not all(isinstance(each, str) and _DIGEST.fullmatch(each) for each in digests):
            raise ImageError("a layer's digest is none")
        found = [Layer(self._blob(name), str(each)) for name, each in zip(layers, digests, strict=True)]
        return StoredImage(self._name, _digest_of(data), ImageConfig.read(raw), tuple(found))

    def _document(self, name: str, digest: str = "") -> Json:
        return _parsed(name, self._bytes(name, digest))

    def _bytes(self, name: str, digest: str) -> bytes:
        """A whole document; where a digest is told, it has that."""
        blob = self._blob(name)
        if blob.size > _LARGEST_DOCUMENT:
            raise ImageError(f"its {name!r} is of {blob.size} bytes, more than any engine reads")
        data = blob.read()
        if digest and _digest_of(data) != digest:
            raise ImageError(f"its {name!r} is damaged: it has not the digest that it is filed under")
        return data

    def _blob(self, name: str) -> Slice:
        blob = self._store.find(name)
        if blob is None:
            raise ImageError(f"it lacks {name!r}, so it is not whole")
        return blob


class _File:
    """The members of an archive by name. Raises TarError for a damaged one."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._slices: dict[str, tuple[int, int]] = {}
        self._links: dict[str, str] = {}
        size = os.fstat(file.fileno()).st_size
        file.seek(0)
        for member in TarReader(file):
            name = posixpath.normpath(member.name.decode("utf-8", "surrogateescape")).lstrip("/")
            if member.kind is Kind.FILE:
                if member.offset + member.size > size:
                    raise TarError("it is cut off")
                self._slices[name] = (member.offset, member.size)
            elif member.kind in (Kind.SYMLINK, Kind.HARD_LINK):
                # docker save writes a layer that it has written already as a link to the first.
                target = member.target.decode("utf-8", "surrogateescape")
                folder = posixpath.dirname(name) if member.kind is Kind.SYMLINK else ""
                self._links[name] = posixpath.normpath(posixpath.join(folder, target))
            if len(self._slices) + len(self._links) > _MOST_MEMBERS:
                raise TarError(f"it has more than {_MOST_MEMBERS} members")

    def find(self, name: str) -> Slice | None:
        name = posixpath.normpath(name)
        for _ in range(_MOST_LINKS):
            if name in self._slices:
                return Slice(self._file.fileno(), *self._slices[name])
            name = self._links.get(name, "")
        return None


class _Folder:
    """The files of a folder by their path below it. No symlink is followed."""

    def __init__(self, folder: int, closing: ExitStack) -> None:
        self._folder = folder
        self._closing = closing

    def find(self, name: str) -> Slice | None:
        try:
            opened, facts = open_regular(self._folder, name)
        except OSError:
            return None
        self._closing.callback(os.close, opened)
        return Slice(opened, 0, facts.st_size)


def _open_without_waiting(path: str, flags: int) -> int:
    """What the user names may be a FIFO, whose other end would be waited for."""
    return os.open(path, flags | os.O_NONBLOCK)


def _kept(pieces: Iterable[bytes], scratch: Path, stack: ExitStack) -> BinaryIO:
    """A nameless file of all the pieces."""
    file = stack.enter_context(tempfile.TemporaryFile(dir=scratch))  # noqa: SIM115 - the stack closes it
    for piece in pieces:
        file.write(piece)
    file.flush()
    return file


def _no_room(name: str, scratch: Path, error: OSError) -> ImageError:
    return ImageError(f"{name}: cannot be kept in {scratch} while it is read ({error.strerror or error}).")


def _parsed(name: str, data: bytes) -> Json:
    try:
        document: Json = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ImageError(f"its {name!r} is no JSON") from error
    return document


def _digest(descriptor: Json) -> str:
    digest = descriptor.get("digest") if isinstance(descriptor, dict) else None
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise ImageError("it names a part by no sha256 digest")
    return digest


def _blob(digest: str) -> str:
    return f"blobs/sha256/{digest.removeprefix('sha256:')}"


def _digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
