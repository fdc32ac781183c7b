"""SQLite databases: rows by key, and the schema. The image is opened from memory; nothing in it can run or reach out."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sandbox.effects.readers.reading import Meaning, Reading, UnreadableError, bounded
from sandbox.effects.readers.values import follows_addition, overwrites, shown, varies_only
from sandbox.effects.readers.wal import database_image
from sandbox.effects.volatile import mask
from sandbox.model import EffectKind, Json

MAX_ROWS = 50_000
"""Rows read of one table; a larger table is beyond what is compared by row."""

_SECONDS = 3.0
_READS = frozenset({sqlite3.SQLITE_READ, sqlite3.SQLITE_SELECT})
_UNSAFE_FUNCTIONS = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """One table: the names of its key (``rowid`` where it declares none), its columns, and its rows by key."""

    key: tuple[str, ...]
    columns: tuple[str, ...]
    rows: dict[Row, Row]


@dataclass(frozen=True, slots=True)
class Database:
    """Everything of a database that has a meaning: its schema by (type, name), its tables by name."""

    schema: dict[tuple[str, str], str]
    tables: dict[str, Table]


def read_sqlite(before: tuple[bytes, bytes], after: tuple[bytes, bytes]) -> Reading:
    """Compare two pairs of (database, write-ahead log).

    Raises:
        UnreadableError: one of them is no database, is damaged, or is too large to read by row.
    """
    old, new = load(*before), load(*after)
    meanings = _schema_changes(old, new)
    for name in sorted(old.tables.keys() & new.tables.keys()):
        meanings += _row_changes(name, old.tables[name], new.tables[name])
    return bounded("sqlite", _with_followers(meanings))


@lru_cache(maxsize=2)
def load(database: bytes, wal: bytes) -> Database:
    """Read one image into memory, or have it ready: what is after one step is before the next. Raises UnreadableError."""
    if not database:
        return Database({}, {})
    image = database_image(database, wal)
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.deserialize(image)
        return _load(connection)
    except (sqlite3.Error, ValueError, OverflowError, MemoryError) as error:
        raise UnreadableError(f"SQLite: {error}") from error
    finally:
        connection.close()


def _load(connection: sqlite3.Connection) -> Database:
    deadline = time.monotonic() + _SECONDS
    connection.set_progress_handler(lambda: int(time.monotonic() > deadline), 10_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 64 << 20)
    # A schema may name functions in generated columns; none that has an effect may be called from there.
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA cell_size_check=ON")
    connection.execute("PRAGMA query_only=ON")
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    connection.set_authorizer(_authorize)
    schema: dict[tuple[str, str], str] = {}
    tables: dict[str, Table] = {}
    for kind, name, sql in connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall():
        if not isinstance(name, str) or name.startswith("sqlite_"):
            continue  # SQLite's own: sequences and statistics follow what the tables say
        schema[str(kind), name] = sql if isinstance(sql, str) else ""
        virtual = str(sql).lstrip().upper().startswith("CREATE VIRTUAL")
        if kind == "table" and not virtual:
            tables[name] = _table(connection, name)
    return Database(schema, tables)


def _authorize(
    action: int, first: str | None, _second: str | None, _base: str | None, _by: str | None
) -> int:
    if action in _READS or (action == sqlite3.SQLITE_PRAGMA and first == "table_info"):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _table(connection: sqlite3.Connection, name: str) -> Table:
    quoted = '"' + name.replace('"', '""') + '"'
    info = connection.execute(f"PRAGMA table_info({quoted})").fetchall()
    columns = tuple(row[1] for row in info)
    key = tuple(row[1] for row in sorted(info, key=lambda row: row[5]) if row[5])
    listed = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
    if key:
        places = [columns.index(column) for column in key]
        cursor = connection.execute(f"SELECT {listed} FROM {quoted}")
        pairs = ((tuple(row[i] for i in places), row) for row in cursor)
    else:
        cursor = connection.execute(f"SELECT rowid, {listed} FROM {quoted}")
        pairs = ((row[:1], row[1:]) for row in cursor)
    rows: dict[Row, Row] = {}
    for identity, row in pairs:
        if len(rows) >= MAX_ROWS:
            raise UnreadableError(f"SQLite: {name} has more than {MAX_ROWS} rows")
        rows[identity] = row
    return Table(key or ("rowid",), columns, rows)


def _schema_changes(old: Database, new: Database) -> list[Meaning]:
    changes = []
    for kind, name in sorted(old.schema.keys() | new.schema.keys()):
        was, now = old.schema.get((kind, name)), new.schema.get((kind, name))
        if was == now:
            continue
        if now is None:
            rows = len(old.tables[name].rows) if name in old.tables else 0
            says, loses = f"dropped the {kind} {name}" + (f" with {rows} rows" if rows else ""), True
        elif was is None:
            rows = len(new.tables[name].rows) if name in new.tables else 0
            says, loses = f"created the {kind} {name}" + (f" with {rows} rows" if rows else ""), False
        else:
            says = f"altered the {kind} {name}"
            loses = not (
                name in new.tables and set(old.tables[name].columns) <= set(new.tables[name].columns)
            )
        detail: dict[str, Json] = {"before": was and shown(was, 1000), "after": now and shown(now, 1000)}
        if was is None:
            detail["empty"] = not rows
        changes.append(
            Meaning(EffectKind.SCHEMA_CHANGED, name, says, loses, pattern=mask(says), detail=detail)
        )
    return changes


def _row_changes(name: str, old: Table, new: Table) -> list[Meaning]:
    if old.rows == new.rows and old.columns == new.columns:
        return []
    was, now = old.rows, new.rows
    if old.key == new.key == ("rowid",):
        # A vacuum hands out new rowids where no column is one: rows that only moved have not changed.
        was, now = _unmatched(was, now), _unmatched(now, was)
    changes = [_deleted(name, old, key) for key in sorted(was.keys() - now.keys(), key=repr)]
    for key in sorted(was.keys() & now.keys(), key=repr):
        if not _same(was[key], now[key]) and (change := _updated(name, old, new, key)):
            changes.append(change)
    return changes + [_inserted(name, new, key) for key in sorted(now.keys() - was.keys(), key=repr)]


def _same(old: Row, new: Row) -> bool:
    # 1 and 1.0 and True compare equal in Python but are different values of a column.
    return old == new and all(type(a) is type(b) for a, b in zip(old, new, strict=True))


def _unmatched(rows: dict[Row, Row], others: dict[Row, Row]) -> dict[Row, Row]:
    """The rows that have no equal among ``others``: first under their own key, then under any."""
    left = {key: row for key, row in rows.items() if others.get(key) != row}
    spare = Counter(row for key, row in others.items() if rows.get(key) != row)
    unmatched = {}
    for key, row in left.items():
        if spare[row] > 0:
            spare[row] -= 1
        else:
            unmatched[key] = row
    return unmatched


def _key_text(key: Row) -> str:
    return ",".join(shown(part, 60) for part in key)


def _deleted(name: str, table: Table, key: Row) -> Meaning:
    where = f"{name}[{_key_text(key)}]"
    says = f"deleted the row {_key_text(key)} of {name}"
    row = _row(table, table.rows[key])
    return Meaning(EffectKind.ROW_DELETED, where, says, True, pattern=mask(says), detail={"before": row})


def _inserted(name: str, table: Table, key: Row) -> Meaning:
    where = f"{name}[{_key_text(key)}]"
    row = _row(table, table.rows[key])
    pattern = mask(f"insert {name} {sorted(row.items())}")
    says = f"inserted the row {_key_text(key)} into {name}"
    return Meaning(EffectKind.ROW_INSERTED, where, says, pattern=pattern, detail={"after": row})


def _updated(name: str, old: Table, new: Table, key: Row) -> Meaning | None:
    was = dict(zip(old.columns, old.rows[key], strict=True))
    now = dict(zip(new.columns, new.rows[key], strict=True))
    changed = [c for c in now if c in was and not _same((was[c],), (now[c],))]
    if not changed:
        return None  # a column was added or dropped: the schema tells
    says = f"changed {', '.join(changed[:5])} of the row {_key_text(key)} of {name}"
    follows = all(follows_addition(c, was[c], now[c]) for c in changed)
    detail: dict[str, Json] = {
        "before": {c: shown(was[c]) for c in changed},
        "after": {c: shown(now[c]) for c in changed},
        "follows": follows,
    }
    return Meaning(
        EffectKind.ROW_UPDATED,
        f"{name}[{_key_text(key)}]",
        says,
        any(overwrites(was[c], now[c]) for c in changed),
        volatile=all(varies_only(was[c], now[c]) for c in changed),
        pattern=mask(f"{says} {[shown(now[c]) for c in changed]}"),
        detail=detail,
    )


def _row(table: Table, row: Row) -> dict[str, Json]:
    return {column: shown(value) for column, value in zip(table.columns, row, strict=True)}


def _with_followers(meanings: list[Meaning]) -> list[Meaning]:
    """Counters and times that moved beside an addition are not losses."""
    added = any(m.kind is EffectKind.ROW_INSERTED for m in meanings)
    return [
        Meaning(m.kind, m.where, m.says, False, m.volatile, m.pattern, m.sure, m.detail)
        if added and m.kind is EffectKind.ROW_UPDATED and m.detail.get("follows")
        else m
        for m in meanings
    ]
