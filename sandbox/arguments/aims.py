"""What one field may hold, best first: the rules that aim a call at being accepted.

Sources in their order: what exists around the server, what earlier calls taught, values spelled out in the
description, the field's format, its name. (What the schema itself gives, a default or an example, comes
before all of these: see ``build``.)
"""

from __future__ import annotations

import re

from sandbox.arguments.commonplace import NUMBERS, TEXTS, look_up
from sandbox.arguments.described import examples_in
from sandbox.arguments.formats import FORMATS
from sandbox.arguments.gitwords import git_aims
from sandbox.arguments.intent import Intent
from sandbox.arguments.places import is_place, place_aims, text_file
from sandbox.arguments.scene import Aim, Field, Scene
from sandbox.arguments.statements import is_statement, is_table, statement_aims, table_aims
from sandbox.arguments.words import one_line
from sandbox.model import Json

_IDENTITIES = frozenset(
    {"name", "title", "key", "slug", "id", "identifier", "uuid", "handle", "token", "uri", "pid"}
)
_NAMES = frozenset({"name", "title", "key", "slug"})
_SECOND = frozenset({"to", "target", "second", "b", "end", "other", "destination", "child"})
_OLD = frozenset({"old", "find", "search", "needle", "original", "before", "from"})
_NEW = frozenset({"new", "replacement", "replace", "repl", "after"})
_EDITED = _OLD - {"from"} | _NEW | {"text", "string", "str", "content", "line", "code"}
_WAITS = frozenset("duration delay wait sleep interval second step millisecond ms iteration repeat".split())
_OF_THING = re.compile(
    r"\b(name|id|identifier|key|title|path|uri|handle)s? of (?:the |an? |this |existing )*([a-z]+)",
    re.IGNORECASE,
)
_THING_NAMES = re.compile(r"\b([a-z]+) (names?|ids?|identifiers?|keys?|titles?|handles?)\b", re.IGNORECASE)
_DATA_URI = "data:text/plain;base64,aGVsbG8="


def string_aims(field: Field, scene: Scene) -> list[Aim]:
    """Texts for a field, best first; at least one. Aims with equal tags are alternatives of no interest of their own."""
    around = _around(field, scene)
    if around:
        return around
    if identity := _identity(field, scene):
        return identity
    found: list[Aim] = []
    if field.says(r"\bdata:? ?ur[il]"):
        found.append(Aim(_DATA_URI, "a data: URI", "data URI"))
    found += _described(field, scene)
    if (form := field.node.get("format")) in FORMATS:
        found.append(Aim(FORMATS[str(form)][scene.turn % 2], f"format {form}"))
    if field.head not in TEXTS:
        found += _learned(field, scene)
    if (known := look_up(_plain_words(field), TEXTS)) is not None:
        found.append(Aim(_dressed(field, known[1][scene.turn % 2]), f"a usual {known[0]}"))
    found.append(Aim(("sample", "second sample")[scene.turn % 2], "plain text"))
    return found


def number_aims(field: Field, scene: Scene) -> list[Aim]:
    """Numbers for a field, best first; at least one."""
    found: list[Aim] = []
    if field.head in _IDENTITIES or field.says(r"\bid\b|\bidentifier\b|\bPID\b"):
        found += _learned(field, scene)
    known = look_up(_plain_words(field), NUMBERS)
    if known is not None:
        value = known[1][scene.turn % 2]
        if field.has("timeout", "wait", "delay", "duration", "interval") and (
            field.has("ms", "millisecond") or field.says(r"\bmilliseconds|\bms\b")
        ):
            value = 1_000 if field.has("timeout") else 100
        found.append(Aim(_whole(value), f"a small {known[0]}"))
    found.append(Aim(scene.turn + (2 if field.words[-1:] == ("b",) else 1), "a small number"))
    return found


def is_wait(field: Field) -> bool:
    """Whether a number makes the call last longer, so that a small one is better than the schema's default."""
    return bool(_WAITS & set(field.words))


def boolean_aim(field: Field) -> Aim:
    """The value of a required switch: yes to what must be confirmed, else no."""
    if field.has("confirm", "confirmed", "yes", "accept", "acknowledge", "approve", "agree", "consent"):
        return Aim(True, "confirmed")
    return Aim(False, "off")


