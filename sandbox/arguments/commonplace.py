"""What a field most likely means, told by the words of its name alone.

The tables are keyed by singulars. Two values each: the second serves a second set of values. The last word of
a name weighs most (``source_timezone`` is a time zone), so names are looked up from their end. Times that a
call would wait are kept short.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, TypeVar

from sandbox.arguments.words import singular
from sandbox.workspace import png_base64

Pair: TypeAlias = "tuple[str, str]"
Numbers: TypeAlias = "tuple[float, float]"
Entry = TypeVar("Entry")

_HTML = "<!doctype html><html><body><p>alpha</p></body></html>"
_TEXT = ("Hello from a sample call.", "A second sample text.")

TEXTS: Mapping[str, Pair] = {
    singular(name): pair
    for names, pair in {
        "timezone tz": ("Europe/Berlin", "Asia/Tokyo"),
        "time clock": ("10:30", "18:00"),
        "date day since until before after start_date end_date": ("2024-01-15", "2024-06-30"),
        "datetime timestamp": ("2024-01-15T10:30:00Z", "2024-06-30T18:00:00Z"),
        "email mail recipient": ("ada@example.com", "bob@example.com"),
        "url uri link href endpoint website homepage webhook": (
            "https://example.com/",
            "https://example.org/page",
        ),
        "host hostname domain server": ("example.com", "example.org"),
        "ip address": ("192.0.2.1", "192.0.2.2"),
        "query question search keyword keywords term q topic": ("alpha", "beta"),
        "pattern": ("alpha", "beta"),
        "glob mask": ("*.txt", "*.md"),
        "regex regexp": ("[a-z]+", "alpha"),
        "cron schedule crontab": ("0 9 * * 1", "30 18 * * *"),
        "rrule recurrence": ("FREQ=DAILY;COUNT=2", "FREQ=WEEKLY;COUNT=2"),
        "command cmd shell": ("echo hello", "echo again"),
        "arg args argument": ("hello", "again"),
        "code snippet": ("print('hello')", "print(1 + 1)"),
        "script function": ("() => 1", "() => 2"),
        "expression formula math": ("1 + 1", "2 * 3"),
        "language lang": ("en", "de"),
        "locale": ("en-US", "de-DE"),
        "country": ("US", "DE"),
        "currency": ("USD", "EUR"),
        "city location place": ("Berlin", "Tokyo"),
        "symbol ticker": ("AAPL", "MSFT"),
        "color colour": ("#336699", "#993366"),
        "phone": ("+15550100", "+15550101"),
        "encoding charset": ("utf-8", "ascii"),
        "version": ("1.0.0", "1.1.0"),
        "selector": ("body", "p"),
        "xpath": ("//body", "//p"),
        "jsonpath": ("$", "$.name"),
        "mime mimetype": ("text/plain", "text/markdown"),
        "extension ext": ("txt", "md"),
        "html": (_HTML, "<p>beta</p>"),
        "markdown md": ("# Alpha\n\nSome text.\n", "# Beta\n\nMore text.\n"),
        "xml": ("<root><item>alpha</item></root>", "<root/>"),
        "svg": ('<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>', "<svg/>"),
        "json payload": ('{"name": "alpha"}', '{"name": "beta"}'),
        "yaml": ("name: alpha\n", "name: beta\n"),
        "csv": ("id,name\n1,alpha\n", "id,name\n2,beta\n"),
        "mermaid diagram": ("graph TD; A-->B", "graph LR; B-->C"),
        "base64 image": (png_base64(), png_base64()),
        "uuid guid": ("6f1b3e2a-9c4d-4f58-8a7e-2b1c3d4e5f60", "0d9c8b7a-6f5e-4d3c-9b2a-1f0e9d8c7b6a"),
        "user username author assignee owner member": ("ada", "bob"),
        "password passphrase": ("correct horse battery", "staple battery horse"),
        "tag tags label labels category": ("alpha", "beta"),
        "sheet worksheet": ("Sheet1", "Sheet1"),
        "cell": ("A1", "B2"),
        "range": ("A1:B2", "A1:A2"),
        "title subject headline heading": ("A sample title", "Another title"),
        "name": ("sample", "second-sample"),
        "id identifier": ("1", "2"),
        "key field property attribute": ("name", "id"),
        "value": ("alpha", "beta"),
        "where condition": ("id = 1", "id = 2"),
        "order sort": ("name", "id"),
        "column columns": ("name", "id"),
        "type kind": ("sample", "other"),
        "namespace group scope channel": ("sample", "other"),
        "content contents text body message note comment description summary thought prompt reason": _TEXT,
        "observation insight data input line paragraph sentence answer instruction instructions": _TEXT,
    }.items()
    for name in names.split()
}

NUMBERS: Mapping[str, Numbers] = {
    singular(name): pair
    for names, pair in {
        "limit count max size top take maximum lines": (2, 5),
        "page": (1, 2),
        "offset skip start cursor index position": (0, 1),
        "line row column number": (1, 2),
        "depth level levels": (1, 2),
        "duration delay wait sleep interval seconds steps step iterations repeat": (1, 2),
        "milliseconds ms": (100, 200),
        "timeout": (5, 10),
        "ttl expire expiry expires": (60, 120),
        "length tokens characters chars bytes": (100, 200),
        "port": (8080, 8081),
        "width height": (320, 240),
        "x y": (10, 20),
        "year": (2024, 2023),
        "month day": (1, 2),
        "hour": (10, 18),
        "minute": (30, 15),
        "latitude lat": (52.5, 35.7),
        "longitude lon lng": (13.4, 139.7),
        "percent percentage quality": (50, 75),
        "temperature threshold score ratio probability": (0.5, 0.8),
        "scale zoom factor": (1, 2),
        "amount price total quantity": (1, 2),
        "priority": (1, 2),
        "timestamp": (1_705_314_600, 1_719_770_400),
    }.items()
    for name in names.split()
}


def look_up(words: tuple[str, ...], table: Mapping[str, Entry]) -> tuple[str, Entry] | None:
    """The entry of the last word that the table knows, with that word; the whole name, joined, comes first."""
    for word in ("".join(words), *reversed(words)):
        if word in table:
            return word, table[word]
    return None
