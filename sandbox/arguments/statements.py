"""SQL statements and names of tables and columns, taken from databases that exist."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sandbox.arguments.scene import Aim, Field, Scene
from sandbox.arguments.words import words_of
from sandbox.workspace import Column

_SQL = re.compile(
    r"\b(sql|select|insert|sqlite|database|postgres|mysql|duckdb|create table|alter table)\b", re.IGNORECASE
)
_RUNS = frozenset({"read", "write", "execute", "run", "select"})
_SAFE = re.compile(r"\w{1,64}")


def is_statement(field: Field, scene: Scene) -> bool:
    """Whether the field takes an SQL statement."""
    tool = set(words_of(scene.tool.name))
    if field.has("sql") or (field.words == ("query",) and "query" in tool and tool & _RUNS):
        return True
    return (
        field.head in {"query", "statement"}
        and _SQL.search(f"{field.description} {scene.tool.description[:300]}") is not None
    )


def statement_aims(field: Field, scene: Scene) -> list[Aim]:
    """Statements of the sort that the tool says it runs, over a real table; a reader gets writing ones as well, last."""
    table, columns = _table(scene)
    creation = Aim(
        f"CREATE TABLE IF NOT EXISTS {scene.fresh(field, joint='_')} (id INTEGER PRIMARY KEY, name TEXT)",
        "creates a new table",
    )
    sort = _sort(field, scene)
    if sort == "create":
        return [creation]
    if not table:
        look = Aim("SELECT name FROM sqlite_master", "reads the list of tables")
        return (
            [creation]
            if sort in {"write", "alter", "drop"}
            else [look, Aim("SELECT 1", "reads nothing", "constant")]
        )
    name = next(
        (column.name for column in columns if not column.generated), columns[0].name if columns else "id"
    )
    insert = _insert(table, columns, scene)
    update = f"UPDATE {table} SET {name} = {_literal(name, columns, scene.turn)}"
    if sort == "alter":
        return [Aim(f"ALTER TABLE {table} ADD COLUMN {scene.fresh(field, joint='_')} TEXT", "adds a column")]
    if sort == "drop":
        return [Aim(f"DROP TABLE {table}", "drops a table")]
    if sort == "write":
        return [
            Aim(insert, f"inserts into {table}"),
            Aim(f"{update} WHERE rowid = 1", f"updates {table}", "update"),
            Aim(f"DELETE FROM {table} WHERE rowid = 1", f"deletes from {table}", "delete"),
        ]
    return [
        Aim(f"SELECT * FROM {table} LIMIT 5", f"reads {table}"),
        # What a check of the first word lets through.
        Aim(insert, f"inserts into {table}", "insert"),
        Aim(
            f"WITH one AS (SELECT 1) DELETE FROM {table} WHERE rowid = 1",
            f"deletes from {table} behind WITH",
            "delete behind WITH",
        ),
    ]


def table_aims(field: Field, scene: Scene) -> list[Aim]:
    """Names of tables, or of a table's columns."""
    table, columns = _table(scene)
    if field.has("column", "field"):
        return [Aim(column.name, f"a column of {table}") for column in columns[scene.turn :][:1]]
    if scene.nouns & {"table"} and scene.intent.value == "create":
        return [Aim(scene.fresh(field, joint="_"), "a new table")]
    return [Aim(table, "an existing table")] if table else []


def is_table(field: Field) -> bool:
    """Whether the field names a table or a column of one."""
    if field.words in {("table",), ("table", "name"), ("tablename",)}:
        return True
    return field.head == "column" and field.beside("table")


def tables(scene: Scene) -> Mapping[str, tuple[Column, ...]]:
    """The tables that the tool can reach, those created by earlier calls first.

    A server that was given a database of its own sees no other, unless the tool takes a database as an
    argument.
    """
    here = scene.surroundings
    properties = scene.tool.input_schema.get("properties")
    takes_one = isinstance(properties, dict) and any(
        {"db", "database"} & set(words_of(name)) for name in list(properties)[:200]
    )
    known = [
        database
        for database in here.databases
        if takes_one or here.given in {"", here.workspace, database.path}
    ]
    return {**scene.learned.tables, **(known[0].tables if known else {})}


def _table(scene: Scene) -> tuple[str, tuple[Column, ...]]:
    usable = [(name, columns) for name, columns in tables(scene).items() if _SAFE.fullmatch(name)]
    return usable[scene.turn % len(usable)] if usable else ("", ())


def _sort(field: Field, scene: Scene) -> str:
    """``create``, ``alter``, ``drop``, ``write`` or ``read``, as the name says, then the field, then the
    tool's description."""
    verbs = (
        ("create", r"\bcreate\b"),
        ("alter", r"\balter\b"),
        ("drop", r"\bdrop\b"),
        ("read", r"\b(read|select|get|export|explain|fetch)\b"),
        ("write", r"\b(write|insert|update|delete|execute|modify|run)\b"),
    )
    for text in (" ".join(words_of(scene.tool.name)), field.description, scene.tool.description[:1_000]):
        found = [
            (match.start(), sort)
            for sort, expression in verbs
            if (match := re.search(expression, text, re.IGNORECASE))
        ]
        if found:
            first = min(found)[1]
            # "Execute a SELECT query" reads; "run any SQL" is tried with a reading statement first.
            executes = re.search(r"\b(execute|run)\b", text, re.IGNORECASE) and not re.search(
                r"\b(insert|update|delete|write)\b", text, re.IGNORECASE
            )
            return "read" if first == "write" and executes else first
    return "read"


def _insert(table: str, columns: tuple[Column, ...], scene: Scene) -> str:
    given = [column for column in columns if not column.generated and _SAFE.fullmatch(column.name)]
    if not given:
        return f"INSERT INTO {table} DEFAULT VALUES"
    values = ", ".join(_literal(column.name, columns, scene.turn) for column in given)
    return f"INSERT INTO {table} ({', '.join(column.name for column in given)}) VALUES ({values})"


def _literal(name: str, columns: tuple[Column, ...], turn: int) -> str:
    kind = next((column.type for column in columns if column.name == name), "TEXT")
    if re.search(r"INT|REAL|FLOA|DOUB|NUM|DEC|BOOL", kind):
        return str(turn + 1)
    return "'sample'" if not turn else "'second'"
