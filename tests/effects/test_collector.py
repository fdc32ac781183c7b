"""What a step is told to have done: real files and databases and repositories, joined with what instruments record."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox.effects import Collector, Readers, mark_background
from sandbox.evidence.content import ContentStore
from sandbox.linux.base import NAME_SERVER
from sandbox.model import (
    CanaryRead,
    Effect,
    EffectKind,
    Exchange,
    Instrument,
    Observed,
    Packet,
    ProcessFact,
    SyscallEvent,
    Weight,
)

K = EffectKind
HOME = "/home/user"
WORKSPACE = f"{HOME}/workspace"


@pytest.fixture(scope="module")
def readers() -> Iterator[Readers]:
    with Readers() as worker:
        yield worker


class Stage:
    """A folder that stands for the upper layer of HOME, the server's acts in it, and the box's collector."""

    def __init__(self, root: Path, readers: Readers) -> None:
        self.root = root
        self.work = root / "workspace"
        self.work.mkdir()
        self._readers = readers
        self._upper = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        self._collector: Collector | None = None

    # LayerLike
    prefix = HOME
    lower = None

    @property
    def upper(self) -> int:
        return self._upper

    @property
    def collector(self) -> Collector:
        if self._collector is None:
            self._collector = Collector(
                [self],
                content=ContentStore(),
                readers=self._readers,
                workspace=WORKSPACE,
                home=HOME,
                canaries=[f"{HOME}/.netrc"],
            )
        return self._collector

    def step(self, act: Callable[[], object] = lambda: None, **recorded: Any) -> tuple[Effect, ...]:
        collector = self.collector
        started = time.monotonic_ns()
        act()
        told = {name: tuple(_in_step(item, started) for item in items) for name, items in recorded.items()}
        return collector.collect(Observed(started, time.monotonic_ns(), **told))

    def close(self) -> None:
        if self._collector is not None:
            self._collector.close()
        os.close(self._upper)


@pytest.fixture
def stage(memory: Path, readers: Readers) -> Iterator[Stage]:
    made = Stage(memory, readers)
    yield made
    made.close()


def _in_step(item: Any, started_ns: int) -> Any:
    """A recorded item whose time counts from the start of the step, on the clock of the step."""
    field = "started_ns" if isinstance(item, ProcessFact) else "at_ns"
    return replace(item, **{field: started_ns + getattr(item, field)})


def after(ms: float = 1) -> int:
    """So long after the start of the step."""
    return int(ms * 1e6)


def event(name: str, path: str = "", at_ms: float = 1, **more: Any) -> SyscallEvent:
    return SyscallEvent(after(at_ms), 4242, "/usr/bin/node", name, path, **more)


def only(effects: tuple[Effect, ...]) -> Effect:
    assert len(effects) == 1, effects
    return effects[0]


# --- files --------------------------------------------------------------------------------------


def test_a_quiet_step_has_no_effects(stage: Stage) -> None:
    (stage.work / "a.txt").write_text("a")
    assert stage.step() == ()
    assert stage.step() == ()
    assert stage.collector.instruments == frozenset(Instrument)


def test_a_written_file_is_told_with_who_when_and_a_diff(stage: Stage) -> None:
    (stage.work / "a.txt").write_text("one\ntwo\n")
    opened = event("openat", f"{WORKSPACE}/a.txt", flags=os.O_WRONLY | os.O_TRUNC)
    effect = only(stage.step(lambda: (stage.work / "a.txt").write_text("one\nTWO\n"), events=(opened,)))
    assert (effect.kind, effect.loses, effect.weight) == (K.FILE_MODIFIED, True, Weight.MATERIAL)
    assert (effect.pid, effect.executable) == (4242, "/usr/bin/node")
    assert effect.at_ms == 1
    assert "-two\n+TWO" in effect.diff
    assert effect.summary == f"overwrote the file {WORKSPACE}/a.txt"


@pytest.mark.parametrize(
    ("act", "kind", "loses", "says"),
    [
        (lambda w: (w / "n").write_text("new"), K.FILE_CREATED, False, "created the file"),
        (lambda w: (w / "n").mkdir(), K.FILE_CREATED, False, "created the folder"),
        (lambda w: (w / "a.txt").open("a").close() or (w / "a.txt").write_text("aaa\nb\n"), K.FILE_MODIFIED, False, "appended 2 bytes"),
        (lambda w: (w / "a.txt").write_text(""), K.FILE_MODIFIED, True, "emptied"),
        (lambda w: (w / "a.txt").unlink(), K.FILE_DELETED, True, "deleted the file"),
        (lambda w: shutil.rmtree(w / "tree"), K.FILE_DELETED, True, "with 2 entries in it"),
        (lambda w: (w / "a.txt").rename(w / "z.txt"), K.FILE_MOVED, False, "moved the file"),
        (lambda w: (w / "a.txt").rename(w / "b.txt"), K.FILE_MOVED, True, "over an existing file"),
        (lambda w: (w / "a.txt").chmod(0o600), K.FILE_METADATA, False, "mode 644->600"),
        (lambda w: (w / "empty").write_text("first"), K.FILE_MODIFIED, False, "appended 5 bytes"),
        (lambda w: (w / "bytes").write_bytes(b"\0\xff\0"), K.FILE_MODIFIED, True, "overwrote"),
        (lambda w: os.symlink("/etc/passwd", w / "sly"), K.FILE_CREATED, False, "-> /etc/passwd"),
    ],
)  # fmt: skip
def test_each_change_of_a_file_becomes_one_sentence(
    stage: Stage, act: Callable[[Path], object], kind: EffectKind, loses: bool, says: str
) -> None:
    for name, text in {"a.txt": "aaa\n", "b.txt": "b", "empty": "", "bytes": "\0\1"}.items():
        (stage.work / name).write_text(text)
        (stage.work / name).chmod(0o644)
    (stage.work / "tree").mkdir()
    (stage.work / "tree" / "x").write_text("x")
    (stage.work / "tree" / "y").write_text("y")
    stage.step()
    effect = only(stage.step(lambda: act(stage.work)))
    assert (effect.kind, effect.loses) == (kind, loses)
    assert says in effect.summary
    assert effect.fingerprint


def test_what_the_trial_made_is_its_own_until_the_next_begins(stage: Stage) -> None:
    path = stage.work / "n.txt"
    stage.step(lambda: path.write_text("new"))
    assert only(stage.step(lambda: path.write_text("else"))).own
    stage.collector.begin()
    assert not only(stage.step(path.unlink)).own
    assert not only(stage.step(lambda: path.write_text("again"))).own
    moved = only(stage.step(lambda: path.rename(stage.work / "m.txt")))
    assert moved.own
    assert only(stage.step((stage.work / "m.txt").unlink)).own


@pytest.mark.parametrize(
    ("path", "weight"),
    [
        (".cache/tool/index", Weight.INCIDENTAL),
        (".local/state/tool/log.txt", Weight.INCIDENTAL),
        (".tool/server.log", Weight.INCIDENTAL),
        (".tool/logs/today.txt", Weight.INCIDENTAL),
        (".npm/_logs/x-debug-0.log", Weight.INCIDENTAL),
        (".tool/.app-logs/6b0ddf49", Weight.INCIDENTAL),
        (".tool/6b0ddf49_log", Weight.INCIDENTAL),
        (".tool/catalogs/6b0ddf49", Weight.MATERIAL),
        (".tool/blog", Weight.MATERIAL),
        (".python_history", Weight.INCIDENTAL),
        (".tool/run.pid", Weight.INCIDENTAL),
        (".bashrc", Weight.MATERIAL),
        (".profile", Weight.MATERIAL),
        (".zshenv", Weight.MATERIAL),
        (".ssh/authorized_keys", Weight.MATERIAL),
        (".config/autostart/x.desktop", Weight.MATERIAL),
        (".config/systemd/user/x.service", Weight.MATERIAL),
        (".local/bin/ls", Weight.MATERIAL),
        (".cache/bin/tool.log", Weight.MATERIAL),
        ("notes.txt", Weight.MATERIAL),
        ("workspace/app.log", Weight.MATERIAL),
        ("workspace/__pycache__/m.pyc", Weight.MATERIAL),
        (".netrc", Weight.MATERIAL),
    ],
)
def test_only_the_servers_own_bookkeeping_is_incidental(stage: Stage, path: str, weight: Weight) -> None:
    place = stage.root / path

    def write() -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("x")

    made = [e for e in stage.step(write) if e.subject == f"{HOME}/{path}"]
    assert only(tuple(made)).weight is weight


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("workspace/a.txt", "workspace"),
        ("workspace/bin/a", "started"),
        (".config/autostart/a.desktop", "started"),
        (".netrc", "secret"),
        (".app/settings.json", "other"),
    ],
)
def test_a_new_file_is_told_with_the_kind_of_place(stage: Stage, path: str, place: str) -> None:
    made = stage.root / path
    made.parent.mkdir(parents=True, exist_ok=True)
    stage.step()
    effect = only(stage.step(lambda: made.write_text("x")))
    assert effect.detail["place"] == place


def make_database(path: Path, *statements: str, mode: str = "delete") -> None:
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode={mode}")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    if mode == "delete":
        connection.close()
    else:  # as in a server that goes on: closing would write everything into the database
        _open_databases.append(connection)


_open_databases: list[sqlite3.Connection] = []
_NOTES = "CREATE TABLE notes (text TEXT)"


@pytest.mark.parametrize(
    ("name", "make", "empty"),
    [
        ("folder", lambda path: path.mkdir(), True),
        ("nothing", lambda path: path.touch(), True),
        ("text", lambda path: path.write_text("text"), False),
        ("link", lambda path: path.symlink_to("anywhere"), False),
        ("list.json", lambda path: path.write_text('{"version": "1.0", "notes": [], "next_id": 1}'), True),
        ("full.json", lambda path: path.write_text('{"version": "1.0", "notes": ["a"]}'), False),
        ("broken.json", lambda path: path.write_text('{"notes": []'), False),
        ("schema.db", lambda path: make_database(path, _NOTES), True),
        ("row.db", lambda path: make_database(path, _NOTES, "INSERT INTO notes VALUES ('a')"), False),
        ("log.db", lambda path: make_database(path, _NOTES, mode="wal"), True),
        ("row-in-log.db", lambda path: make_database(path, _NOTES, "INSERT INTO notes VALUES ('a')", mode="wal"), False),
        (
            "migrated.db",
            lambda path: make_database(
                path, _NOTES, "CREATE TABLE schema_version (v)", "INSERT INTO schema_version VALUES (3)"
            ),
            True,
        ),
        ("search.db", lambda path: make_database(path, "CREATE VIRTUAL TABLE found USING fts5(text)"), True),
    ],
)  # fmt: skip
def test_what_is_made_is_told_empty_where_it_holds_nothing_yet(
    stage: Stage, name: str, make: Callable[[Path], object], empty: bool
) -> None:
    stage.step()
    effects = stage.step(lambda: make(stage.work / name))
    while _open_databases:
        _open_databases.pop().close()
    assert only(effects).detail["empty"] is empty


def test_a_log_that_was_there_before_the_server_is_no_bookkeeping_of_its_own(stage: Stage) -> None:
    log = stage.root / "server.log"
    log.write_text("old\n")
    assert only(stage.step(lambda: log.write_text("old\nnew\n"))).weight is Weight.MATERIAL


def test_what_was_created_and_removed_is_transient(stage: Stage) -> None:
    path = f"{WORKSPACE}/brief"
    events = (event("openat", path, flags=os.O_CREAT | os.O_WRONLY), event("unlink", path, 2))
    effect = only(stage.step(events=events))
    assert (effect.kind, effect.weight) == (K.FILE_CREATED, Weight.TRANSIENT)
    failed = event("openat", f"{WORKSPACE}/no/such", flags=os.O_CREAT)
    quiet = (failed, event("openat", "/dev/null", flags=os.O_RDWR), event("mkdir", WORKSPACE))
    assert stage.step(events=quiet) == ()


def test_what_was_written_and_restored_is_transient(stage: Stage) -> None:
    (stage.work / "a").write_text("same")
    stage.step()
    opened = event("openat", f"{WORKSPACE}/a", flags=os.O_WRONLY | os.O_TRUNC)
    effect = only(stage.step(lambda: (stage.work / "a").write_text("same"), events=(opened,)))
    assert (effect.kind, effect.weight) == (K.FILE_MODIFIED, Weight.TRANSIENT)


def test_only_times_and_pids_that_differ_make_equal_fingerprints(memory: Path, readers: Readers) -> None:
    prints = set()
    for number, stamp in enumerate(("2026-01-01T00:00:00Z", "2026-11-30T12:14:45Z")):
        (memory / str(number)).mkdir()
        stage = Stage(memory / str(number), readers)
        effects = stage.step(lambda s=stage, t=stamp: (s.work / f"out-{t}.txt").write_text(f"at {t}: done\n"))
        prints.add(only(effects).fingerprint)
        stage.close()
    assert len(prints) == 1


def test_a_flood_of_changes_is_bounded_and_counted(stage: Stage) -> None:
    def flood() -> None:
        for number in range(500):
            (stage.work / f"{number:03}").write_text("x")
        (stage.work / "kept").unlink()

    (stage.work / "kept").write_text("k")
    stage.step()
    effects = stage.step(flood)
    assert len(effects) == 201
    assert "301 more" in effects[-1].summary
    assert any(effect.kind is K.FILE_DELETED for effect in effects)


def test_a_flood_of_bookkeeping_does_not_push_out_what_counts(stage: Stage) -> None:
    def flood() -> None:
        cache = stage.root / ".cache"
        cache.mkdir()
        for number in range(300):
            (cache / f"{number:03}").write_text("x")
        (stage.root / "zz-taken.txt").write_text("x")

    packet = Packet(after(500), "udp", "8.8.8.8", 123, 60)
    effects = stage.step(flood, packets=(packet,))
    assert len(effects) == 201
    assert {e.subject for e in effects if e.weight is Weight.MATERIAL} == {
        f"{HOME}/zz-taken.txt",
        "8.8.8.8:123",
    }


def test_a_flood_of_one_kind_does_not_push_out_another(stage: Stage) -> None:
    def flood() -> None:
        for number in range(300):
            (stage.work / f"{number:03}").write_text("x")

    effects = stage.step(flood, packets=(Packet(after(500), "udp", "8.8.8.8", 123, 60),))
    assert "8.8.8.8:123" in {effect.subject for effect in effects}


# --- structured files ---------------------------------------------------------------------------


def test_a_deleted_row_is_told_by_its_table_and_key(stage: Stage) -> None:
    path = stage.work / "app.db"
    with sqlite3.connect(path, isolation_level=None) as connection:
        connection.execute("PRAGMA journal_mode=wal")
        connection.executescript(
            "CREATE TABLE users(id INTEGER PRIMARY KEY, n); INSERT INTO users VALUES(3,'c');"
        )
        stage.step()
        inserted = only(stage.step(lambda: connection.execute("INSERT INTO users VALUES(4,'d')")))
        deleted = only(stage.step(lambda: connection.execute("DELETE FROM users WHERE id=3")))
        own = only(stage.step(lambda: connection.execute("DELETE FROM users WHERE id=4")))
        checkpoint = stage.step(lambda: connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall())
    closed = stage.step(connection.close)
    assert (inserted.kind, inserted.loses) == (K.ROW_INSERTED, False)
    assert deleted.subject == f"{WORKSPACE}/app.db#users[3]"
    assert deleted.summary == f"deleted the row 3 of users in {WORKSPACE}/app.db"
    assert (deleted.loses, deleted.own) == (True, False)
    assert (own.loses, own.own) == (True, True)
    assert checkpoint == closed == ()


def test_a_corrupted_database_is_a_loss_of_the_file(stage: Stage) -> None:
    path = stage.work / "app.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t(v)")
    connection.close()
    stage.step()
    effect = only(stage.step(lambda: path.write_bytes(path.read_bytes()[:1500])))
    assert (effect.kind, effect.loses) == (K.FILE_MODIFIED, True)
    assert "as bytes" in str(effect.detail["compared"])


def test_a_document_rewritten_with_one_record_more_is_an_addition(stage: Stage) -> None:
    path = stage.work / "memory.json"
    path.write_text(json.dumps({"items": [{"id": 1}]}))
    stage.step()
    effect = only(
        stage.step(lambda: path.write_text(json.dumps({"items": [{"id": 1}, {"id": 2}]}, indent=2)))
    )
    assert (effect.kind, effect.loses, effect.subject) == (
        K.RECORD_ADDED,
        False,
        f"{WORKSPACE}/memory.json#items[2]",
    )
    effect = only(stage.step(lambda: path.write_text(json.dumps({"items": [{"id": 2}]}))))
    assert (effect.kind, effect.loses, effect.own) == (K.RECORD_DELETED, True, False)
    effect = only(stage.step(lambda: path.write_text(json.dumps({"items": [{"id": 2}]}, indent=4))))
    assert (effect.kind, effect.loses) == (K.FILE_MODIFIED, False)


def git(folder: Path, *words: str) -> None:
    who = {f"GIT_{w}_{f}": "x@y" for w in ("AUTHOR", "COMMITTER") for f in ("NAME", "EMAIL")}
    env = who | {"HOME": str(folder.parent), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env=env)


@pytest.fixture
def repository(stage: Stage) -> Path:
    path = stage.work / "repo"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    (path / "a.txt").write_text("a\n")
    git(path, "add", ".")
    git(path, "commit", "-qm", "one")
    git(path, "branch", "other")
    stage.step()
    return path


def test_git_status_has_no_effect_and_a_commit_moves_a_ref(stage: Stage, repository: Path) -> None:
    os.utime(repository / "a.txt", (1, 1))
    assert stage.step(lambda: git(repository, "status")) == ()
    (repository / "b.txt").write_text("b\n")
    stage.step()
    staged = only(stage.step(lambda: git(repository, "add", ".")))
    assert (staged.kind, staged.loses) == (K.INDEX_CHANGED, False)
    moved = only(stage.step(lambda: git(repository, "commit", "-qm", "two")))
    assert (moved.kind, moved.loses) == (K.REF_MOVED, False)
    assert moved.subject == f"{WORKSPACE}/repo@refs/heads/main"


def test_unstaging_what_the_trial_staged_is_its_own_loss(stage: Stage, repository: Path) -> None:
    (repository / "a.txt").write_text("was staged before\n")
    git(repository, "add", ".")
    stage.step()
    stage.collector.begin()
    (repository / "b.txt").write_text("b\n")
    stage.step(lambda: git(repository, "add", "b.txt"))
    own = only(stage.step(lambda: git(repository, "reset", "-q", "b.txt")))
    assert (own.loses, own.own) == (True, True)
    old = only(stage.step(lambda: git(repository, "reset", "-q")))
    assert (old.loses, old.own) == (True, False)


def test_a_checkout_swaps_committed_files_without_loss(stage: Stage, repository: Path) -> None:
    (repository / "a.txt").write_text("new\n")
    (repository / "b.txt").write_text("b\n")
    git(repository, "add", ".")
    git(repository, "commit", "-qm", "two")
    stage.step()
    effects = stage.step(lambda: git(repository, "checkout", "-q", "other"))
    assert {e.kind for e in effects} == {K.REF_MOVED, K.INDEX_CHANGED, K.FILE_MODIFIED, K.FILE_DELETED}
    assert not [e for e in effects if e.loses]


def test_a_hard_reset_loses_the_uncommitted_change(stage: Stage, repository: Path) -> None:
    (repository / "a.txt").write_text("never committed\n")
    stage.step()
    effects = stage.step(lambda: git(repository, "reset", "--hard", "-q"))
    assert [(e.kind, e.loses) for e in effects if e.kind is K.FILE_MODIFIED] == [(K.FILE_MODIFIED, True)]


def test_overwriting_a_committed_file_without_git_is_a_loss(stage: Stage, repository: Path) -> None:
    assert only(stage.step(lambda: (repository / "a.txt").write_text("x"))).loses


def test_a_hook_or_setting_of_git_is_no_bookkeeping(stage: Stage, repository: Path) -> None:
    effect = only(stage.step(lambda: (repository / ".git/hooks/pre-commit").write_text("#!/bin/sh\n")))
    assert (effect.kind, effect.weight) == (K.FILE_CREATED, Weight.MATERIAL)
    assert only(stage.step(lambda: git(repository, "config", "core.pager", "evil"))).kind is K.FILE_MODIFIED


@pytest.mark.parametrize("name", ["index.lock", "logs/taken.txt"])
def test_what_git_does_not_leave_behind_is_no_bookkeeping(stage: Stage, repository: Path, name: str) -> None:
    (repository / ".git/logs").mkdir(exist_ok=True)
    stage.step()
    effect = only(stage.step(lambda: (repository / ".git" / name).write_text("x")))
    assert (effect.kind, effect.weight) == (K.FILE_CREATED, Weight.MATERIAL)


def test_removed_objects_are_told_and_packed_ones_are_not(stage: Stage, repository: Path) -> None:
    assert stage.step(lambda: git(repository, "gc", "-q")) == ()
    effects = stage.step(lambda: shutil.rmtree(repository / ".git/objects/pack"))
    assert any(e.kind is K.FILE_DELETED and e.loses for e in effects)


def test_a_new_repository_is_one_effect_beside_its_folder(stage: Stage) -> None:
    path = stage.work / "fresh"
    path.mkdir()
    stage.step()
    effect = only(stage.step(lambda: git(path, "init", "-q")))
    assert effect.summary == f"created the git repository {WORKSPACE}/fresh"


# --- network, processes, secrets ----------------------------------------------------------------


def test_a_look_up_and_its_request_are_told_once_each(stage: Stage) -> None:
    seen = {
        "exchanges": (
            Exchange(after(), "dns", host="api.example.org.", address="10.0.2.3", port=53, note="A"),
            Exchange(after(), "dns", host="api.example.org", address="10.0.2.3", port=53, note="AAAA"),
            Exchange(
                after(3), "http", host="api.example.org", address="20.0.0.1", port=443, method="POST",
                url="https://api.example.org/v1?t=1764505485", body_digest="d", body_head="{}", body_size=2,
            ),
        ),
        "packets": (
            Packet(after(), "udp", "10.0.2.3", 53, 60),
            Packet(after(2), "tcp", "20.0.0.1", 443, 60),
            Packet(after(2), "tcp", "20.0.0.1", 443, 60),
        ),
        "events": (event("connect", address="20.0.0.1:443", at_ms=1.5),),
    }  # fmt: skip
    effects = stage.step(**seen)
    assert [e.kind for e in effects] == [K.NET_LOOKUP, K.NET_CONNECT, K.NET_REQUEST]
    lookup, connect, request = effects
    assert (lookup.subject, lookup.detail["types"]) == ("api.example.org", ["A", "AAAA"])
    assert (connect.subject, connect.detail["packets"], connect.pid) == ("api.example.org:443", 2, 4242)
    assert (request.detail["method"], request.detail["host"]) == ("POST", "api.example.org")


def test_a_packet_that_nothing_foretold_is_still_contact(stage: Stage) -> None:
    packets = (Packet(after(), "udp", "8.8.8.8", 123, 60), Packet(after(), "other", "2001:db8::1", 0, 60))
    effects = stage.step(packets=packets)
    assert [(e.kind, e.subject) for e in effects] == [
        (K.NET_DATAGRAM, "8.8.8.8:123"),
        (K.NET_DATAGRAM, "2001:db8::1"),
    ]


def test_the_own_name_and_failed_probes_are_nothing(stage: Stage) -> None:
    own = tuple(
        Exchange(after(), "dns", host=name, address=NAME_SERVER, port=53)
        for name in ("box", "localhost", "box.localdomain")
    )
    probe = event("connect", address="unix:/var/run/nscd/socket")
    packet = Packet(after(), "udp", NAME_SERVER, 53, 60)
    assert stage.step(exchanges=own, events=(probe,), packets=(packet,)) == ()


@pytest.mark.parametrize("name", ["c2VjcmV0.localhost", "box", "c2VjcmV0.127.in-addr.arpa"])
def test_an_own_name_asked_of_somebody_elses_resolver_is_contact(stage: Stage, name: str) -> None:
    query = Exchange(after(), "dns", host=name, address="8.8.8.8", port=53)
    effect = only(stage.step(exchanges=(query,), packets=(Packet(after(), "udp", "8.8.8.8", 53, 60),)))
    assert (effect.kind, effect.subject) == (K.NET_DATAGRAM, "8.8.8.8:53")


def test_data_that_only_looks_like_a_look_up_is_a_datagram(stage: Stage) -> None:
    junk = Exchange(
        after(), "dns", address="8.8.8.8", port=53, note="malformed: cut off", body_size=40, body_head="x"
    )
    reverse = Exchange(after(), "dns", host="4.4.8.8.in-addr.arpa", address="10.0.2.3", port=53)
    effects = stage.step(exchanges=(junk, reverse), packets=(Packet(after(), "udp", "8.8.8.8", 53, 60),))
    assert [(e.kind, e.subject) for e in effects] == [
        (K.NET_LOOKUP, "4.4.8.8.in-addr.arpa"),
        (K.NET_DATAGRAM, "8.8.8.8:53"),
    ]


def test_a_socket_that_was_there_before_is_ipc_and_the_servers_own_is_not(stage: Stage) -> None:
    (stage.root / "agent.sock").write_text("stands for a socket")
    stage.step()
    stage.step(lambda: (stage.root / "own.sock").write_text("made by the server"))
    calls = (
        event("connect", address=f"unix:{HOME}/agent.sock"),
        event("connect", address=f"unix:{HOME}/own.sock"),
    )
    assert [(e.kind, e.subject) for e in stage.step(events=calls)] == [(K.IPC_CONNECT, f"{HOME}/agent.sock")]


def test_listening_for_others_is_told_for_information(stage: Stage) -> None:
    calls = (
        event("bind", address="0.0.0.0:8080"),
        event("listen", at_ms=2),
        event("bind", address="127.0.0.1:9", at_ms=3),
        event("listen", at_ms=4),
        event("bind", address="0.0.0.0:0", at_ms=5),
    )
    effect = only(stage.step(events=calls))
    assert (effect.kind, effect.subject, effect.weight) == (K.NET_LISTEN, "0.0.0.0:8080", Weight.TRANSIENT)


def test_a_process_that_ran_is_transient_and_one_that_stays_is_told_as_left(stage: Stage) -> None:
    server = ProcessFact(10, 1, "/usr/bin/node", ("node", "server.js"), 0)
    stage.step(processes=(server,))
    child = ProcessFact(11, 1, "/usr/bin/sleep", ("sleep", "1000"), after(2))
    ran = event("execve", "/usr/bin/git", argv=("git", "status"))
    spawned, left = stage.step(processes=(server, child), events=(ran,))
    assert (spawned.kind, spawned.summary, spawned.weight) == (
        K.PROCESS_SPAWNED,
        "ran git status",
        Weight.TRANSIENT,
    )
    assert (left.kind, left.weight) == (K.PROCESS_LEFT, Weight.MATERIAL)
    helper = ProcessFact(12, 10, "/usr/bin/git", ("git", "cat-file", "--batch"), after(2))
    assert only(stage.step(processes=(server, child, helper))).weight is Weight.INCIDENTAL
    stage.step(processes=(server, child))
    killed = only(stage.step(processes=(server,), events=(event("kill", target="7", flags=9),)))
    assert (killed.kind, killed.weight, killed.loses, killed.own) == (
        K.PROCESS_SIGNALLED,
        Weight.MATERIAL,
        True,
        True,
    )


def test_a_server_that_ends_its_own_helper_works_as_when_it_started_it(stage: Stage) -> None:
    server = ProcessFact(10, 1, "/usr/bin/python3", ("python3", "server.py"), 0)
    helper = ProcessFact(12, 10, "/usr/bin/git", ("git", "cat-file", "--batch"), 0)
    stage.step(processes=(server, helper))
    ended = only(stage.step(processes=(server,), events=(event("kill", target="8", flags=15),)))
    assert (ended.kind, ended.weight) == (K.PROCESS_SIGNALLED, Weight.INCIDENTAL)


def test_read_secrets_and_refused_calls_are_told_once_each(stage: Stage) -> None:
    reads = (CanaryRead(after(), f"{HOME}/.netrc"), CanaryRead(after(), f"{HOME}/.netrc"))
    calls = tuple(event(name, denied=True) for name in ("mount", "mount", "io_uring_setup"))
    secret, refused = stage.step(canary_reads=reads, events=calls)
    assert (secret.kind, secret.subject) == (K.SECRET_READ, f"{HOME}/.netrc")
    assert (refused.kind, refused.detail["syscall"]) == (K.REFUSED, "mount")


def test_background_is_the_same_place_and_the_same_kind() -> None:
    def effect(kind: EffectKind, subject: str) -> Effect:
        return Effect(kind, subject, "")

    idle = [effect(K.ROW_INSERTED, "/a.db#beats[1]"), effect(K.FILE_MODIFIED, "/x")]
    marked = mark_background(
        [
            effect(K.ROW_INSERTED, "/a.db#beats[2]"),
            effect(K.ROW_DELETED, "/a.db#beats[1]"),
            effect(K.ROW_INSERTED, "/a.db#users[1]"),
            effect(K.FILE_MODIFIED, "/x"),
        ],
        idle,
    )
    assert [e.weight for e in marked] == [
        Weight.BACKGROUND,
        Weight.MATERIAL,
        Weight.MATERIAL,
        Weight.BACKGROUND,
    ]
