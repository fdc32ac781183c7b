"""A workspace made from what the user named: faithful, bounded and never reaching outside."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import pytest

from sandbox.errors import UsageError
from sandbox.model import SeedEntry
from sandbox.workspace import SAMPLES, Furnishing, furnish
from sandbox.workspace.furnish import MAX_BYTES, MAX_FILES

LayOut = Callable[[Iterable[SeedEntry]], Path]


def by_path(furnishing: Furnishing) -> dict[str, SeedEntry]:
    """The seeds by path, each path once."""
    paths = [seed.path for seed in furnishing.seeds]
    assert len(paths) == len(set(paths))
    return {seed.path: seed for seed in furnishing.seeds}


def git(worktree: Path, *words: str) -> None:
    """Run git in a work tree with an identity of its own."""
    identity = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@b",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@b",
    }
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", **identity}
    subprocess.run(
        ["git", *words], cwd=worktree, env=environment, check=True, capture_output=True, timeout=30
    )


def test_a_folder_is_copied_with_modes_times_and_content(tmp_path: Path) -> None:
    script = tmp_path / "deep" / "run.sh"
    script.parent.mkdir(mode=0o750)
    script.write_text("echo hi\n")
    script.chmod(0o751)
    os.utime(script, (1_000_000_000, 1_000_000_000))
    seed = by_path(furnish(tmp_path, "/w"))["/w/deep/run.sh"]
    assert (seed.content, seed.mode, seed.mtime) == (b"echo hi\n", 0o751, 1_000_000_000)
    assert by_path(furnish(tmp_path, "/w"))["/w/deep"].mode == 0o750


def test_an_empty_folder_still_offers_every_kind_of_sample(tmp_path: Path) -> None:
    here = furnish(tmp_path, "/w").surroundings
    assert {file.kind for file in here.files} >= {"text", "json", "image", "sqlite"}
    assert here.repositories[0].path == f"/w/{SAMPLES}/project"
    assert here.workspace == here.given == "/w"


def test_links_are_kept_as_links_and_never_followed(tmp_path: Path) -> None:
    secret = tmp_path / "outside" / "secret"
    secret.parent.mkdir()
    secret.write_text("not for the box")
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "to-file").symlink_to(secret)
    (inside / "to-folder").symlink_to(secret.parent)
    seeds = by_path(furnish(inside, "/w"))
    assert (seeds["/w/to-file"].kind, seeds["/w/to-file"].target) == ("symlink", str(secret))
    assert seeds["/w/to-folder"].kind == "symlink"
    assert not any(b"not for the box" in seed.content for seed in seeds.values())


def test_a_fifo_is_left_out_with_a_note_and_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    furnishing = furnish(tmp_path, "/w")
    assert "/w/pipe" not in by_path(furnishing)
    assert [note for note in furnishing.notes if "pipe" in note]


def test_a_name_that_is_not_text_is_copied_but_never_proposed(tmp_path: Path) -> None:
    odd = os.path.join(os.fsencode(tmp_path), b"odd\xff.txt")
    with open(odd, "wb") as file:
        file.write(b"odd")
    furnishing = furnish(tmp_path, "/w")
    assert os.fsdecode(b"/w/odd\xff.txt") in by_path(furnishing)
    assert not [file for file in furnishing.surroundings.files if "odd" in file.path]


def test_a_large_folder_stays_where_it_is_and_only_the_samples_are_seeds(tmp_path: Path) -> None:
    for number in range(MAX_FILES + 1):
        (tmp_path / f"file-{number:04}.txt").write_text("x")
    furnishing = furnish(tmp_path, str(tmp_path))
    assert furnishing.lower == str(tmp_path)
    assert all(seed.path.startswith(f"{tmp_path}/{SAMPLES}") for seed in furnishing.seeds)
    assert f"{tmp_path}/file-0000.txt" in {file.path for file in furnishing.surroundings.files}


def test_a_heavy_folder_stays_where_it_is(tmp_path: Path) -> None:
    with open(tmp_path / "heavy", "wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert furnish(tmp_path, str(tmp_path)).lower == str(tmp_path)


def test_a_repository_gets_no_repository_inside_and_its_git_folder_stays_as_it_is(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    (tmp_path / "a.txt").write_text("a\n")
    (tmp_path / "b.txt").write_text("b\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "one")
    git(tmp_path, "branch", "other")
    (tmp_path / "a.txt").write_text("changed\n")
    (tmp_path / "new.txt").write_text("new\n")
    furnishing = furnish(tmp_path, "/w")
    seeds = by_path(furnishing)
    ours = {path.removeprefix("/w/") for path in seeds if path.startswith("/w/.git/")}
    theirs = {str(path.relative_to(tmp_path)) for path in (tmp_path / ".git").rglob("*")}
    assert ours == theirs
    assert not [path for path in seeds if path.endswith("/.git") and path != "/w/.git"]
    (repo,) = furnishing.surroundings.repositories
    assert (repo.path, repo.head, repo.branches) == ("/w", "trunk", ("other", "trunk"))
    assert (repo.modified, repo.staged) == (("a.txt",), ())
    assert {"new.txt", f"{SAMPLES}/notes.txt"} <= set(repo.untracked)


def test_packed_branches_are_known_too(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "one")
    git(tmp_path, "tag", "v1")
    git(tmp_path, "pack-refs", "--all")
    (repo,) = furnish(tmp_path, "/w").surroundings.repositories
    assert (repo.branches, repo.tags, len(repo.commits)) == (("trunk",), ("v1",), 1)


def test_an_ignored_file_is_not_offered_as_untracked(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    git(tmp_path, "add", ".")
    (tmp_path / "run.log").write_text("x")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "out").write_text("x")
    (repo,) = furnish(tmp_path, "/w").surroundings.repositories
    assert not {"run.log", "build/out"} & set(repo.untracked)


def test_a_damaged_repository_is_survived(tmp_path: Path) -> None:
    (tmp_path / ".git" / "objects" / "ab").mkdir(parents=True)
    (tmp_path / ".git" / "HEAD").write_bytes(b"\xff\xfe")
    (tmp_path / ".git" / "index").write_bytes(b"DIRC" + bytes([0, 0, 0, 2, 255, 255, 255, 255]) + b"\1" * 99)
    (tmp_path / ".git" / "packed-refs").write_bytes(b"\0\1garbage\n")
    (repo,) = furnish(tmp_path, "/w").surroundings.repositories
    assert repo.branches == ()


def test_a_database_brings_its_journals_and_its_tables(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE goods (id INTEGER PRIMARY KEY, title TEXT, price REAL)")
        connection.commit()
        furnishing = furnish(file, "/w/shop.db")
    seeds = by_path(furnishing)
    assert {"/w", "/w/shop.db", "/w/shop.db-wal", "/w/shop.db-shm"} <= set(seeds)
    database = furnishing.surroundings.databases[0]
    assert database.path == furnishing.surroundings.given == "/w/shop.db"
    assert [(column.name, column.type, column.generated) for column in database.tables["goods"]] == [
        ("id", "INTEGER", True),
        ("title", "TEXT", False),
        ("price", "REAL", False),
    ]


def test_a_file_yet_to_be_created_gives_only_its_folder_and_samples(tmp_path: Path) -> None:
    (tmp_path / "private.txt").write_text("stays outside")
    furnishing = furnish(tmp_path / "new.db", "/w/new.db")
    assert all(seed.path == "/w" or seed.path.startswith(f"/w/{SAMPLES}") for seed in furnishing.seeds)
    assert furnishing.surroundings.given == "/w/new.db"


def test_a_file_brings_none_of_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "private.txt").write_text("stays outside")
    (tmp_path / "data.json").write_text('{"name": 1}')
    furnishing = furnish(tmp_path / "data.json", "/w/data.json")
    assert "/w/private.txt" not in by_path(furnishing)
    assert furnishing.surroundings.files[0].path == "/w/data.json"
    assert furnishing.surroundings.files[0].keys == ("name",)


def test_a_path_without_a_parent_is_refused_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="create"):
        furnish(tmp_path / "nowhere" / "new.db", "/w/new.db")


def test_a_database_that_is_not_one_has_no_tables(tmp_path: Path) -> None:
    (tmp_path / "fake.db").write_bytes(b"SQLite format 3\0" + bytes(range(256)) * 8)
    here = furnish(tmp_path / "fake.db", "/w/fake.db").surroundings
    assert here.databases[0].tables == {}


def test_the_copy_laid_out_again_gives_the_same_copy(tmp_path: Path, lay_out: LayOut) -> None:
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "sub" / "file").write_bytes(b"\0\1")
    (source / "link").symlink_to("sub/file")
    first = furnish(source, "/w")
    second = furnish(lay_out(first.seeds) / "w", "/w")
    assert {seed.path: (seed.kind, seed.mode, seed.content, seed.target) for seed in first.seeds} == {
        seed.path: (seed.kind, seed.mode, seed.content, seed.target) for seed in second.seeds
    }
