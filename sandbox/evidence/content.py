"""Before and after content of what a server changed: bounded, keyed by digest, shared by all boxes of a run."""

from __future__ import annotations

import os
import re
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path

from sandbox.errors import DiskFullError
from sandbox.model import digest_of

ITEM_CAP = 8 << 20
"""Largest single content that is kept, in bytes. Larger files are told apart by digest only."""

MEMORY_CAP = 48 << 20
"""Bytes held in memory; the least recently used content beyond it is spilled or forgotten."""

DISK_CAP = 256 << 20
"""Bytes written into the run folder by one run."""

_DIGEST = re.compile(r"[0-9a-f]{32}")


class ContentStore:
    """Keeps content by digest, in memory up to :data:`MEMORY_CAP`, beyond that in a run folder if one was
    given.

    Safe to use from several threads: the boxes of one run share it, so that equal seeds are held once.
    Content that ``mask`` would take something out of is never written. ``written`` is told of each file.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        memory: int = MEMORY_CAP,
        disk: int = DISK_CAP,
        mask: Callable[[str], str] = str,
        written: Callable[[Path], None] | None = None,
    ) -> None:
        self._folder = folder
        self._mask = mask
        self._tell = written
        self._memory = memory
        self._disk = disk
        self._held: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0
        self._written: set[str] = set()
        self._spent = 0
        self._lock = threading.Lock()

    def put(self, content: bytes) -> str:
        """Keep ``content`` and return its digest. Content beyond :data:`ITEM_CAP` is only digested."""
        digest = digest_of(content)
        if len(content) > ITEM_CAP:
            return digest
        with self._lock:
            if digest in self._held:
                self._held.move_to_end(digest)
            else:
                self._held[digest] = content
                self._size += len(content)
                self._shed()
        return digest

    def get(self, digest: str) -> bytes | None:
        """The content of a digest, or None where it was never kept or was forgotten."""
        with self._lock:
            held = self._held.get(digest)
            if held is not None:
                self._held.move_to_end(digest)
                return held
        if self._folder is None or not _DIGEST.fullmatch(digest):
            return None
        try:
            content = (self._folder / digest).read_bytes()
        except FileNotFoundError:
            return None
        return content if digest_of(content) == digest else None

    def save(self, digests: Iterable[str]) -> None:
        """Write the content that evidence cites into the run folder, so that it outlives the run.

        Raises:
            DiskFullError: the folder cannot be written.
        """
        if self._folder is None:
            return
        with self._lock:
            for digest in digests:
                if content := self._held.get(digest):
                    self._write(digest, content)

    def close(self) -> None:
        """Forget what is in memory; what was written stays."""
        with self._lock:
            self._held.clear()
            self._size = 0

    def _shed(self) -> None:
        while self._size > self._memory and self._held:
            digest, content = self._held.popitem(last=False)
            self._size -= len(content)
            if self._folder is not None:
                self._write(digest, content)

    def _write(self, digest: str, content: bytes) -> None:
        if self._folder is None or digest in self._written:
            return
        if self._spent + len(content) > self._disk:
            return
        text = content.decode("utf-8", "surrogateescape")
        if self._mask(text) != text:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            descriptor, draft = tempfile.mkstemp(prefix=".content-", dir=self._folder)
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            Path(draft).replace(self._folder / digest)
        except OSError as error:
            raise DiskFullError(
                f"Cannot keep evidence in {self._folder}: {error.strerror}. Free some space or choose another folder with --runs DIR."
            ) from error
        self._written.add(digest)
        self._spent += len(content)
        if self._tell is not None:
            self._tell(self._folder / digest)
