"""What the engine's image is built from: a checkout's Dockerfile and code, or the same out of an installed wheel."""

from __future__ import annotations

import functools
import hashlib
import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import sandbox

_PACKAGE = Path(sandbox.__file__).parent
_IN_WHEEL = Path(__file__).parent / "context"  # pyproject.toml puts it there
_LEFT_OUT = {"__pycache__", "context"}


@functools.cache
def archive() -> bytes:
    """The build context as a tar archive: the same bytes for the same code, whoever owns it and whenever it changed."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, path in sorted(_files()):
            content = path.read_bytes()
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


@functools.cache
def digest() -> str:
    """What tells two states of the code apart although they have one version number."""
    return hashlib.sha256(archive()).hexdigest()[:16]


def default_base() -> str:
    """The base image that is used unless another is named."""
    for line in (_root() / "Dockerfile").read_text(encoding="utf-8").splitlines():
        if line.startswith("ARG BASE="):
            return line.removeprefix("ARG BASE=")
    raise AssertionError("the Dockerfile names its base")


def _root() -> Path:
    return _IN_WHEEL if _IN_WHEEL.is_dir() else _PACKAGE.parent


def _files() -> Iterator[tuple[str, Path]]:
    root = _root()
    for name in ("Dockerfile", "LICENSE"):
        yield name, root / name
    for path in (root / "locks").iterdir():
        yield f"locks/{path.name}", path
    yield from _code(_PACKAGE, "sandbox")


def _code(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    for path in folder.iterdir():
        if path.name in _LEFT_OUT:
            continue
        if path.is_dir():
            yield from _code(path, f"{name}/{path.name}")
        else:
            yield f"{name}/{path.name}", path