def _around(field: Field, scene: Scene) -> list[Aim]:
    """What exists around the server: text to edit, statements, tables, places, git names."""
    if edit := _edited_text(field, scene):
        return edit
    if is_statement(field, scene):
        return statement_aims(field, scene)
    if is_table(field) and (found := table_aims(field, scene)):
        return found
    remote = field.beside("owner", "organization", "org") and field.has("repo", "repository")
    if "format" not in field.node and not remote and is_place(field, scene):
        places = place_aims(field, scene)
        if field.words == ("repo",):
            places = [*_learned(field, scene), *places]
        return places
    if (repo := scene.repository) is not None:
        return git_aims(field, scene, repo)
    return []


def _edited_text(field: Field, scene: Scene) -> list[Aim]:
    words = set(field.words)
    if (
        scene.intent not in {Intent.EDIT, Intent.OTHER}
        or not words & (_OLD | _NEW)
        or field.head not in _EDITED
    ):
        return []
    paired = field.beside("new", "replacement", "replace", "repl", "text", "string") or field.beside(
        "old", "find", "search", "needle"
    )
    if words & _OLD and paired:
        file = text_file(scene)
        return [Aim(file.line, f"text of {file.path}")] if file is not None and file.line else []
    if words & _NEW and paired:
        return [Aim(("sample text", "second sample text")[scene.turn % 2], "new text")]
    return []


def _identity(field: Field, scene: Scene) -> list[Aim]:
    """A name or id: a new one for what the tool creates, else one that earlier calls told."""
    told = _OF_THING.search(field.description) and len(field.words) < 3 and "format" not in field.node
    if field.head not in _IDENTITIES and not told:
        return []
    learned = _learned(field, scene)
    own = set(field.words) - _IDENTITIES - {"new"}
    things = scene.nouns | set(Field(field.parent, "", "", (), {}).words)
    creates = scene.intent in {Intent.CREATE, Intent.WRITE} and own <= things
    if field.head in _NAMES and (creates or field.has("new")):
        existing = [Aim(aim.value, aim.why, "existing") for aim in learned[:1]]
        if described := _described(field, scene):
            return [*described, *existing]
        known = TEXTS["title"][scene.turn % 2] if field.head == "title" else scene.fresh(field)
        return [Aim(known, "a new name"), *existing]
    return learned


def _learned(field: Field, scene: Scene) -> list[Aim]:
    about = f"{field.parent} {' '.join(sorted(scene.nouns))}"
    names = [field.name]
    if found := _OF_THING.search(field.description):
        names.append(f"{found[2]}_{found[1]}")
    elif found := _THING_NAMES.search(field.description):
        names.append(f"{found[1]}_{found[2]}")
    values: list[Json] = []
    for name in names:
        values += [
            value for value in scene.learned.values_for(name, field.node, about) if value not in values
        ]
    if not values:
        return []
    index = scene.turn + bool(_SECOND & set(field.words))
    return [Aim(values[min(index, len(values) - 1)], "learned from an earlier call")]


def _described(field: Field, scene: Scene) -> list[Aim]:
    examples = examples_in(field.description)
    if field.head in {"content", "body"} and not field.node.get("format"):
        return []
    short = [value for value in examples if len(value) <= 24 and " " not in value]
    listed = len(short) >= 2 and len(short) == len(examples)
    first = scene.turn % len(examples) if examples else 0
    ordered = examples[first:] + examples[:first]
    return [
        Aim(value, f"the description's example {one_line(value, 40)}", value if listed and index else "")
        for index, value in enumerate(ordered)
    ]


def _plain_words(field: Field) -> tuple[str, ...]:
    words = field.words
    if field.says(r"\bHH:MM\b"):
        return (*words, "time")
    if field.says(r"\bIANA\b|\btime ?zone\b") and not field.says(r"\bregardless\b"):
        return (*words, "timezone")
    if field.says(r"\b(glob|wildcard)\b") or (field.head == "pattern" and field.says(r"\*")):
        return (*words, "glob")
    if field.head == "input" and field.says(r"\bjson\b"):
        return (*words, "json")
    return words if words else ()


def _dressed(field: Field, value: str) -> str:
    """Text in the form that the description asks for."""
    if field.head in {"content", "contents", "text", "body", "data", "input"}:
        for form, entry in (
            ("JSON", "json"),
            ("HTML", "html"),
            ("XML", "xml"),
            ("YAML", "yaml"),
            ("CSV", "csv"),
            ("Mermaid", "mermaid"),
            ("base64", "base64"),
        ):
            if re.search(rf"\b{form}\b", field.description, re.IGNORECASE):
                return TEXTS[entry][0]
    return value


def _whole(value: float) -> Json:
    return int(value) if float(value).is_integer() else value
