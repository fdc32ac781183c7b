"""What the readers say of real files: SQLite written by SQLite, repositories written by git, documents, and
hostile ones."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox.effects.reader import Readers
from sandbox.effects.readers.reading import Reading
from sandbox.model import EffectKind

K = EffectKind


@pytest.fixture(scope="module")
def reader() -> Iterator[Readers]:
    with Readers() as worker:
        yield worker


def told(reading: Reading) -> list[tuple[EffectKind, str, bool]]:
    return [(m.kind, m.where, m.loses) for m in reading.meanings]


# --- SQLite -------------------------------------------------------------------------------------


def image(path: Path) -> tuple[bytes, bytes]:
    wal = Path(f"{path}-wal")
    return path.read_bytes(), wal.read_bytes() if wal.exists() else b""


@pytest.fixture(params=["wal", "delete"])
def compare_rows(
    request: pytest.FixtureRequest, tmp_path: Path, reader: Readers
) -> Iterator[Callable[..., Reading]]:
    """Runs SQL in a database that a connection holds open, and reads before against after."""
    path = tmp_path / "app.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode={request.param}")
    connection.executescript(
        "CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT, seen INTEGER, updated_at TEXT);"
        "INSERT INTO users VALUES(1,'ann',0,'2026-01-01T00:00:00'),(2,'bob',0,NULL),(3,'cy',0,NULL);"
        "CREATE TABLE log(line TEXT); INSERT INTO log VALUES('a'),('b'),('b');"
        "CREATE TABLE grid(x, y, v, PRIMARY KEY(x, y)) WITHOUT ROWID; INSERT INTO grid VALUES(1,2,'v');"
        "CREATE TABLE meta(next_id INTEGER); INSERT INTO meta VALUES(4);"
        "CREATE TABLE auto(id INTEGER PRIMARY KEY AUTOINCREMENT, v); INSERT INTO auto(v) VALUES(1);"
    )

    def run(sql: str) -> Reading:
        before = image(path)
        connection.executescript(sql)
        after = image(path)
        assert before != after
        return reader.sqlite(before, after)

    yield run
    connection.close()


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("DELETE FROM users WHERE id=3", [(K.ROW_DELETED, "users[3]", True)]),
        ("INSERT INTO users(id,name) VALUES(9,'di')", [(K.ROW_INSERTED, "users[9]", False)]),
        ("UPDATE users SET name='eve' WHERE id=1", [(K.ROW_UPDATED, "users[1]", True)]),
        (
            "UPDATE users SET updated_at='2026-02-02T10:00:00' WHERE id=2",
            [(K.ROW_UPDATED, "users[2]", False)],
        ),
        ("UPDATE users SET name=name||' smith' WHERE id=1", [(K.ROW_UPDATED, "users[1]", False)]),
        ("UPDATE users SET seen=seen+1 WHERE id=1", [(K.ROW_UPDATED, "users[1]", True)]),
        (
            "INSERT INTO log VALUES('c'); UPDATE meta SET next_id=5",
            [(K.ROW_INSERTED, "log[4]", False), (K.ROW_UPDATED, "meta[1]", False)],
        ),
        ("DELETE FROM log WHERE rowid=3", [(K.ROW_DELETED, "log[3]", True)]),
        ("DELETE FROM grid", [(K.ROW_DELETED, "grid[1,2]", True)]),
        ("INSERT INTO auto(v) VALUES(2)", [(K.ROW_INSERTED, "auto[2]", False)]),
        ("CREATE TABLE extra(a)", [(K.SCHEMA_CHANGED, "extra", False)]),
        ("ALTER TABLE users ADD COLUMN mail TEXT", [(K.SCHEMA_CHANGED, "users", False)]),
        ("ALTER TABLE users DROP COLUMN seen", [(K.SCHEMA_CHANGED, "users", True)]),
        ("DROP TABLE log", [(K.SCHEMA_CHANGED, "log", True)]),
        ("CREATE INDEX by_name ON users(name)", [(K.SCHEMA_CHANGED, "by_name", False)]),
        ("UPDATE users SET name='x' WHERE id=1; UPDATE users SET name='ann' WHERE id=1", []),
        ("DELETE FROM log WHERE rowid=1; INSERT INTO log VALUES('a')", []),
    ],
)
def test_sqlite_is_told_by_row_in_every_journal_mode(
    compare_rows: Callable[..., Reading], sql: str, expected: list[tuple[EffectKind, str, bool]]
) -> None:
    reading = compare_rows(sql)
    assert reading.understood, reading.trouble
    assert told(reading) == expected


def test_a_vacuum_and_a_checkpoint_mean_nothing(tmp_path: Path, reader: Readers) -> None:
    path = tmp_path / "app.db"
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute("PRAGMA journal_mode=wal")
        connection.executescript(
            "CREATE TABLE t(v); INSERT INTO t VALUES(1),(2),(3); DELETE FROM t WHERE v=1;"
        )
        before = image(path)
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        after = image(path)
    connection.close()
    assert before != after
    reading = reader.sqlite(before, after)
    assert reading.understood
    assert reading.meanings == ()


def test_frames_that_sqlite_would_not_accept_do_not_hide_a_deletion(tmp_path: Path, reader: Readers) -> None:
    path = tmp_path / "app.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=wal")
    connection.executescript("CREATE TABLE t(id INTEGER PRIMARY KEY); INSERT INTO t VALUES(1),(2);")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    full = path.read_bytes()
    connection.execute("DELETE FROM t WHERE id=2")
    database, wal = image(path)
    connection.close()
    size = int.from_bytes(wal[8:12], "big")
    page = (len(full) // size).to_bytes(4, "big")
    forged = page + page + wal[16:24] + bytes(8) + full[-size:]
    reading = reader.sqlite((full, b""), (database, wal + forged))
    assert told(reading) == [(K.ROW_DELETED, "t[2]", True)]


def test_a_schema_that_would_run_code_runs_none(tmp_path: Path, reader: Readers) -> None:
    path, other = tmp_path / "evil.db", tmp_path / "made-by-reading.db"
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.executescript(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES(1,'a');"
            "CREATE VIEW w AS SELECT load_extension('/tmp/x.so');"
            "CREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM t; END;"
            "CREATE VIRTUAL TABLE f USING fts5(body); INSERT INTO f VALUES('text');"
        )
        before = image(path)
        connection.executescript(
            "DROP TRIGGER r; INSERT INTO t VALUES(2,'b'); PRAGMA writable_schema=ON;"
            f"INSERT INTO sqlite_master VALUES('view','z','z',0,'CREATE VIEW z AS SELECT 1; ATTACH ''{other}'' AS o');"
        )
        after = image(path)
    connection.close()
    reading = reader.sqlite(before, after)
    assert (K.ROW_INSERTED, "t[2]", False) in told(reading) or not reading.understood
    assert not other.exists()


@pytest.mark.parametrize(("column", "read"), [("hex(id)", True), ("load_extension('/tmp/x.so')", False)])
def test_a_generated_column_computes_but_cannot_call_what_it_likes(
    tmp_path: Path, reader: Readers, column: str, read: bool
) -> None:
    path = tmp_path / "gen.db"
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, v AS (hex(id)))")
        before = image(path)
        connection.execute("INSERT INTO t(id) VALUES(1)")
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("UPDATE sqlite_master SET sql=replace(sql, 'hex(id)', ?)", (column,))
        after = image(path)
    connection.close()
    reading = reader.sqlite(before, after)
    assert reading.understood is read
    assert ((K.ROW_INSERTED, "t[1]", False) in told(reading)) is read


@pytest.mark.parametrize("harm", ["truncated", "scribbled", "header only"])
def test_a_corrupt_database_is_compared_as_bytes(tmp_path: Path, reader: Readers, harm: str) -> None:
    path = tmp_path / "app.db"
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.executescript("CREATE TABLE t(v);" + "INSERT INTO t VALUES(hex(randomblob(200)));" * 100)
    connection.close()
    whole = path.read_bytes()
    harmed = {
        "truncated": whole[: len(whole) // 2],
        "scribbled": whole[:4096] + bytes(range(256)) * 40 + whole[4096 + 10240 :],
        "header only": whole[:100],
    }[harm]
    reading = reader.sqlite((whole, b""), (harmed, b""))
    assert not reading.understood
    assert reading.trouble


# --- JSON ---------------------------------------------------------------------------------------


def compare(reader: Readers, old: object, new: object, name: str = "data.json") -> Reading:
    return reader.file(name, json.dumps(old, indent=1).encode(), json.dumps(new).encode())


TWO = [{"id": 1, "t": "a"}, {"id": 2, "t": "b"}]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (TWO, [*TWO, {"id": 3, "t": "c"}], [(K.RECORD_ADDED, "[3]", False)]),
        (TWO, TWO[:1], [(K.RECORD_DELETED, "[2]", True)]),
        (TWO, [{"id": 1, "t": "z"}, TWO[1]], [(K.RECORD_UPDATED, "[1]", True)]),
        (TWO, TWO[::-1], [(K.RECORD_UPDATED, "document", False)]),
        ({"next_id": 3, "items": TWO}, {"next_id": 4, "items": [*TWO, {"id": 3}]}, [
            (K.RECORD_ADDED, "items[3]", False),
            (K.RECORD_UPDATED, "document", False),
        ]),
        ({"next_id": 3, "items": TWO}, {"next_id": 9, "items": TWO}, [(K.RECORD_UPDATED, "document", True)]),
        ({"a": 1}, {"a": 1, "b": 2}, [(K.RECORD_ADDED, "b", False)]),
        ({"a": 1, "b": 2}, {"a": 1}, [(K.RECORD_DELETED, "b", True)]),
        ({"a": 1}, {"a": True}, [(K.RECORD_UPDATED, "document", True)]),
        ({"p": [{"id": 1, "tasks": ["x"]}]}, {"p": [{"id": 1, "tasks": ["x", "y"]}]}, [
            (K.RECORD_ADDED, "p[1]/tasks[y]", False)
        ]),
        (["a", "b"], ["a"], [(K.RECORD_DELETED, "[b]", True)]),
        ({"n": None}, {"n": "set"}, [(K.RECORD_UPDATED, "document", False)]),
        ({"last_name": "x", "items": []}, {"last_name": "y", "items": [1]}, [
            (K.RECORD_ADDED, "items[1]", False),
            (K.RECORD_UPDATED, "document", True),
        ]),
        ({"a": [1, 2]}, {"a": [1, 2]}, []),
    ],
)  # fmt: skip
def test_json_is_told_by_record(
    reader: Readers, old: object, new: object, expected: list[tuple[EffectKind, str, bool]]
) -> None:
    reading = compare(reader, old, new)
    assert reading.reader == "json"
    assert told(reading) == expected


def lines(*values: object) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def test_a_line_more_is_one_record_added_and_a_line_less_is_one_lost(reader: Readers) -> None:
    entity = {"type": "entity", "name": "ann", "observations": ["a"]}
    relation = {"type": "relation", "from": "ann", "to": "bob"}
    grown = reader.file("memory.jsonl", lines(entity), lines(entity, relation))
    assert (
        told(grown) == [(K.RECORD_ADDED, f"[{str(relation)[:59]}…]", False)]
        or grown.meanings[0].kind is K.RECORD_ADDED
    )
    assert grown.appended
    shrunk = reader.file("memory.jsonl", lines(entity, relation), lines(entity))
    assert [(m.kind, m.loses) for m in shrunk.meanings] == [(K.RECORD_DELETED, True)]
    richer = {**entity, "observations": ["a", "b"]}
    assert told(reader.file("memory.jsonl", lines(entity, relation), lines(richer, relation))) == [
        (K.RECORD_ADDED, "[entity:ann]/observations[b]", False)
    ]


@pytest.mark.parametrize(
    "hostile",
    [
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b"[1e999999, NaN",
        b"[" + b"9" * 500_000 + b"]",
        b"{\xff\xfe}",
        b"\0\0{}",
    ],
    ids=["deep list", "deep object", "cut", "huge number", "not utf-8", "nulls"],
)
def test_hostile_json_is_compared_as_what_it_is(reader: Readers, hostile: bytes) -> None:
    reading = reader.file("data.json", b'{"a": 1}', hostile)
    assert reading.reader in ("text", "bytes")
    assert told(reader.file("data.json", b'{"a": 1}', b'{"a": 1, "b": 2}')) == [(K.RECORD_ADDED, "b", False)]


def test_a_line_of_many_megabytes_costs_a_bounded_diff(reader: Readers) -> None:
    reading = reader.file("x.txt", b"a" * 8_000_000, b"b" * 8_000_000)
    assert reading.reader == "text"
    assert len(reading.diff) <= 16 << 10


def test_a_reader_that_takes_too_long_is_replaced() -> None:
    with Readers(job_s=0.001) as hasty:
        assert "longer" in hasty.file("a", b"x" * 5_000_000, b"y" * 5_000_000).trouble
    with Readers() as patient:
        assert patient.file("a", b"x\n", b"x\ny\n").appended


def test_a_reader_that_was_killed_is_replaced(reader: Readers) -> None:
    reader.file("a", b"1", b"2")
    assert reader._process is not None  # noqa: SLF001
    reader._process.kill()  # noqa: SLF001
    assert reader.file("a", b"1", b"2").trouble == "its reader crashed"
    assert reader.file("a", b"one\n", b"two\n").reader == "text"


def test_a_reader_outlives_the_thread_that_first_asked() -> None:
    with Readers() as worker:
        asked = threading.Thread(target=worker.file, args=("a.json", b'{"a": 1}', b'{"a": 2}'))
        asked.start()
        asked.join()
        while Path(f"/proc/self/task/{asked.native_id}").exists():
            time.sleep(0.001)
        assert worker.file("a.json", b'{"a": 1}', b'{"a": 2}').understood


def test_text_is_told_with_a_diff_and_whether_it_only_grew(reader: Readers) -> None:
    grown = reader.file("a.txt", b"one\n", b"one\ntwo\n")
    assert grown.appended
    assert "+two" in grown.diff
    stamped = reader.file("a.txt", b"at 2026-01-01T00:00:00Z\n", b"at 2026-01-02T03:04:05Z\n")
    assert stamped.volatile
    assert not reader.file("a.txt", b"limit 5\n", b"limit 6\n").volatile


# --- git ----------------------------------------------------------------------------------------


class Repository:
    """A real repository, and the reader's view of what one command did to it."""

    def __init__(self, path: Path, reader: Readers, version: int) -> None:
        self.path = path
        self._reader = reader
        self.git("init", "-q", "-b", "main")
        self.git("config", "index.version", str(version))
        self.write("a.txt", "a\n")
        self.write("dir/b.txt", "b\n")
        self.git("add", ".")
        self.git("commit", "-qm", "one")

    def git(self, *words: str) -> None:
        who = {f"GIT_{w}_{f}": "x@y" for w in ("AUTHOR", "COMMITTER") for f in ("NAME", "EMAIL")}
        home = {"HOME": str(self.path), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(["git", *words], cwd=self.path, check=True, capture_output=True, env=who | home)

    def write(self, name: str, text: str) -> None:
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)

    def state(self) -> dict[str, bytes]:
        folder = self.path / ".git"
        names = [folder / "HEAD", folder / "packed-refs", folder / "index", folder / "logs/refs/stash"]
        names += [p for p in (folder / "refs").rglob("*") if p.is_file()]
        return {str(p.relative_to(folder)): p.read_bytes() for p in names if p.exists()}

    def did(self, *commands: tuple[str, ...], ids: tuple[str, ...] = ()) -> Reading:
        before = self.state()
        for words in commands:
            self.git(*words)
        folder = self.path / ".git"
        packs = [str(p.relative_to(folder)) for p in folder.glob("objects/pack/*.idx")]

        def fetch(name: str) -> bytes | None:
            path = folder / name
            return path.read_bytes() if path.exists() else None

        return self._reader.git(before, self.state(), fetch, packs, ids)


