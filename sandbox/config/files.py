"""Settings files: where they are, and on which line each key stands, so that an error can point at it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import ConfigError

OWN_NAME = "hintproof.toml"
SHARED_NAME = "pyproject.toml"

_TABLE = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """One settings file: ``values`` is hintproof's own table, ``lines`` the line (from 1) of each dotted key
    in it.

    The tables of an array are counted: ``allow.0.reason``.
    """

    path: Path
    values: Mapping[str, object]
    lines: Mapping[str, int]

    def where(self, key: str) -> str:
        """``FILE:LINE`` of a key, or of the nearest table around it that has a line of its own."""
        while key and key not in self.lines:
            key = key.rpartition(".")[0]
        return f"{self.path}:{self.lines[key]}" if key else str(self.path)


def find_settings_file(start: Path) -> SettingsFile | None:
    """The nearest ``hintproof.toml``, or ``pyproject.toml`` with a ``[tool.hintproof]`` table, from a folder
    upward.

    The search ends at the root of the repository (a folder with ``.git``), or with the file system. Raises
    ConfigError when a file cannot be read or is not TOML, or when one folder holds settings in both files.
    """
    for folder in (start, *start.parents):
        found = [
            file
            for name in (OWN_NAME, SHARED_NAME)
            if (folder / name).is_file()
            for file in [read_settings_file(folder / name)]
            if file is not None
        ]
        if len(found) == 2:
            raise ConfigError(
                f"{found[0].path} and [tool.hintproof] in {found[1].path}: keep the settings in one of them."
            )
        if found:
            return found[0]
        if (folder / ".git").exists():
            return None
    return None


def read_settings_file(path: Path) -> SettingsFile | None:
    """Read one file; None for a ``pyproject.toml`` without our table. Raises ConfigError as above."""
    try:
        text = path.read_text("utf-8")
        document = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from error
    if path.name != SHARED_NAME:
        return SettingsFile(path, document, _lines(text, ""))
    tool = document.get("tool")
    table = tool.get("hintproof") if isinstance(tool, dict) else None
    if table is None:
        return None
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: tool.hintproof must be a table.")
    return SettingsFile(path, table, _lines(text, "tool.hintproof"))


def _lines(text: str, prefix: str) -> Mapping[str, int]:
    """The line of every key and table header below ``prefix``; tomllib itself keeps no positions."""
    lines: dict[str, int] = {}
    counts: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        header, pair = _TABLE.match(line), _KEY.match(line)
        if header is not None:
            table = _plain(header[2])
            if header[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = f"{table}.{counts[table]}"
            full = table
        elif pair is not None:
            full = ".".join(part for part in (table, _plain(pair[1])) if part)
        else:
            continue
        if not prefix:
            lines.setdefault(full, number)
        elif full == prefix or full.startswith(f"{prefix}."):
            lines.setdefault(full[len(prefix) + 1 :], number)
    return lines


def _plain(key: str) -> str:
    return ".".join(part.strip().strip("\"'") for part in key.split("."))
