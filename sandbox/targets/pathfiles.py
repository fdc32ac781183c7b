"""What the files of a site-packages folder say about code that lies elsewhere: ``.pth``, editable installs."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

_MAPPING = re.compile(r"^(?:MAPPING|NAMESPACES)(?:\s*:[^=]*)?\s*=\s*(\{.*\})\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class LinkedCode:
    """``paths`` to import from or read, ``projects`` the folders of editable installs, ``names`` the modules
    they map.

    ``opaque`` says that some ``.pth`` file runs an import hook that only running it could explain.
    """

    paths: tuple[Path, ...]
    projects: tuple[Path, ...]
    names: frozenset[str]
    opaque: bool


def read_pyvenv(path: Path) -> Mapping[str, str]:
    """The keys of a ``pyvenv.cfg``, lower case (PEP 405)."""
    pairs = (line.partition("=") for line in path.read_text("utf-8", "replace").splitlines())
    return {key.strip().lower(): value.strip() for key, equals, value in pairs if equals}


@cache
def linked_code(site: Path) -> LinkedCode:
    """Everything that a site-packages folder links to (site module; setuptools' editable finders; PEP 610)."""
    paths: list[Path] = []
    names: set[str] = set()
    opaque = False
    for file in sorted(site.glob("*.pth")):
        for line in file.read_text("utf-8", "replace").splitlines():
            text = line.strip()
            if text.startswith(("import ", "import\t")):
                finder = re.search(r"import\s+(__editable___\w+_finder)", text)
                mapping = _mapping(site / f"{finder[1]}.py") if finder else None
                names |= set(mapping or {})
                paths += (mapping or {}).values()
                opaque |= finder is not None and mapping is None
            elif text and not text.startswith("#"):
                paths.append(site / text)
    projects = tuple(_editable_projects(site))
    existing = tuple(dict.fromkeys(path for path in (*paths, *projects) if path.exists()))
    return LinkedCode(existing, projects, frozenset(names), opaque)


def holds(site: Path, module: str) -> bool:
    """Whether a top-level module can be imported from a site-packages folder."""
    linked = linked_code(site)
    return module in linked.names or any(
        (folder / module).is_dir() or any(folder.glob(f"{module}.*")) for folder in (site, *linked.paths)
    )


def distribution_version(site: Path, name: str) -> str:
    """The installed version of a distribution, "" where it is not there (PEP 503 names, PEP 427 folders)."""
    wanted = normalized(name)
    for folder in site.glob("*.dist-info"):
        found, _, version = folder.name.removesuffix(".dist-info").partition("-")
        if normalized(found) == wanted:
            return version
    return ""


def normalized(name: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _mapping(finder: Path) -> dict[str, Path] | None:
    if not finder.is_file():
        return None
    mapping: dict[str, Path] = {}
    for literal in _MAPPING.findall(finder.read_text("utf-8", "replace")):
        try:
            found = ast.literal_eval(literal)
        except (ValueError, SyntaxError):
            return None
        for name, places in found.items():
            for place in [places] if isinstance(places, str) else places:
                mapping[str(name).partition(".")[0]] = Path(place)
    return mapping


def _editable_projects(site: Path) -> Iterator[Path]:
    for file in sorted(site.glob("*.dist-info/direct_url.json")):
        try:
            record = json.loads(file.read_bytes())
            editable = record["dir_info"]["editable"]
            url = urlsplit(record["url"])
        except (ValueError, KeyError, TypeError):  # a record of another kind, or not PEP 610 at all
            continue
        folder = Path(unquote(url.path))
        if editable and url.scheme == "file" and folder.is_dir():
            yield folder