@pytest.fixture(params=[2, 4])
def repository(request: pytest.FixtureRequest, tmp_path: Path, reader: Readers) -> Repository:
    (tmp_path / "repo").mkdir()
    return Repository(tmp_path / "repo", reader, request.param)


MAIN = "refs/heads/main"


def test_a_status_that_refreshes_the_index_means_nothing(repository: Repository) -> None:
    os.utime(repository.path / "a.txt", (1, 1))
    assert told(repository.did(("status",), ("update-index", "--refresh"))) == []


def test_staging_and_committing_lose_nothing(repository: Repository) -> None:
    repository.write("c.txt", "c\n")
    assert told(repository.did(("add", "c.txt"))) == [(K.INDEX_CHANGED, "index", False)]
    assert told(repository.did(("commit", "-qm", "two"))) == [(K.REF_MOVED, MAIN, False)]


def test_unstaging_loses_what_was_staged(repository: Repository) -> None:
    repository.write("a.txt", "changed\n")
    repository.write("c.txt", "c\n")
    repository.git("add", ".")
    reading = repository.did(("reset", "-q"))
    assert told(reading) == [(K.INDEX_CHANGED, "index", True)]
    assert reading.meanings[0].detail["lost"] == ["a.txt", "c.txt"]


def test_staging_over_what_was_staged_loses_it(repository: Repository) -> None:
    repository.write("a.txt", "first\n")
    repository.git("add", ".")
    repository.write("a.txt", "second\n")
    assert told(repository.did(("add", "a.txt"))) == [(K.INDEX_CHANGED, "index", True)]


