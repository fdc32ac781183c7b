"""SQLite databases: made for the samples, and read without touching a file.

A database is read from a copy in memory. A write-ahead log beside it is merged in first, because a server
that was just stopped often left all of its tables there (https://www.sqlite.org/fileformat2.html, section 4).
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterable, Mapping
from contextlib import closing

from sandbox.workspace.surroundings import Column

MAGIC = b"SQLite format 3\0"
_MAX_TABLES = 64
_MAX_STEPS = 1_000


def make_database(script: str) -> bytes:
    """The bytes of a database file made by an SQL script. Equal scripts give equal bytes on one SQLite version."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(script)
        connection.commit()
        return connection.serialize()


def read_tables(content: bytes, wal: bytes = b"") -> Mapping[str, tuple[Column, ...]]:
    """The tables of a database file and their columns, in the order of their creation.

    ``wal`` is the content of the ``-wal`` file beside it. A damaged or encrypted file has no tables. Reading
    stops after a bounded amount of work: the file may have been made to make it long.
    """
    merged = bytearray(_merge(content, wal))
    if merged[:16] != MAGIC:
        return {}
    # A copy in memory has no log beside it, and SQLite refuses to open one that says it has.
    merged[18:20] = b"\1\1"
    try:
        with closing(sqlite3.connect(":memory:")) as connection:
            connection.deserialize(bytes(merged))
            steps = iter(range(_MAX_STEPS))
            connection.set_progress_handler(lambda: next(steps, None) is None, 1_000)
            names = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
                f" ORDER BY rowid LIMIT {_MAX_TABLES}"
            ).fetchall()
            tables = {
                str(name): _columns(
                    connection.execute("SELECT * FROM pragma_table_info(?)", (name,)).fetchall()
                )
                for (name,) in names
            }
    except (sqlite3.Error, UnicodeDecodeError):
        return {}
    return {name: columns for name, columns in tables.items() if columns}


def _columns(rows: Iterable[tuple[object, ...]]) -> tuple[Column, ...]:
    found = list(rows)
    keys = sum(1 for row in found if row[5])
    return tuple(
        # A lone INTEGER PRIMARY KEY is an alias of the rowid, which SQLite fills in.
        Column(
            str(row[1]), str(row[2]).upper(), bool(row[5]) and keys == 1 and str(row[2]).upper() == "INTEGER"
        )
        for row in found
    )


def _merge(content: bytes, wal: bytes) -> bytes:
    if len(wal) < 32 or wal[:4] not in {b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83"}:
        return content
    (page_size,) = struct.unpack(">I", wal[8:12])
    if not 512 <= page_size <= 65_536:
        return content
    salts = wal[16:24]
    pages = bytearray(content)
    pending: dict[int, bytes] = {}
    for at in range(32, len(wal) - page_size - 23, page_size + 24):
        number, committed = struct.unpack(">II", wal[at : at + 8])
        if wal[at + 8 : at + 16] != salts or number == 0:
            break
        pending[number] = wal[at + 24 : at + 24 + page_size]
        if not committed:
            continue
        if committed * page_size > len(content) + len(wal):
            break
        pages.extend(bytes(max(0, committed * page_size - len(pages))))
        for page, body in pending.items():
            if page <= committed:
                pages[(page - 1) * page_size : page * page_size] = body
        del pages[committed * page_size :]
        pending.clear()
    return bytes(pages)
