"""The Pythons of this machine, and which of them a package asks for (``Requires-Python``)."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_ASK_S = 60.0

_SPECIFIER = re.compile(r"\s*(~=|===?|!=|<=|>=|<|>)\s*v?(\d+(?:\.\d+)*)(\.\*)?\S*\s*")


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter by its absolute path; ``version`` is such as (3, 11, 7)."""

    program: str
    version: tuple[int, ...]

    @property
    def spelled(self) -> str:
        """The version as people write it."""
        return ".".join(map(str, self.version))


def own_python() -> Python:
    """The interpreter that hintproof itself runs on, outside of any virtual environment."""
    program = getattr(sys, "_base_executable", "") or sys.executable
    return Python(str(Path(program).resolve()), tuple(sys.version_info[:3]))


def pythons(uv: str, environ: Mapping[str, str]) -> tuple[Python, ...]:
    """The interpreters of this machine that uv finds, hintproof's own first, then the newest first. None is
    downloaded."""
    try:
        asked = subprocess.run(
            [uv, "python", "list", "--only-installed", "--no-config", "--output-format", "json", "--offline"],
            cwd="/",
            env=dict(environ),
            capture_output=True,
            timeout=_ASK_S,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        listed = json.loads(asked.stdout)
        found = {
            str(Path(each["path"]).resolve()): tuple(map(int, re.findall(r"\d+", each["version"])[:3]))
            for each in listed
            if each.get("implementation") == "cpython" and re.fullmatch(r"[\d.]+", each["version"])
        }
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        found = {}
    own = own_python()
    rest = [
        Python(path, version) for path, version in found.items() if path != own.program and version >= (3, 8)
    ]
    return (own, *sorted(rest, key=lambda each: each.version, reverse=True))


def satisfies(version: tuple[int, ...], wanted: str) -> bool:
    """Whether a version of Python fits version specifiers (PEP 440) such as ``>=3.10,<4``; what cannot be read fits."""
    for part in filter(str.strip, wanted.split(",")):
        found = _SPECIFIER.fullmatch(part)
        if found is not None and not _fits(
            version, found[1], tuple(map(int, found[2].split("."))), bool(found[3])
        ):
            return False
    return True


def _fits(version: tuple[int, ...], operator: str, asked: tuple[int, ...], prefix: bool) -> bool:
    width = max(len(version), len(asked))
    mine, theirs = (each + (0,) * (width - len(each)) for each in (version, asked))
    same = version[: len(asked)] == asked if prefix else mine == theirs
    match operator:
        case "==" | "===":
            return same
        case "!=":
            return not same
        case "~=":
            return mine >= theirs and version[: len(asked) - 1] == asked[:-1]
        case ">=":
            return mine >= theirs
        case "<=":
            return mine <= theirs
        case ">":
            return mine > theirs
        case _:
            return mine < theirs