def test_a_hard_reset_loses_commits_unless_another_ref_has_them(repository: Repository) -> None:
    repository.write("a.txt", "two\n")
    repository.git("commit", "-qam", "two")
    repository.git("branch", "keep")
    kept = repository.did(("reset", "-q", "--hard", "HEAD~1"))
    assert (K.REF_MOVED, MAIN, False) in told(kept)
    repository.git("reset", "-q", "--hard", "keep")
    repository.git("branch", "-D", "keep")
    lost = repository.did(("reset", "-q", "--hard", "HEAD~1"))
    assert (K.REF_MOVED, MAIN, True) in told(lost)


def test_branches_and_switching_are_told_and_lose_nothing(repository: Repository) -> None:
    assert told(repository.did(("branch", "dev"))) == [(K.REF_CREATED, "refs/heads/dev", False)]
    repository.git("checkout", "-q", "dev")
    repository.write("a.txt", "dev\n")
    repository.git("commit", "-qam", "dev")
    assert told(repository.did(("checkout", "-q", "main"))) == [
        (K.REF_MOVED, "HEAD", False),
        (K.INDEX_CHANGED, "index", False),
    ]
    assert told(repository.did(("branch", "-D", "dev"))) == [(K.REF_DELETED, "refs/heads/dev", True)]


