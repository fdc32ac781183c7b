"""Streams that layers are read through: a slice of a file, whatever compresses it, and a digest with a bound."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import os
import zlib
from types import ModuleType
from typing import Any, cast

from sandbox.containers.tar import Source, TarError

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_AHEAD = 1 << 18
_OTHERS = {b"\xfd7zXZ\0": "xz", b"BZh": "bzip2"}


class Slice:
    """A part of an opened file as a stream of its own: other readers of the descriptor are not disturbed."""

    def __init__(self, descriptor: int, offset: int, size: int) -> None:
        self.size = size
        self._descriptor = descriptor
        self._at = offset
        self._end = offset + size

    def read(self, size: int = -1, /) -> bytes:
        """At most ``size`` bytes, all where it is negative; fewer where the file ends early."""
        left = self._end - self._at
        data = os.pread(self._descriptor, left if size < 0 else min(size, left), self._at)
        self._at += len(data)
        return data


class Measured:
    """What is read through it is counted and goes into a digest.

    It reads ahead, so both are of the whole once everything was read. Raises TarError as soon as more than
    ``most`` bytes have passed.
    """

    def __init__(self, source: Source, most: int) -> None:
        self.size = 0
        self._source = source
        self._most = most
        self._hash = hashlib.sha256()
        self._ahead = b""
        self._at = 0

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end alone."""
        if self._at == len(self._ahead):
            self._ahead, self._at = self._source.read(_AHEAD), 0
            self._hash.update(self._ahead)
            self.size += len(self._ahead)
            if self.size > self._most:
                raise TarError(f"it unpacks to more than {self._most >> 30} GiB, the most that is unpacked")
        data = self._ahead[self._at : self._at + size]
        self._at += len(data)
        return data

    @property
    def digest(self) -> str:
        """The digest of everything read so far, as images spell it."""
        return f"sha256:{self._hash.hexdigest()}"


def compression(head: bytes) -> str:
    """How a file that begins with ``head`` (6 bytes) is compressed: ``gzip``, ``zstd``, or "" for not at all.

    Raises TarError for a compression that no image has.
    """
    if head.startswith(_GZIP):
        return "gzip"
    if head.startswith(_ZSTD):
        return "zstd"
    for mark, name in _OTHERS.items():
        if head.startswith(mark):
            raise TarError(f"it is compressed with {name}, which images are not")
    return ""


def decompressed(source: Slice) -> Source:
    """What a stream holds, compressed or not.

    ``read`` raises TarError where the data is damaged. Raises TarError for a compression that cannot be read.
    """
    head = source.read(6)
    rest = _Rejoined(head, source)
    match compression(head):
        case "gzip":
            # An OSError is gzip.BadGzipFile, or what reading the file itself can raise.
            damage = (OSError, EOFError, zlib.error)
            return _Guarded(cast(Source, gzip.GzipFile(fileobj=cast(Any, rest), mode="rb")), damage)
        case "zstd":
            return _zstd(rest)
    return rest


class _Rejoined:
    """A stream whose beginning was read already."""

    def __init__(self, head: bytes, rest: Slice) -> None:
        self._head = head
        self._rest = rest

    def read(self, size: int = -1, /) -> bytes:
        if not self._head:
            return self._rest.read(size)
        if size < 0:
            head, self._head = self._head, b""
            return head + self._rest.read()
        head, self._head = self._head[:size], self._head[size:]
        return head


class _Guarded:
    """A decompressor whose errors say what is wrong with the archive."""

    def __init__(self, source: Source, damage: tuple[type[Exception], ...]) -> None:
        self._source = source
        self._damage = damage

    def read(self, size: int, /) -> bytes:
        try:
            return self._source.read(size)
        except self._damage as error:
            raise TarError(f"its compressed data is damaged or cut off ({error})") from error


def _zstd(source: _Rejoined) -> Source:
    """zstd is in Python from 3.14 on; before, the package ``zstandard`` brings it."""
    module = _module("compression.zstd")
    if module is not None:
        return _Guarded(module.ZstdFile(source), (OSError, EOFError, module.ZstdError))
    module = _module("zstandard")
    if module is not None:
        reader = module.ZstdDecompressor().stream_reader(source, read_across_frames=True)
        return _Guarded(reader, (OSError, EOFError, module.ZstdError))
    raise TarError(
        "it is compressed with zstd, which this Python cannot read: install the package zstandard beside hintproof"
    )


def _module(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None
