"""The folder of a batch, many targets of one command: ``.hintproof/batches/ID/``.

Layout: ``batch.json`` (what was asked for, written once at the start), ``servers/NNN.json`` (one result each, as they
come), ``runs/`` (a run folder per server). Each file is written beside its place and renamed: a batch whose process was
killed at any moment holds whole files, and what it holds is what was done. A result that is damaged all the same
counts as not there.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sandbox
from sandbox.errors import DiskFullError, EvidenceError, RunNotFoundError, UsageError
from sandbox.evidence.codec import decode, encode
from sandbox.evidence.locks import lock
from sandbox.evidence.runs import batches_of, forget_old, write_atomically
from sandbox.policy import TargetResult

KEPT_BATCHES = 10
"""How many batches stay beside the runs."""

FORMAT = "hintproof.batchstate/1"


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """What a batch was asked for: enough to ask for the same again. No secret is in it.

    ``cwd`` is where the command was typed, ``words`` and ``command`` its targets before and after ``--``, ``options``
    its options without values of ``-e``. ``names`` and ``keys`` are the servers in their order: as tables show them,
    and a digest of what is done with each.
    """

    batch: str
    cwd: str
    words: tuple[str, ...]
    command: tuple[str, ...]
    options: Mapping[str, Any]
    names: tuple[str, ...]
    keys: tuple[str, ...]
    started_at: str
    invocation: tuple[str, ...] = ()
    version: str = field(default=sandbox.__version__)
    format: str = FORMAT


class BatchFolder:
    """The folder of one batch, open for writing by this process alone. Use it as a context manager."""

    def __init__(self, path: Path, record: BatchRecord, descriptor: int) -> None:
        self.path = path
        self.record = record
        self._lock = descriptor

    @property
    def runs(self) -> Path:
        """Where the runs of its servers are kept."""
        return self.path / "runs"

    def run_id(self, index: int) -> str:
        """The id of the run of the server of that number, the same at every attempt."""
        return f"{self.record.batch}-{index + 1:03d}"

    def save(self, result: TargetResult) -> None:
        """Keep a result.

        Raises:
            DiskFullError: the folder cannot be written.
        """
        write_atomically(self._file(result.index), json.dumps(encode(result), indent=1) + "\n")

    def load(self, index: int) -> TargetResult | None:
        """The result of the server of that number; None where there is none, or none that can be read."""
        try:
            result = decode(TargetResult, json.loads(self._file(index).read_text(encoding="utf-8")))
        except (OSError, ValueError, RecursionError, EvidenceError):
            return None
        return result if result.index == index else None

    def results(self) -> list[TargetResult]:
        """All results that are there, in the order of the servers."""
        found = (self.load(index) for index in range(len(self.record.names)))
        return [result for result in found if result is not None]

    def close(self) -> None:
        """Release the batch, and remove the oldest ones beyond those that are kept."""
        os.close(self._lock)
        forget_old(self.path.parent, KEPT_BATCHES)

    def _file(self, index: int) -> Path:
        return self.path / "servers" / f"{index + 1:03d}.json"

    def __enter__(self) -> BatchFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def new_batch(runs: Path, record: BatchRecord) -> BatchFolder:
    """Make the folder of a new batch beside ``runs``.

    Raises:
        UsageError: there can be no such folder.
        DiskFullError: the disk is full.
    """
    path = batches_of(runs) / record.batch
    try:
        (path / "servers").mkdir(parents=True, exist_ok=False)
        descriptor = _locked(path)
        (path / "runs").mkdir()
    except OSError as error:
        kind = DiskFullError if error.errno in (errno.ENOSPC, errno.EDQUOT) else UsageError
        raise kind(
            f"No batch can be kept in {path.parent}: {error.strerror}. Choose another folder with --runs DIR."
        ) from error
    write_atomically(path / "batch.json", json.dumps(encode(record), indent=1) + "\n")
    return BatchFolder(path, record, descriptor)


def open_batch(runs: Path, batch: str) -> BatchFolder:
    """Open an earlier batch to go on with it: by its id, a unique beginning of it, or ``last``.

    Raises:
        RunNotFoundError: there is no such batch, or more than one.
        EvidenceError: its record is damaged, or of another version of hintproof.
        UsageError: another process works on it.
    """
    path = _find(batches_of(runs), batch)
    try:
        descriptor = _locked(path)
    except BlockingIOError as error:
        raise UsageError(f"Batch {path.name} is being worked on by another hintproof.") from error
    except OSError as error:
        raise UsageError(f"Batch {path.name} cannot be opened: {error.strerror}.") from error
    try:
        record = _record(path)
    except EvidenceError:
        os.close(descriptor)
        raise
    return BatchFolder(path, record, descriptor)


def _record(path: Path) -> BatchRecord:
    try:
        data = json.loads((path / "batch.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise EvidenceError(f"{path}/batch.json cannot be read: {error}. Start the batch again.") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise EvidenceError(f"{path}/batch.json is not of the format {FORMAT}: made by another version?")
    record = decode(BatchRecord, data)
    if record.version != sandbox.__version__:
        raise EvidenceError(
            f"Batch {path.name} was begun by hintproof {record.version}, and this is {sandbox.__version__}: results"
            " of both would not belong together. Start the batch again."
        )
    return record


def _locked(path: Path) -> int:
    descriptor = os.open(path / ".lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        lock(descriptor)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _find(root: Path, batch: str) -> Path:
    known: Sequence[Path] = sorted(path.parent for path in root.glob("*/batch.json"))
    if batch == "last" and known:
        return known[-1]
    matches = [path for path in known if path.name.startswith(batch)]
    if len(matches) == 1:
        return matches[0]
    wanted = "more than one batch begins so" if matches else "there is no such batch"
    listing = ", ".join(path.name for path in known[-5:]) or "none"
    raise RunNotFoundError(f"Batch {batch!r}: {wanted} in {root}. The newest batches are: {listing}.")
