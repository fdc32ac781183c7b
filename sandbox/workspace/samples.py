"""The sample files that every workspace holds, so that even an empty folder gives accepted calls.

The texts are small, plain and full of the same few words, so that a search for ``alpha`` finds something
everywhere.
"""

from __future__ import annotations

import base64
import struct
import zlib
from functools import cache

from sandbox.model import SeedEntry
from sandbox.workspace.databases import make_database
from sandbox.workspace.office import document, spreadsheet
from sandbox.workspace.repository import sample_repository

_TEXTS = {
    "notes.txt": "alpha\nbeta\ngamma\n",
    "letter.txt": "Dear reader,\n\nthis letter mentions alpha and omega.\n\nKind regards\n",
    "README.md": "# Sample workspace\n\nAn overview of **alpha**.\n\n## Usage\n\n- first item\n- second item\n",
    "docs/guide.md": "# Guide\n\nHow to use alpha, step by step.\n",
    "docs/chapters/one.txt": "Chapter one begins with alpha.\n",
    "src/app.py": 'def greet(name):\n    """Greet someone."""\n    return "Hello, " + name\n\n\nprint(greet("alpha"))\n',
    "src/helper.js": "export function alpha(value) {\n  return value + 1;\n}\n",
    "data/config.json": '{\n  "name": "alpha",\n  "enabled": true,\n  "limits": {"items": 10}\n}\n',
    "data/people.json": '[\n  {"id": 1, "name": "Ada", "email": "ada@example.com"},\n'
    '  {"id": 2, "name": "Bob", "email": "bob@example.com"}\n]\n',
    "data/events.jsonl": '{"id": 1, "event": "start"}\n{"id": 2, "event": "stop"}\n',
    "data/people.csv": "id,name,email\n1,Ada,ada@example.com\n2,Bob,bob@example.com\n",
    "data/settings.yaml": "name: alpha\nitems:\n  - one\n  - two\n",
}

_SCRIPT = """
CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT, age INTEGER);
INSERT INTO people VALUES (1, 'Ada', 'ada@example.com', 36), (2, 'Bob', 'bob@example.com', 41);
CREATE TABLE orders (id INTEGER PRIMARY KEY, person_id INTEGER REFERENCES people (id), item TEXT, price REAL);
INSERT INTO orders VALUES (1, 1, 'book', 12.5), (2, 2, 'lamp', 30.0), (3, 1, 'pen', 1.2);
"""


def sample_tree(at: str, *, repository: bool) -> list[SeedEntry]:
    """The samples as seeds below the folder ``at``, itself included, parents before children.

    ``repository`` adds the git repository ``project/``. Equal on every machine with one SQLite version.
    """
    contents = {name: text.encode() for name, text in _TEXTS.items()}
    contents |= {
        "media/picture.png": png(),
        "media/picture.jpg": jpeg(),
        "data/blob.bin": bytes(range(256)),
        "data/sample.db": make_database(_SCRIPT),
        "data/table.xlsx": spreadsheet(),
        "docs/document.docx": document(),
    }
    folders = {at, *(f"{at}/{name}" for name in ("docs", "docs/chapters", "src", "data", "media", "empty"))}
    return (
        [SeedEntry(path, "dir", 0o755) for path in sorted(folders)]
        + [SeedEntry(f"{at}/{name}", "file", 0o644, content) for name, content in sorted(contents.items())]
        + (sample_repository(f"{at}/project") if repository else [])
    )


@cache
def png() -> bytes:
    """A valid image of 8 by 8 pixels in one colour (PNG specification, sections 5 and 11)."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = (b"\0" + b"\x33\x66\x99" * 8) * 8
    header = struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows, 0))
        + chunk(b"IEND", b"")
    )


def png_base64() -> str:
    """The same image, encoded for a JSON argument."""
    return base64.b64encode(png()).decode()


@cache
def jpeg() -> bytes:
    """A valid grey baseline image of 8 by 8 pixels: one block whose coefficients are all zero (ITU-T T.81, annex B)."""

    def segment(marker: int, body: bytes) -> bytes:
        return struct.pack(">BBH", 0xFF, marker, len(body) + 2) + body

    one_code = bytes([1, *[0] * 15, 0])
    return (
        b"\xff\xd8"
        + segment(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0")
        + segment(0xDB, b"\0" + b"\1" * 64)
        + segment(0xC0, struct.pack(">BHHBBBB", 8, 8, 8, 1, 1, 0x11, 0))
        + segment(0xC4, b"\x00" + one_code)
        + segment(0xC4, b"\x10" + one_code)
        + segment(0xDA, b"\1\1\0\0\x3f\0")
        + b"\x3f\xff\xd9"
    )
