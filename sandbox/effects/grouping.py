"""Which changed files belong together: a database with its journals, a repository with its git folder."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sandbox.model import ChangeKind, FileChange

_JOURNALS = ("-wal", "-shm", "-journal")

_BOOKKEEPING = frozenset(
    (
        "HEAD index packed-refs COMMIT_EDITMSG ORIG_HEAD FETCH_HEAD MERGE_MSG MERGE_MODE MERGE_RR SQUASH_MSG"
        " AUTO_MERGE gc.log gc.pid info info/refs objects objects/info objects/pack refs logs logs/HEAD"
    ).split()
)
"""What the reader of the repository tells by meaning, or git keeps for itself. ``config`` and ``hooks`` are not among
it: they run code."""


@dataclass(slots=True)
class Groups:
    """``databases``: changes by database path; ``repositories``: bookkeeping changes by work tree; ``plain``:
    the rest."""

    databases: dict[str, list[FileChange]] = field(default_factory=dict)
    repositories: dict[str, list[FileChange]] = field(default_factory=dict)
    plain: list[FileChange] = field(default_factory=list)


def group(changes: Iterable[FileChange], is_database: set[str]) -> Groups:
    """Sort changes into groups. ``is_database`` holds the paths that are SQLite databases before or after."""
    known = list(changes)
    made = {
        c.path for c in known if c.kind is ChangeKind.CREATED and c.type == "directory" and _is_git(c.path)
    }
    groups = Groups()
    new_pack = any(c.kind is ChangeKind.CREATED and "/.git/objects/pack/" in c.path for c in known)
    for change in known:
        repository, inside, within = change.path.partition("/.git/")
        if inside and f"{repository}/.git" in made:
            continue  # told once, with the repository
        if inside and _is_bookkeeping(change, within, new_pack=new_pack):
            groups.repositories.setdefault(repository, []).append(change)
            continue
        database = database_of(change.path)
        if database in is_database and (database != change.path or change.kind is ChangeKind.MODIFIED):
            groups.databases.setdefault(database, []).append(change)
        else:
            groups.plain.append(change)
    return groups


def database_of(path: str) -> str:
    """The database that a path is, or is the journal of."""
    for suffix in _JOURNALS:
        if path.endswith(suffix):
            return path.removesuffix(suffix)
    return path


def _is_git(path: str) -> bool:
    return path.endswith("/.git")


def _is_bookkeeping(change: FileChange, within: str, *, new_pack: bool) -> bool:
    if within == "objects" or within.startswith("objects/"):
        # New objects mean nothing; ones that vanish do, unless they were packed.
        return change.kind is ChangeKind.CREATED or new_pack or within.startswith("objects/info/")
    # A lock that is still there when all is quiet stops every git that comes after; one that passed is no
    # change.
    return within in _BOOKKEEPING or within.startswith(("refs/", "logs/refs/"))
