"""Whether a new file is a store that holds nothing yet: a schema without rows, a document without values.

What a store keeps about itself (its version, its migrations, the bookkeeping of a search index) is nothing.
"""

from __future__ import annotations

import json
import re
from typing import Any

from sandbox.effects.readers.reading import UnreadableError
from sandbox.effects.readers.sqlite import Database, load
from sandbox.effects.readers.wal import MAGIC

_ABOUT_ITSELF = re.compile(
    r"(?:^|[_$.-])(?:schema|migrations?|versions?|meta|metadata)(?:[_.-]|$)", re.IGNORECASE
)
_OF_AN_INDEX = ("_data", "_config", "_node")
"""Tables that SQLite fills beside a new and empty virtual table (fts5, section 4; rtree, section 2)."""


def holds_nothing(content: bytes, wal: bytes = b"") -> bool:
    """Whether new content, of a database with its write-ahead log, tells nothing but its own form."""
    if not content.strip():
        return True
    try:
        if content.startswith(MAGIC):
            return _has_no_rows(load(content, wal))
        return content.lstrip()[:1] in (b"{", b"[") and _has_no_text(json.loads(content.decode("utf-8-sig")))
    except (UnreadableError, ValueError, RecursionError):
        return False


def _has_no_rows(database: Database) -> bool:
    virtual = [
        name
        for (kind, name), sql in database.schema.items()
        if kind == "table" and sql.lstrip().upper().startswith("CREATE VIRTUAL")
    ]
    of_an_index = {name + end for name in virtual for end in _OF_AN_INDEX}
    return not any(
        table.rows
        for name, table in database.tables.items()
        if name not in of_an_index and not _ABOUT_ITSELF.search(name)
    )


def _has_no_text(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_ABOUT_ITSELF.search(key) or _has_no_text(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(map(_has_no_text, value))
    return not isinstance(value, str) or not value
