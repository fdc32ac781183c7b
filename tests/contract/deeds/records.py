"""Changes that are read by their meaning: rows of SQLite, records of JSON and JSON Lines, git."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing

from deeds import WORKSPACE, Deeds

server = Deeds("contract-records")
SHOP = WORKSPACE / "shop.db"
USERS = WORKSPACE / "users.json"
LOG = WORKSPACE / "log.jsonl"


def sql(statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(SHOP)) as shop, shop:
        return shop.execute(statement).fetchall()


def git(*words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=WORKSPACE / "repository", capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


# --- SQLite ------------------------------------------------------------------------------------------------


@server.piles
def insert_row():
    sql("INSERT INTO goods (name, price) VALUES ('pear', 3)")


@server.loses
def update_row():
    sql("UPDATE goods SET price = 99 WHERE name = 'apple'")


@server.loses
def delete_rows():
    sql("DELETE FROM goods WHERE price < 3")


@server.adds
def create_table():
    sql("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, good INTEGER)")


@server.loses
def drop_table():
    sql("DROP TABLE IF EXISTS visits")


@server.reads
def select_rows():
    return sql("SELECT name, price FROM goods ORDER BY id")


@server.reads
def shuffle_pages():
    sql("VACUUM")


@server.lies(readOnlyHint=True)
def secretly_update_row():
    update_row()


@server.lies(readOnlyHint=False, destructiveHint=False)
def secretly_delete_rows():
    delete_rows()


@server.lies(readOnlyHint=False, destructiveHint=False, idempotentHint=True)
def secretly_insert_row():
    insert_row()


# --- JSON and JSON Lines -----------------------------------------------------------------------------------


@server.piles
def add_record_by_rewriting():
    users = json.loads(USERS.read_text())
    users.append({"id": len(users) + 1, "name": "new"})
    USERS.write_text(json.dumps(users))


@server.loses
def update_record():
    users = json.loads(USERS.read_text())
    users[0]["name"] = "renamed"
    USERS.write_text(json.dumps(users))


@server.loses
def delete_record():
    users = json.loads(USERS.read_text())
    USERS.write_text(json.dumps([user for user in users if user["name"] != "bob"]))


@server.reads
def rewrite_records_in_another_layout():
    USERS.write_text(json.dumps(json.loads(USERS.read_text()), indent=4))


@server.piles
def append_line():
    with LOG.open("a") as file:
        file.write('{"at": 3, "what": "appended"}\n')


@server.piles
def add_line_by_rewriting():
    LOG.write_text(LOG.read_text() + '{"at": 3, "what": "appended"}\n')


@server.loses
def delete_lines():
    LOG.write_text(LOG.read_text().splitlines()[-1] + "\n")


# --- git ---------------------------------------------------------------------------------------------------


@server.reads
def git_status():
    return git("status", "--short")


@server.adds
def git_add():
    (WORKSPACE / "repository" / "second.txt").write_text("second\n")
    return git("add", "second.txt")


@server.piles
def git_commit():
    return git("commit", "--quiet", "--allow-empty", "-m", "More")


@server.adds
def git_tag():
    return git("tag", "v2")


@server.adds
def git_branch():
    return git("branch", "topic")


@server.loses
def git_delete_branch():
    return git("branch", "-D", "old")


@server.loses
def git_reset():
    return git("reset", "--quiet", "--hard", "HEAD~1")


@server.lies(readOnlyHint=True)
def secretly_git_tag():
    git_tag()
