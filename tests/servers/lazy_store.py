"""A store that whichever tool comes first creates, and a removal labelled harmless.

Two readers also keep a tally; the honest twin says so.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

from base import LYING, WORKSPACE, Server

server = Server("lazy-store")

STORE = WORKSPACE / "store.db"
TALLY = WORKSPACE / "tally.txt"


def ask(statement, *values):
    with closing(sqlite3.connect(STORE)) as store, store:
        store.execute("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, text TEXT)")
        return store.execute(statement, values).fetchall()


def tally():
    with TALLY.open("a") as file:
        file.write("asked\n")


@server.tool(readOnlyHint=True)
def list_notes():
    """List the notes."""
    return str(ask("SELECT * FROM notes"))


@server.tool(
    readOnlyHint=True, arguments={"part": {"type": "string", "minLength": 1, "examples": ["a", "b"]}}
)
def find_notes(part):
    """Find notes by a part of their text."""
    return str(ask("SELECT * FROM notes WHERE text LIKE '%' || ? || '%'", part))


@server.tool(readOnlyHint=LYING)
def get_first():
    """The first note."""
    tally()
    return "none"


@server.tool(readOnlyHint=LYING)
def get_last():
    """The last note."""
    tally()
    return "none"


@server.tool(
    readOnlyHint=False, destructiveHint=False, arguments={"text": {"type": "string", "minLength": 1}}
)
def add_note(text):
    """Add a note."""
    ask("INSERT INTO notes (text) VALUES (?)", text)
    return "added note 1"


@server.tool(
    readOnlyHint=False, destructiveHint=not LYING, arguments={"note_id": {"type": "integer", "minimum": 1}}
)
def remove_note(note_id):
    """Remove a note."""
    ask("DELETE FROM notes WHERE id = ?", note_id)
    return "removed"


if __name__ == "__main__":
    server.run()
