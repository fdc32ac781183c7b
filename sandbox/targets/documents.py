"""Files that name servers, read as what they are: text of strangers.

JSON with comments and trailing commas, as editors write it, bounded in size and depth; keys that stand twice are
refused, because programs differ in which of the two they take.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from io import BufferedReader
from pathlib import Path

from sandbox.errors import ConfigError, TargetNotFoundError
from sandbox.model import Json

MOST_BYTES = 4 << 20
"""No file that names servers is longer, in bytes."""

MOST_WORD = 128 << 10
"""The longest word or variable that Linux hands to a program, in bytes (MAX_ARG_STRLEN)."""

# Possessive, and closed by the end of the text: neither an open string nor an open comment is scanned twice.
_STRING = r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)'
_COMMENTS = re.compile(rf"(?s){_STRING}|//[^\n]*+|/\*(?:.*?\*/|.*\Z)")
_COMMAS = re.compile(rf"(?s){_STRING}|,(?=[ \t\r\n]*+[}}\]])")


def read_file(path: Path, most: int = MOST_BYTES) -> bytes:
    """The content of a regular file of at most ``most`` bytes; a FIFO or a device is never waited for.

    Raises TargetNotFoundError where it cannot be read, ConfigError where it is longer.
    """
    with open_regular(path) as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ConfigError(f"{path}: longer than {most >> 20} MB, so it names no servers.")
    return content


def open_regular(path: Path) -> BufferedReader:
    """A regular file, open. Raises TargetNotFoundError for anything else; a FIFO is never waited for."""
    try:
        # A Windows client reads such files too.
        opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise TargetNotFoundError(f"{path}: cannot be read ({error.strerror}).") from error
    file = open(opened, "rb")  # noqa: SIM115 - the caller closes it
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        file.close()
        raise TargetNotFoundError(f"{path}: is no regular file.")
    return file


def read_json(content: bytes, where: str) -> Json:
    """The value that the text is, with comments and trailing commas allowed. Raises ConfigError with the line."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{where}: not text in UTF-8 (byte {error.start}).") from error
    plain = _COMMENTS.sub(_blanked, text)
    plain = _COMMAS.sub(lambda match: " " if match[0] == "," else match[0], plain)
    try:
        value: Json = json.loads(plain, object_pairs_hook=_each_once, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{where}:{error.lineno}:{error.colno}: not JSON: {error.msg}.") from error
    except ValueError as error:  # of the hooks, or a number with thousands of digits
        raise ConfigError(f"{where}: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{where}: nested too deeply.") from error
    return value


def _blanked(match: re.Match[str]) -> str:
    """A comment as blanks, so that lines and columns stay where they are; a string as it is."""
    return match[0] if match[0][0] == '"' else re.sub(r"[^\n]", " ", match[0])


def _each_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(
                f"{key[:80]!r} stands twice in one object, and programs differ in which they take. Remove one."
            )
        found[key] = value
    return found


def _refuse(name: str) -> Json:
    raise ValueError(f"{name} is no number of JSON.")


class Fields:
    """One object of a file: its fields under any of the names they have had, and complaints that say where.

    ``where`` is the file and the way to the object, such as ``server.json: packages[0]``.
    """

    def __init__(self, value: Json, where: str) -> None:
        if not isinstance(value, dict):
            raise ConfigError(f"{where}: an object is needed, not {_kind(value)}.")
        self.value: Mapping[str, Json] = value
        self.where = where

    def get(self, *names: str) -> Json:
        """The first field of these that is there and not null; camelCase names are looked up as snake_case too."""
        for name in names:
            for spelled in (name, re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()):
                if self.value.get(spelled) is not None:
                    return self.value[spelled]
        return None

    def text(self, *names: str) -> str:
        """A text, "" where there is none; numbers and booleans as JSON writes them."""
        value = self.get(*names)
        if value is None:
            return ""
        return self._text(value, names[0])

    def true(self, *names: str) -> bool:
        """Whether a field is true."""
        return self.get(*names) is True

    def texts(self, *names: str) -> tuple[str, ...]:
        """A list of texts, () where there is none."""
        return tuple(
            self._text(item, f"{names[0]}[{at}]")
            for at, item in enumerate(self._list(self.get(*names), names[0]))
        )

    def objects(self, *names: str) -> Iterator[Fields]:
        """A list of objects."""
        for at, item in enumerate(self._list(self.get(*names), names[0])):
            yield Fields(item, f"{self.where}.{names[0]}[{at}]")

    def table(self, *names: str) -> Mapping[str, Json]:
        """An object, {} where there is none."""
        value = self.get(*names)
        return {} if value is None else Fields(value, f"{self.where}.{names[0]}").value

    def variables(self, *names: str) -> dict[str, str]:
        """A table of texts; one that is null is not set."""
        return {
            name: self._text(value, f"{names[0]}.{name}")
            for name, value in self.table(*names).items()
            if value is not None
        }

    def _list(self, value: Json, name: str) -> list[Json]:
        if value is None:
            return []
        if not isinstance(value, list):
            raise ConfigError(f"{self.where}.{name}: a list is needed, not {_kind(value)}.")
        return value

    def _text(self, value: Json, name: str) -> str:
        if isinstance(value, (dict, list)):
            raise ConfigError(f"{self.where}.{name[:80]}: a text is needed, not {_kind(value)}.")
        text = value if isinstance(value, str) else json.dumps(value)
        return checked(text, f"{self.where}.{name[:80]}")


def checked(text: str, where: str) -> str:
    """A text that can be a word of a command line or a variable. Raises ConfigError for a NUL, and where too long."""
    if "\0" in text:
        raise ConfigError(f"{where}: holds a NUL, which no command line and no variable can.")
    size = len(text.encode("utf-8", "replace"))
    if size >= MOST_WORD:
        raise ConfigError(f"{where}: longer than {MOST_WORD >> 10} KB, which no program can be given.")
    if any(0xD800 <= ord(letter) <= 0xDFFF for letter in text):
        raise ConfigError(f"{where}: holds half a character (a lone surrogate).")
    return text


def _kind(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true or false"
        case str():
            return "a text"
        case list():
            return "a list"
        case dict():
            return "an object"
    return "a number"
