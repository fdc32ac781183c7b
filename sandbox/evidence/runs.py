"""The run folder: ``.hintproof/runs/ID/`` with the evidence of each tool as it finishes.

Layout: ``run.json`` (what was run and how), ``tools/NNN.json`` (one :class:`~sandbox.model.ToolEvidence` each),
``wire/BOX.jsonl`` (raw lines, bounded), ``content/DIGEST`` (before and after), ``report.json`` (written once, at the end). Every file is written
beside its place and renamed, so that a run which dies leaves only whole files.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox.errors import DiskFullError, EvidenceError, RunNotFoundError, UsageError
from sandbox.evidence.codec import decode, encode, masked
from sandbox.evidence.content import ContentStore
from sandbox.evidence.locks import lock
from sandbox.model import ToolEvidence

KEPT_RUNS = 20
"""How many finished runs stay in the run folder (design, section 6)."""

FORMAT = "hintproof.run/1"

_COPIED = re.compile(
    r"tools/[0-9]{3,6}-[A-Za-z0-9_.-]{1,60}\.json|wire/[A-Za-z0-9_.-]{1,60}\.jsonl|content/[0-9a-f]{32}"
)
"""Files that are copied from one folder of a run to another; its record and report are written by whoever reads
the command line."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What was run: enough to judge its evidence again, and to launch the same server for a replay.

    ``launch`` is the options of the command in plain JSON, as ``verify`` was given them.
    """

    run: str
    target: str
    command: tuple[str, ...]
    invocation: tuple[str, ...]
    seed: int
    started_at: str
    launch: Mapping[str, Any] = field(default_factory=dict)
    server: Mapping[str, Any] = field(default_factory=dict)
    format: str = FORMAT


def new_run_id() -> str:
    """A sortable, unique run id such as ``20261130-121445-3fa9``."""
    return time.strftime("%Y%m%d-%H%M%S-", time.gmtime()) + secrets.token_hex(2)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DiskFullError(
            f"Cannot write {path}: {error.strerror}. Free some space or choose another folder with --runs DIR."
        ) from error


def write_atomically(path: Path, text: str) -> None:
    """Write ``text`` beside ``path`` and rename it into place.

    Raises:
        DiskFullError: the folder cannot be written.
    """
    _write_bytes_atomically(path, text.encode("utf-8"))


def _write_bytes_atomically(path: Path, content: bytes) -> None:
    with _writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            draft.write_bytes(content)
            draft.replace(path)
        except OSError:
            draft.unlink(missing_ok=True)
            raise


class RunFolder:
    """One run's folder, open for writing. It holds a lock so that no other run cleans it away.

    ``mask`` takes out of every text what must not be written; ``written`` is told of each file that is
    written, in the thread that wrote it. ``kept`` is how many finished runs stay in ``root``, None for all.

    Raises:
        UsageError: there can be no such folder.
        DiskFullError: the disk is full.
    """

    def __init__(
        self,
        root: Path,
        run: str,
        mask: Callable[[str], str] = str,
        written: Callable[[Path], None] | None = None,
        kept: int | None = KEPT_RUNS,
    ) -> None:
        self._kept = kept
        self.path = root / run
        self.saved_tools = 0
        self._mask = mask
        self._tell = written
        self._discarded = False
        try:
            (self.path / "tools").mkdir(parents=True, exist_ok=False)
            self._lock = os.open(self.path / ".lock", os.O_CREAT | os.O_RDWR, 0o600)
        except OSError as error:
            kind = DiskFullError if error.errno in (errno.ENOSPC, errno.EDQUOT) else UsageError
            raise kind(
                f"No run can be kept in {root}: {error.strerror}. Choose another folder with --runs DIR."
            ) from error
        lock(self._lock)

    def save_record(self, record: RunRecord) -> None:
        """Write what is being run."""
        self._write("run.json", json.dumps(self._plain(record), indent=1).encode())

    def save_tool(self, evidence: ToolEvidence) -> None:
        """Write the evidence of one finished tool."""
        name = f"{self.saved_tools:03d}-{_slug(self._mask(evidence.tool.name))}.json"
        self._write(f"tools/{name}", json.dumps(self._plain(evidence)).encode())
        self.saved_tools += 1

    def save_wire(self, box: str, lines: list[tuple[float, str, str]]) -> None:
        """Write the wire log of one box: (ms, direction, text) per line."""
        text = "".join(json.dumps(self._plain(line)) + "\n" for line in lines)
        self._write(f"wire/{_slug(box)}.jsonl", text.encode())

    def save_copy(self, name: str, content: bytes) -> None:
        """Write a file of the same run that another folder of it holds, under its name there (``tools/...``).

        Raises:
            EvidenceError: no run folder has a file of that name.
            DiskFullError: the folder cannot be written.
        """
        if not _COPIED.fullmatch(name):
            raise EvidenceError(f"{name[:100]!r} is no file of a run folder.")
        self._write(name, content)
        self.saved_tools += name.startswith("tools/")

    def contents(self) -> ContentStore:
        """A store of before and after content that keeps what is cited, and what is too much for memory, here."""
        return ContentStore(self.path / "content", mask=self._mask, written=self._tell)

    @property
    def report(self) -> Path:
        """Where the report belongs, written once, at the end."""
        return self.path / "report.json"

    def discard(self) -> None:
        """The run came to nothing: have the folder removed when it is closed."""
        self._discarded = True

    def close(self) -> None:
        """Release the lock and remove the oldest finished runs beyond those that are kept."""
        os.close(self._lock)
        if self._discarded:
            shutil.rmtree(self.path, ignore_errors=True)
        if self._kept is not None:
            forget_old(self.path.parent, self._kept)

    def _write(self, name: str, content: bytes) -> None:
        path = self.path / name
        _write_bytes_atomically(path, content)
        if self._tell is not None:
            self._tell(path)

    def _plain(self, fact: object) -> Any:
        return masked(encode(fact), self._mask)

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _slug(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", text)[:60].strip(".") or "_"


def forget_old(root: Path, kept: int) -> None:
    """Remove the oldest folders below ``root`` beyond ``kept``, but none whose ``.lock`` is held."""
    runs = sorted((entry for entry in root.iterdir() if (entry / ".lock").is_file()), reverse=True)
    for old in runs[kept:]:
        try:
            descriptor = os.open(old / ".lock", os.O_RDWR)
        except FileNotFoundError:
            continue  # another hintproof removes it now
        try:
            lock(descriptor)
        except BlockingIOError:
            continue  # another hintproof is writing it now
        else:
            shutil.rmtree(old, ignore_errors=True)
        finally:
            os.close(descriptor)


def batches_of(root: Path) -> Path:
    """Where batches are kept beside runs that are kept in ``root``."""
    return root.with_name("batches") if root.name == "runs" else root / "batches"


def records_of(root: Path) -> list[Path]:
    """The records (``run.json``) of all runs kept in ``root`` and in the batches beside it, oldest first."""
    found = [*root.glob("*/run.json"), *batches_of(root).glob("*/runs/*/run.json")]
    return sorted(found, key=lambda record: record.parent.name)


def find_run(root: Path, run: str) -> Path:
    """The folder of a run, by id, by a unique beginning of it, by path, or ``last``; runs of batches too.

    Raises:
        RunNotFoundError: there is no such run, or more than one.
    """
    direct = Path(run)
    if (direct / "run.json").is_file():
        return direct
    known = [record.parent for record in records_of(root)]
    if run == "last" and known:
        return known[-1]
    matches = [path for path in known if path.name.startswith(run)]
    exact = [path for path in matches if path.name == run] or matches
    if len(exact) == 1:
        return exact[0]
    wanted = "more than one run begins so" if matches else "there is no such run"
    listing = ", ".join(path.name for path in known[-5:]) or "none"
    raise RunNotFoundError(f"Run {run!r}: {wanted} in {root}. The newest runs are: {listing}.")


def load_record(folder: Path) -> RunRecord:
    """Read what a run was.

    Raises:
        EvidenceError: the folder holds no readable record of this version.
    """
    data = _load(folder / "run.json")
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise EvidenceError(f"{folder}/run.json is not of the format {FORMAT}: made by another version?")
    return decode(RunRecord, data)


def load_evidence(folder: Path) -> list[ToolEvidence]:
    """Read the evidence of every finished tool, in the order in which they finished.

    Raises:
        EvidenceError: a file is damaged or of another version.
    """
    return [decode(ToolEvidence, _load(path)) for path in sorted((folder / "tools").glob("*.json"))]


def load_report(folder: Path) -> dict[str, Any]:
    """Read a finished run's report as JSON.

    Raises:
        EvidenceError: the run did not end, or the file is damaged.
    """
    data = _load(folder / "report.json")
    if not isinstance(data, dict):
        raise EvidenceError(f"{folder}/report.json is not a report.")
    return data


def _load(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise EvidenceError(f"{path} is missing: the run was stopped before it was written.") from error
    except (OSError, ValueError) as error:
        raise EvidenceError(f"{path} cannot be read: {error}.") from error
