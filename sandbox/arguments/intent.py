"""What a tool says that it does, told by the verbs in its name and description.

Only used to choose arguments that a call is likely to be accepted with; it decides no verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from sandbox.arguments.words import singulars, words_of


class Intent(Enum):
    """The one thing that a tool mainly does."""

    READ = "read"
    LIST = "list"
    SEARCH = "search"
    CREATE = "create"
    WRITE = "write"
    EDIT = "edit"
    DELETE = "delete"
    MOVE = "move"
    COPY = "copy"
    OTHER = "other"


_VERBS: Mapping[str, Intent] = {
    verb: intent
    for intent, verbs in {
        Intent.READ: "read get show view cat open load describe inspect stat info head tail check validate parse analyze preview fetch retrieve display print diff blame summarize count compare extract return shows reads gets returns",
        Intent.LIST: "list ls dir tree browse enumerate lists",
        Intent.SEARCH: "search find grep lookup locate match searches finds",
        Intent.CREATE: "create add new make mkdir init initialize insert register touch generate start begin open_new upload creates adds",
        Intent.WRITE: "write save put store export dump overwrite append set writes saves",
        Intent.EDIT: "edit update modify replace patch change alter edits updates replaces format fix refactor",
        Intent.DELETE: "delete remove drop rm unlink clear purge erase trash destroy deletes removes uninstall",
        Intent.MOVE: "move rename mv moves renames",
        Intent.COPY: "copy cp duplicate clone copies",
    }.items()
    for verb in verbs.split()
}
_FOLDERS = frozenset({"directory", "folder", "dir", "mkdir", "tree", "workspace", "ls"})
_IMAGES = frozenset(
    {"image", "media", "picture", "photo", "screenshot", "png", "jpg", "jpeg", "icon", "thumbnail"}
)


def intent_of(name: str, description: str) -> Intent:
    """The tool's intent: the first verb in its name; else the first among the first words of its description."""
    for word in words_of(name):
        if word in _VERBS:
            return _VERBS[word]
    for word in words_of(description)[:8]:
        if word in _VERBS:
            return _VERBS[word]
    return Intent.OTHER


def intent_of_value(value: object) -> Intent | None:
    """What a value such as ``create`` of a parameter named ``action`` or ``mode`` makes the tool do, or None."""
    if not isinstance(value, str):
        return None
    return next((_VERBS[word] for word in words_of(value) if word in _VERBS), None)


def nouns_of(name: str) -> frozenset[str]:
    """The singular words of a tool's name that are no verbs: the things it works on."""
    return frozenset(word for word in singulars(words_of(name)) if word not in _VERBS)


def about_folders(name: str, description: str) -> bool:
    """Whether the tool works on folders rather than on files."""
    words = set(singulars(words_of(name)))
    if words & _FOLDERS:
        return True
    first = description.partition(".")[0].lower()
    return "file" not in words and ("director" in first or "folder" in first) and "file" not in first


def about_images(name: str, description: str) -> bool:
    """Whether the tool works on pictures."""
    return bool(set(singulars(words_of(name)) + singulars(words_of(description.partition(".")[0]))) & _IMAGES)
