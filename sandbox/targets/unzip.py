"""Archives of strangers, unpacked: no path leads out, nothing is a link, and what comes out is counted as it comes.

What the archive says of its own sizes is believed nowhere.
"""

from __future__ import annotations

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from sandbox.errors import BundleError

MOST_UNPACKED = 1 << 30
"""Bytes that come out of one archive."""

MOST_ENTRIES = 100_000
_MOST_DIRECTORY = 32 << 20
_MOST_PATH = 1000
_RATIO, _RATIO_FROM = 200, 64 << 20
"""How many times its own size an archive may come to, once that is more than some MB."""

_CHUNK = 1 << 20
_END = b"PK\x05\x06"
_END64 = b"PK\x06\x07"


def unpack(file: BinaryIO, into: Path, where: str) -> None:
    """Unpack an archive into an empty folder. Folders are 0755, files 0644, those that can be run 0755.

    Raises BundleError for one that is damaged, encrypted, too large, or names a path outside of it.
    """
    size = os.fstat(file.fileno()).st_size
    _check_directory(file, size, where)
    room = min(MOST_UNPACKED, max(_RATIO_FROM, size * _RATIO))
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            if len(entries) > MOST_ENTRIES:
                raise BundleError(f"{where}: more than {MOST_ENTRIES} files.")
            for entry, path in _places(entries, where):
                target = into / path
                if entry.is_dir():
                    target.mkdir(0o755, parents=True, exist_ok=True)
                    continue
                target.parent.mkdir(0o755, parents=True, exist_ok=True)
                room -= _write(archive, entry, target, room, where)
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError, ValueError) as error:
        raise BundleError(f"{where}: cannot be unpacked ({error}).") from error
    except RuntimeError as error:  # zipfile's word for an encrypted file
        raise BundleError(f"{where}: is encrypted.") from error
    except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
        raise BundleError(f"{where}: has a file and a folder of the same name.") from error


def _check_directory(file: BinaryIO, size: int, where: str) -> None:
    """Refuse a list of files that is too long to be read at all, and the forms that hide its length."""
    tail_size = min(size, (64 << 10) + 22)
    file.seek(size - tail_size)
    tail = file.read(tail_size)
    at = tail.rfind(_END)
    if at < 0 or len(tail) - at < 22:
        raise BundleError(f"{where}: is no zip archive.")
    entries, length = struct.unpack("<HI", tail[at + 10 : at + 16])
    if tail[max(0, at - 20) :].startswith(_END64) or entries == 0xFFFF or length > _MOST_DIRECTORY:
        raise BundleError(f"{where}: holds too many files to be read.")
    file.seek(0)


def _places(entries: list[zipfile.ZipInfo], where: str) -> Iterator[tuple[zipfile.ZipInfo, PurePosixPath]]:
    """Each entry with its path below the folder; links are left out, what leads elsewhere is refused."""
    seen: set[PurePosixPath] = set()
    for entry in entries:
        name = entry.filename
        path = PurePosixPath(name)
        parts = name.split("/")
        if (
            not name
            or len(name.encode("utf-8", "replace")) > _MOST_PATH
            or path.is_absolute()
            or ".." in parts
            or "\\" in name
            or ":" in parts[0]
            or any(ord(letter) < 32 or 0xD800 <= ord(letter) <= 0xDFFF for letter in name)
            or any(len(part.encode()) > 255 for part in parts)
        ):
            raise BundleError(f"{where}: holds a file named {name[:100]!r}, which is no path inside of it.")
        if path in seen and not entry.is_dir():
            raise BundleError(f"{where}: holds {name[:100]!r} twice.")
        seen.add(path)
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind in (0, stat.S_IFREG, stat.S_IFDIR):
            yield entry, path


def _write(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path, room: int, where: str) -> int:
    """Write one file and return its size."""
    mode = 0o755 if entry.external_attr >> 16 & 0o111 else 0o644
    written = 0
    with archive.open(entry) as source, target.open("xb") as made:
        while chunk := source.read(_CHUNK):
            written += len(chunk)
            if written > room:
                raise BundleError(
                    f"{where}: comes to more than it may ({MOST_UNPACKED >> 30} GB, or {_RATIO} times its own size)."
                )
            made.write(chunk)
    target.chmod(mode)
    return written
