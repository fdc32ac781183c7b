"""What earlier calls taught: names, ids and paths that exist now, kept by the name they were told under.

Only accepted replies teach, and only text and JSON are read, both bounded: the server is not trusted to be
brief.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from sandbox.arguments.intent import Intent, intent_of, nouns_of
from sandbox.arguments.schema import sendable, type_of, types_of
from sandbox.arguments.words import singulars, words_of
from sandbox.model import Call, Json, Outcome, Reply
from sandbox.workspace import Column

_MAX_TEXT = 64 * 1024
_MAX_NODES = 2_000
_MAX_DEPTH = 12
_MAX_NAMES = 256
_MAX_VALUES = 24
_MAX_LENGTH = 300
_GENERIC = frozenset(
    {"name", "id", "key", "title", "identifier", "path", "uri", "url", "handle", "token", "uuid", "slug"}
)
_TOLD = re.compile(
    r"""\b(?P<name>[A-Za-z][\w .-]{0,30}?)["'`*]{0,3}\s*(?:[:=]|\bis\b)\s*["'`*]{0,3}(?P<value>[^\s"'`,;*<>{}\[\]()]{1,200})"""
)
_NUMBERED = re.compile(
    r"\b(?P<name>pid|id|session|job|task|process)\s+#?(?P<value>\d{1,12})\b", re.IGNORECASE
)
_MADE = re.compile(
    r"\b(?:created|added|saved|stored|registered|started|opened|wrote|inserted)\s+(?:a |an |the |new )*"
    r"(?P<name>[a-z][\w-]{1,24})\s+[\"'`]?(?P<value>[^\s\"'`,;:]{1,200})",
    re.IGNORECASE,
)
_TABLE = re.compile(
    r"\bCREATE\s+TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?[\"`\[]?(\w{1,64})[\"`\]]?\s*\((.{1,2000})\)", re.I | re.S
)
_MAKERS = frozenset({Intent.CREATE, Intent.WRITE, Intent.COPY, Intent.MOVE})


class Learned:
    """Values by the words they were told under, newest first; tables created by SQL; both bounded."""

    def __init__(self) -> None:
        self._values: dict[tuple[str, ...], list[Json]] = {}
        self.tables: dict[str, tuple[Column, ...]] = {}

    def absorb(self, call: Call, reply: Reply) -> None:
        """Learn from one call and its reply; a reply that was not accepted teaches nothing."""
        if reply.outcome is not Outcome.ACCEPTED:
            return
        if intent_of(call.tool, "") in _MAKERS:
            self._walk(dict(call.arguments), tuple(sorted(nouns_of(call.tool)))[:1])
        for text in _strings(call.arguments):
            self._learn_tables(text)
        raw = reply.raw or {}
        if isinstance(structured := raw.get("structuredContent"), dict | list):
            self._walk(structured, ())
        for text in [*_texts(raw), reply.text]:
            self._learn_text(text[:_MAX_TEXT])

    def values_for(self, name: str, schema: Mapping[str, Json] | None = None, about: str = "") -> list[Json]:
        """What a field may hold, best match first, then newest first.

        ``about`` is what is known of the thing that the field names (its parent, its description). A plain
        ``id`` matches any id; ``entityName`` the names of entities, then any name. Values of another JSON
        type than ``schema`` asks for are left out; a number told as text is turned into one.
        """
        wanted = singulars(words_of(name))
        if not wanted:
            return []
        context = frozenset(singulars(words_of(about)))
        ranked = [(self._closeness(wanted, context, words), words) for words in self._values]
        found: list[Json] = []
        for closeness, words in sorted(ranked, key=lambda one: -one[0]):
            if closeness > 0:
                found += [value for value in self._values[words] if value not in found]
        kinds = types_of(schema) if schema else ()
        fitted: list[Json] = []
        for value in found[:_MAX_VALUES]:
            if (fit := _fit(value, kinds)) is not None:
                fitted.append(fit)
        return fitted

    @staticmethod
    def _closeness(wanted: tuple[str, ...], context: frozenset[str], words: tuple[str, ...]) -> int:
        if wanted == words:
            return 100
        if wanted[-1] == words[-1] and len(wanted) > 1 and set(wanted) <= set(words) | context:
            return 80
        shared = len((set(wanted) | context) & set(words) - _GENERIC)
        if wanted[-1] in _GENERIC and wanted[-1] == words[-1]:
            return 40 + shared * 5 if shared or len(wanted) == 1 else 10
        if wanted[-1] not in _GENERIC and wanted[-1] in words and words[-1] in _GENERIC | {wanted[-1]}:
            # ``files`` are told as paths of files, ``table`` as names of tables.
            return 30 + shared
        return 0

    def _put(self, words: tuple[str, ...], value: Json) -> None:
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return
        if isinstance(value, str) and not (0 < len(value) <= _MAX_LENGTH and value.isprintable()):
            return
        if not words or not sendable(value):
            return
        words = tuple(dict.fromkeys(singulars(words)))[-4:]
        if words not in self._values and len(self._values) >= _MAX_NAMES:
            del self._values[next(iter(self._values))]
        kept = self._values.setdefault(words, [])
        if value in kept:
            kept.remove(value)
        kept.insert(0, value)
        del kept[_MAX_VALUES:]

    def _walk(self, value: Json, above: tuple[str, ...]) -> None:
        left = _MAX_NODES
        waiting: list[tuple[tuple[str, ...], Json, int]] = [(above, value, 0)]
        while waiting and left > 0:
            words, node, depth = waiting.pop()
            left -= 1
            if depth > _MAX_DEPTH:
                continue
            if isinstance(node, dict):
                for key, inner in reversed(node.items()):
                    own = words_of(key)
                    waiting.append((words[-2:] + own if len(own) < 3 else own, inner, depth + 1))
            elif isinstance(node, list):
                waiting.extend((words, inner, depth + 1) for inner in reversed(node[:_MAX_NODES]))
            else:
                self._put(words, node)

    def _learn_text(self, text: str) -> None:
        stripped = text.strip()
        if stripped.startswith(("{", "[")):
            try:
                self._walk(json.loads(stripped), ())
                return
            except (ValueError, RecursionError):
                pass
        lines = text.splitlines()[:400]
        for line in reversed(lines):
            for expression in (_MADE, _NUMBERED, _TOLD):
                for found in expression.finditer(line[:400]):
                    words = words_of(found["name"])[-3:]
                    if expression is not _TOLD:
                        self._put(
                            (*words, "id") if expression is _NUMBERED and words[-1:] != ("id",) else words,
                            found["value"],
                        )
                    if expression is _NUMBERED or (words and words[-1] in _GENERIC):
                        self._put(words, found["value"].rstrip("."))

    def _learn_tables(self, text: str) -> None:
        for found in _TABLE.finditer(text[:_MAX_TEXT]):
            columns = [part.split() for part in found[2].split(",")]
            self.tables.pop(found[1], None)
            self.tables = {found[1]: tuple(_column(words) for words in columns if words), **self.tables}
            self._put(("table", "name"), found[1])
            while len(self.tables) > _MAX_VALUES:
                self.tables.popitem()


def _column(words: list[str]) -> Column:
    kind = words[1].upper() if len(words) > 1 else ""
    return Column(words[0].strip('"`[]'), kind, "PRIMARY" in (word.upper() for word in words))


def _fit(value: Json, kinds: tuple[str, ...]) -> Json:
    if not kinds or type_of(value) in kinds or (type_of(value) == "integer" and "number" in kinds):
        return value
    if (
        isinstance(value, str)
        and value.isdecimal()
        and len(value) < 16
        and {"integer", "number"} & set(kinds)
    ):
        return int(value)
    if isinstance(value, int | float) and "string" in kinds:
        return str(value)
    return None


def _texts(raw: Mapping[str, Json]) -> Iterator[str]:
    content = raw.get("content")
    for block in content[:32] if isinstance(content, list) else []:
        if isinstance(block, dict):
            if isinstance(text := block.get("text"), str):
                yield text
            if isinstance(uri := block.get("uri"), str):
                yield json.dumps({"uri": uri})


def _strings(arguments: Mapping[str, Json]) -> Iterator[str]:
    return (value for value in arguments.values() if isinstance(value, str))
