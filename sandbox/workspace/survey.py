"""Look around in a workspace: which files, folders, repositories and databases arguments can name."""

from __future__ import annotations

import csv
import json
from pathlib import PurePosixPath

from sandbox.workspace.databases import MAGIC, read_tables
from sandbox.workspace.gitfacts import read_repositories
from sandbox.workspace.surroundings import Database, FileSample, Surroundings
from sandbox.workspace.view import View

_KINDS = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".yaml": "yaml",
    ".yml": "yaml",
} | dict.fromkeys(
    (".py", ".js", ".ts", ".go", ".rs", ".c", ".h", ".java", ".rb", ".sh", ".html", ".css", ".sql"), "code"
)
_IMAGES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"RIFF")
_SKIPPED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", ".hg", ".svn"})
_HEAD = 16 * 1024
_MAX_DATABASE = 16 * 1024 * 1024
_MAX_FILES = 200
_MAX_FOLDERS = 100
_MAX_DATABASES = 8


def survey(view: View, *, workspace: str, home: str, given: str, samples: str) -> Surroundings:
    """What arguments can name in ``view``: the samples (below the folder ``samples``) first, then by depth
    and name.

    Package folders and the insides of repositories are left out. Bounded: 200 files, 100 folders, 8
    databases.
    """

    def rank(path: str) -> tuple[bool, bool, int, str]:
        sampled = path.startswith(samples + "/") or path == samples
        return (path != given, not sampled, path.count("/"), path)

    paths = [path for path in sorted(view.files, key=rank) if not _skipped(path, workspace)][:_MAX_FILES]
    files = tuple(_sample(view, path) for path in paths)
    folders = [path for path in sorted(view.folders, key=rank) if not _skipped(path, workspace)]
    stored = [file.path for file in files if file.kind == "sqlite" and file.size <= _MAX_DATABASE][
        :_MAX_DATABASES
    ]
    databases = [
        Database(path, read_tables(view.read(path, _MAX_DATABASE), view.read(f"{path}-wal", _MAX_DATABASE)))
        for path in stored
    ]
    return Surroundings(
        workspace=workspace,
        home=home,
        files=files,
        folders=tuple(folders[:_MAX_FOLDERS]),
        repositories=tuple(
            sorted(read_repositories(view), key=lambda repo: (repo.path != workspace, rank(repo.path + "/")))
        ),
        databases=tuple(databases),
        given=given,
    )


def _skipped(path: str, workspace: str) -> bool:
    parts = path.removeprefix(workspace).split("/")
    return not _SKIPPED.isdisjoint(parts) or any(part.endswith(".git") for part in parts)


def _sample(view: View, path: str) -> FileSample:
    size = view.files[path]
    head = view.read(path, _HEAD)
    kind = _kind(path, head)
    if kind in {"sqlite", "image", "binary"}:
        return FileSample(path, kind, size)
    text = head.decode(errors="replace")
    return FileSample(path, kind, size, _line(text), _keys(kind, text) if size <= _HEAD else ())


def _kind(path: str, head: bytes) -> str:
    if head.startswith(MAGIC):
        return "sqlite"
    if head.startswith(_IMAGES):
        return "image"
    try:
        head[:-4].decode()
    except UnicodeDecodeError:
        return "binary"
    if b"\0" in head:
        return "binary"
    return _KINDS.get(PurePosixPath(path).suffix.lower(), "text")


def _line(text: str) -> str:
    """A line that occurs once, so that an edit that must be unambiguous is accepted; else the first with text."""
    lines = [line.strip() for line in text.splitlines()]
    lines = [
        line for line in lines if any(map(str.isalpha, line)) and len(line) <= 120 and line.isprintable()
    ]
    return next((line for line in lines if text.count(line) == 1), lines[0] if lines else "")


def _keys(kind: str, text: str) -> tuple[str, ...]:
    if kind == "csv":
        return tuple(next(csv.reader(text.splitlines()), []))[:32]
    if kind not in {"json", "jsonl"}:
        return ()
    try:
        value = json.loads(text if kind == "json" else text.partition("\n")[0])
    except (ValueError, RecursionError):
        return ()
    if isinstance(value, list) and value:
        value = value[0]
    return tuple(value)[:32] if isinstance(value, dict) else ()