def test_packing_means_nothing_and_history_is_read_from_packs(repository: Repository) -> None:
    for number in range(8):
        repository.write("a.txt", "line\n" * 200 + f"{number}\n")
        repository.git("commit", "-qam", str(number))
    assert told(repository.did(("gc", "-q", "--aggressive"))) == []
    assert not list(repository.path.glob(".git/refs/heads/*"))
    assert (K.REF_MOVED, MAIN, True) in told(repository.did(("reset", "-q", "--hard", "HEAD~3")))
    repository.write("a.txt", "again\n")
    assert (K.REF_MOVED, MAIN, False) in told(repository.did(("commit", "-qam", "again")))


def test_stashing_keeps_and_dropping_a_stash_loses(repository: Repository) -> None:
    repository.write("a.txt", "stash me\n")
    assert told(repository.did(("stash",))) == [(K.REF_CREATED, "refs/stash", False)]
    repository.write("a.txt", "stash me too\n")
    assert told(repository.did(("stash",))) == [(K.REF_MOVED, "refs/stash", False)]
    assert told(repository.did(("stash", "drop", "-q", "stash@{1}"))) == [(K.REF_DELETED, "refs/stash", True)]
    assert told(repository.did(("stash", "drop", "-q"))) == [(K.REF_DELETED, "refs/stash", True)]


def test_content_that_the_store_has_is_known_to_be_kept(repository: Repository) -> None:
    known = subprocess.run(
        ["git", "hash-object", "a.txt"], cwd=repository.path, check=True, capture_output=True, text=True
    ).stdout.strip()
    reading = repository.did(("branch", "x"), ids=(known, "0" * 40))
    assert reading.kept_blobs == {known}


def test_a_truncated_index_is_compared_as_bytes(repository: Repository, reader: Readers) -> None:
    state = repository.state()
    cut = {**state, "index": state["index"][: len(state["index"]) // 2]}
    reading = reader.git(state, cut, lambda _: None, [], [])
    assert not reading.understood
    assert "index" in reading.trouble


def test_without_its_objects_a_moved_ref_is_likely_no_loss(repository: Repository, reader: Readers) -> None:
    before = repository.state()
    repository.write("a.txt", "two\n")
    repository.git("commit", "-qam", "two")
    reading = reader.git(before, repository.state(), lambda _: None, [], [])
    moved = next(m for m in reading.meanings if m.kind is K.REF_MOVED)
    assert not moved.loses
    assert not moved.sure
