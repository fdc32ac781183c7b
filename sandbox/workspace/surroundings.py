"""What a server finds around it: the facts that arguments are aimed with.

Every path is absolute as the box sees it, but those inside a ``Repo``, which are relative to its work tree.
Names that are not valid text are left out: no JSON argument could carry them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileSample:
    """One file of the workspace.

    ``kind`` is ``text``, ``markdown``, ``code``, ``json``, ``jsonl``, ``csv``, ``yaml``, ``image``,
    ``sqlite`` or ``binary``; ``size`` is in bytes. ``line`` is a piece of text that occurs in the file (""
    where it is not text), ``keys`` the keys of a JSON object, of its first record, or the columns of a CSV
    file.
    """

    path: str
    kind: str
    size: int
    line: str = ""
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Repo:
    """One git repository: ``head`` is the branch that is checked out ("" when detached).

    ``commits`` are full object ids, the tip of HEAD first, then the tips of the other branches. ``staged``
    is known only where HEAD's tree could be read without unpacking a pack.
    """

    path: str
    branches: tuple[str, ...]
    head: str
    untracked: tuple[str, ...] = ()
    staged: tuple[str, ...] = ()
    modified: tuple[str, ...] = ()
    tracked: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    remotes: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: its declared type in capitals, and whether the database fills it in by itself."""

    name: str
    type: str
    generated: bool = False


@dataclass(frozen=True, slots=True)
class Database:
    """One SQLite database and the columns of each of its tables."""

    path: str
    tables: Mapping[str, tuple[Column, ...]]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The workspace as it stands before any call, and the user's home.

    ``given`` is the path that the user handed to the server ("" for the default workspace). It may name a
    file that does not exist yet, which is then in no other field.
    """

    workspace: str
    home: str
    files: tuple[FileSample, ...] = ()
    folders: tuple[str, ...] = ()
    repositories: tuple[Repo, ...] = ()
    databases: tuple[Database, ...] = ()
    given: str = ""
