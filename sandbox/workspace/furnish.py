"""Furnish a box's workspace: a copy of what the user named, enriched with samples, or the default workspace."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.errors import UsageError
from sandbox.model import HOME, SeedEntry
from sandbox.workspace.samples import sample_tree
from sandbox.workspace.surroundings import Surroundings
from sandbox.workspace.survey import survey
from sandbox.workspace.view import Entry, View, read_file, view_of_folder, view_of_seeds, walk

DEFAULT_WORKSPACE = f"{HOME}/workspace"
SAMPLES = "hintproof-samples"
"""The folder of samples inside a workspace that is a copy of the user's own."""

MAX_FILES = 500
MAX_BYTES = 64 * 1024 * 1024
_MAX_SEEN = 20_000
_COMPANIONS = ("-wal", "-shm", "-journal")


@dataclass(frozen=True, slots=True)
class Furnishing:
    """A workspace ready to be put into a box.

    ``seeds`` are written into the box, parents before children. ``lower`` is None, or a folder of this
    machine too large to be copied, which stays a read-through layer below the seeds at the same path.
    ``notes`` says in sentences what the copy leaves out.
    """

    seeds: tuple[SeedEntry, ...]
    surroundings: Surroundings
    lower: str | None = None
    notes: tuple[str, ...] = field(default=())


def furnish(source: Path | None, at: str = DEFAULT_WORKSPACE, *, home: str = HOME) -> Furnishing:
    """The workspace for a server that was given ``source``, to stand at ``at`` in the box.

    ``source`` is None (the default workspace), a folder (its copy and a folder of samples in it), a file (its
    copy, with the journals of a database, in its otherwise empty folder) or a file yet to be created in a
    folder that exists (then only that folder, empty but for the samples). ``at`` is where the box shows the
    source: the folder, or the file. It must be the source's own path where the folder is too large to be
    copied (over 500 files or 64 MiB).

    Raises UsageError when neither the source nor its parent folder exists, or when it is neither file nor
    folder.
    """
    at = at.rstrip("/")
    if source is None:
        seeds = sample_tree(at, repository=True)
        return Furnishing(tuple(seeds), _look(view_of_seeds(seeds), at, home, "", at))
    if source.is_dir():
        return _furnish_folder(os.path.realpath(source), at, home)
    if source.exists() and not source.is_file():
        raise UsageError(f"{source} is neither a file nor a folder; name one of these as the workspace.")
    parent = source.parent
    if not parent.is_dir():
        raise UsageError(
            f"{source} does not exist, and neither does its folder; create {parent} or name another path."
        )
    return _furnish_file(source, at, home)


def _furnish_file(source: Path, at: str, home: str) -> Furnishing:
    folder = at.rpartition("/")[0]
    facts = source.parent.stat()
    seeds = [SeedEntry(folder, "dir", stat.S_IMODE(facts.st_mode) & 0o777 | 0o700, mtime=facts.st_mtime)]
    notes: list[str] = []
    for suffix in ("", *_COMPANIONS):
        file = Path(f"{os.path.realpath(source)}{suffix}")
        if not file.is_file():
            continue
        facts = file.stat()
        content = read_file(str(file), MAX_BYTES + 1)
        if content is None or len(content) > MAX_BYTES:
            notes.append(f"{file} was left out: it cannot be read, or is larger than 64 MiB.")
            continue
        seeds.append(_file_seed(f"{at}{suffix}", facts, content))
    seeds += sample_tree(f"{folder}/{SAMPLES}", repository=True)
    view = view_of_seeds(seeds)
    return Furnishing(tuple(seeds), _look(view, folder, home, at, f"{folder}/{SAMPLES}"), notes=tuple(notes))


def _furnish_folder(folder: str, at: str, home: str) -> Furnishing:
    entries = list(walk(folder, _MAX_SEEN))
    regular = [entry for entry in entries if stat.S_ISREG(entry.facts.st_mode)]
    under_git = any(entry.relative == ".git" for entry in entries)
    has_samples = any(entry.relative == SAMPLES for entry in entries)
    # A repository inside the user's repository would change what git says of it.
    samples = [] if has_samples else sample_tree(f"{at}/{SAMPLES}", repository=not under_git)
    large = len(regular) > MAX_FILES or sum(entry.facts.st_size for entry in regular) > MAX_BYTES
    if large or len(entries) == _MAX_SEEN:
        view = _joined(view_of_folder(folder, at, _MAX_SEEN), view_of_seeds(samples))
        return Furnishing(tuple(samples), _look(view, at, home, at, f"{at}/{SAMPLES}"), lower=folder)
    facts = os.stat(folder)
    copied, notes = _copy(folder, at, entries)
    seeds = [
        SeedEntry(at, "dir", stat.S_IMODE(facts.st_mode) & 0o777, mtime=facts.st_mtime),
        *copied,
        *samples,
    ]
    view = view_of_seeds(seeds)
    return Furnishing(tuple(seeds), _look(view, at, home, at, f"{at}/{SAMPLES}"), notes=tuple(notes))


def _copy(folder: str, at: str, entries: Sequence[Entry]) -> tuple[list[SeedEntry], list[str]]:
    seeds: list[SeedEntry] = []
    notes: list[str] = []
    for entry in entries:
        path, source = f"{at}/{entry.relative}", os.path.join(folder, entry.relative)
        mode = entry.facts.st_mode
        if stat.S_ISDIR(mode):
            seeds.append(SeedEntry(path, "dir", stat.S_IMODE(mode) & 0o777, mtime=entry.facts.st_mtime))
        elif stat.S_ISLNK(mode):
            seeds.append(
                SeedEntry(path, "symlink", 0o777, target=os.readlink(source), mtime=entry.facts.st_mtime)
            )
        elif not stat.S_ISREG(mode):
            notes.append(f"{source} was left out: it is a socket, a FIFO or a device.")
        elif (content := read_file(source, MAX_BYTES)) is None:
            notes.append(f"{source} was left out: it cannot be read.")
        else:
            seeds.append(_file_seed(path, entry.facts, content))
    return seeds, notes


def _file_seed(path: str, facts: os.stat_result, content: bytes) -> SeedEntry:
    return SeedEntry(path, "file", stat.S_IMODE(facts.st_mode) & 0o777, content, mtime=facts.st_mtime)


def _joined(below: View, above: View) -> View:
    def read(path: str, most: int) -> bytes:
        return (above if path in above.files else below).read(path, most)

    return View({**below.files, **above.files}, [*below.folders, *above.folders], read)


def _look(view: View, workspace: str, home: str, given: str, samples: str) -> Surroundings:
    return survey(view, workspace=workspace, home=home, given=given, samples=samples)
