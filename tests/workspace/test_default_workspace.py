"""The default workspace: what it holds, and that real programs agree with it."""

from __future__ import annotations

import io
import os
import sqlite3
import subprocess
import zipfile
import zlib
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sandbox.model import SeedEntry
from sandbox.workspace import DEFAULT_WORKSPACE, furnish

LayOut = Callable[[Iterable[SeedEntry]], Path]


def git(worktree: Path, *words: str) -> str:
    """The output of git in a work tree, with no configuration but the repository's own."""
    environment = {"PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1", "HOME": "/nonexistent"}
    command = ["git", "-c", "safe.directory=*", *words]
    return subprocess.run(
        command, cwd=worktree, env=environment, check=True, capture_output=True, text=True, timeout=30
    ).stdout


@pytest.fixture
def project(lay_out: LayOut) -> Path:
    """The sample repository on disk."""
    return lay_out(furnish(None).seeds) / DEFAULT_WORKSPACE.lstrip("/") / "project"


def test_it_is_the_same_to_the_byte_every_time() -> None:
    assert furnish(None) == furnish(None)


def test_every_kind_of_file_is_there() -> None:
    kinds = {file.kind for file in furnish(None).surroundings.files}
    assert kinds == {"text", "markdown", "code", "json", "jsonl", "csv", "yaml", "image", "sqlite", "binary"}


def test_every_name_in_the_surroundings_is_a_seed() -> None:
    furnishing = furnish(None)
    here = furnishing.surroundings
    seeded = {seed.path for seed in furnishing.seeds}
    repo = here.repositories[0]
    named = (
        {file.path for file in here.files}
        | set(here.folders)
        | {database.path for database in here.databases}
    )
    named |= {
        f"{repo.path}/{name}" for name in (*repo.untracked, *repo.staged, *repo.modified, *repo.tracked)
    }
    assert named <= seeded


def test_parents_come_before_their_children() -> None:
    seen: set[str] = set()
    for seed in furnish(None).seeds:
        parent = seed.path.rpartition("/")[0]
        assert parent in seen or seed.path == DEFAULT_WORKSPACE
        seen.add(seed.path)


def test_a_folder_is_empty() -> None:
    furnishing = furnish(None)
    empty = f"{DEFAULT_WORKSPACE}/empty"
    assert empty in furnishing.surroundings.folders
    assert not [seed for seed in furnishing.seeds if seed.path.startswith(empty + "/")]


def test_text_that_an_edit_can_replace_occurs_exactly_once() -> None:
    furnishing = furnish(None)
    contents = {seed.path: seed.content for seed in furnishing.seeds}
    texts = [file for file in furnishing.surroundings.files if file.kind in {"text", "markdown", "code"}]
    assert texts
    for file in texts:
        assert contents[file.path].count(file.line.encode()) == 1, file


def test_git_finds_no_fault_in_the_repository(project: Path) -> None:
    git(project, "fsck", "--strict", "--full")


def test_git_sees_a_staged_a_modified_and_an_untracked_file(project: Path) -> None:
    assert git(project, "status", "--porcelain").splitlines() == [
        "A  CHANGES.md",
        " M notes.txt",
        "?? draft.txt",
    ]


def test_git_sees_two_commits_two_branches_and_a_tag(project: Path) -> None:
    assert len(git(project, "log", "--format=%H").split()) == 2
    assert git(project, "branch", "--format=%(refname:short)").split() == ["feature", "main"]
    assert git(project, "tag").split() == ["v0.1.0"]
    assert len(git(project, "reflog", "--format=%H").split()) == 2


def test_git_can_pull_from_the_remote_and_push_to_it(project: Path) -> None:
    git(project, "fetch")
    assert "origin/release" in git(project, "branch", "-r")
    git(project, "push", "origin", "main")
    bare = project.with_suffix(".git")
    assert git(bare, "rev-parse", "main") == git(project, "rev-parse", "main")
    git(bare, "fsck", "--strict", "--full")


def test_git_can_check_out_the_other_branch_with_the_changes_in_place(project: Path) -> None:
    git(project, "checkout", "feature")
    assert (project / "feature.txt").is_file()
    assert git(project, "status", "--porcelain").splitlines() == [
        "A  CHANGES.md",
        " M notes.txt",
        "?? draft.txt",
    ]


def test_the_surroundings_say_of_the_repository_what_git_says(project: Path) -> None:
    repo = furnish(None).surroundings.repositories[0]
    assert (repo.head, repo.branches, repo.tags) == ("main", ("feature", "main"), ("v0.1.0",))
    assert repo.remotes == ("origin",)
    assert (repo.staged, repo.modified, repo.untracked) == (("CHANGES.md",), ("notes.txt",), ("draft.txt",))
    assert repo.commits == tuple(git(project, "rev-parse", "main", "feature").split())
    assert list(repo.tracked) == git(project, "ls-files").split()


def test_sqlite_finds_no_fault_in_the_database(lay_out: LayOut) -> None:
    furnishing = furnish(None)
    database = furnishing.surroundings.databases[0]
    root = lay_out(furnishing.seeds)
    with closing(sqlite3.connect(root / database.path.lstrip("/"))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        for table, columns in database.tables.items():
            cursor = connection.execute(f"SELECT * FROM {table}")
            assert [entry[0] for entry in cursor.description] == [column.name for column in columns]
            assert cursor.fetchall()
    assert len(database.tables) == 2


def test_the_picture_is_a_valid_png() -> None:
    content = next(seed.content for seed in furnish(None).seeds if seed.path.endswith(".png"))
    at, kinds = 8, []
    while at < len(content):
        length = int.from_bytes(content[at : at + 4])
        kind, body = content[at + 4 : at + 8], content[at + 8 : at + 8 + length]
        assert int.from_bytes(content[at + 8 + length : at + 12 + length]) == zlib.crc32(kind + body)
        kinds.append(kind)
        if kind == b"IDAT":
            assert len(zlib.decompress(body)) == 8 * (1 + 8 * 3)
        at += 12 + length
    assert kinds == [b"IHDR", b"IDAT", b"IEND"]


def test_the_photo_is_a_chain_of_jpeg_segments() -> None:
    content = next(seed.content for seed in furnish(None).seeds if seed.path.endswith(".jpg"))
    at, markers = 2, []
    while content[at + 1] != 0xDA:
        markers.append(content[at + 1])
        assert content[at] == 0xFF
        at += 2 + int.from_bytes(content[at + 2 : at + 4])
    assert markers == [0xE0, 0xDB, 0xC0, 0xC4, 0xC4]
    assert (content[:2], content[-2:]) == (b"\xff\xd8", b"\xff\xd9")


@pytest.mark.parametrize("name", ["data/table.xlsx", "docs/document.docx"])
def test_office_files_are_sound_archives_of_sound_parts(name: str) -> None:
    content = next(seed.content for seed in furnish(None).seeds if seed.path.endswith(f"workspace/{name}"))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        parts = {part: ElementTree.fromstring(archive.read(part)) for part in archive.namelist()}
    declared = {one.get("PartName", "").lstrip("/") for one in parts["[Content_Types].xml"]} - {""}
    assert declared
    assert declared <= set(parts)
