"""Node servers: the package that a script belongs to, and every folder that its ``require`` and ``import``
reach.

Node resolves a package by walking up from the real path of the importing file and looking into each
``node_modules`` (Node.js manual, "Loading from node_modules folders").
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from sandbox.errors import TargetNotFoundError, UsageError
from sandbox.model import Json
from sandbox.targets.boundaries import absolute, in_system, is_home, too_wide
from sandbox.targets.launch import Entry
from sandbox.targets.owncode import code_folder

NAMES = frozenset({"node", "nodejs"})
SUFFIXES = frozenset({".js", ".mjs", ".cjs"})

_FLAGS_WITH_VALUE = frozenset(
    {"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"}
)
_FLAGS_WITH_CODE = frozenset({"-e", "--eval", "-p", "--print", "-pe"})


def entry(
    program: Path, words: Sequence[str], *, cwd: Path, environ: Mapping[str, str], found: Path | None = None
) -> Entry:
    """The server in ``node WORDS``; ``found`` is a script that was started by its shebang.

    Raises UsageError where no script is named, TargetNotFoundError where it is missing.
    """
    options: list[str] = []
    rest = list(words)
    preloaded: list[Path] = []
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if option in _FLAGS_WITH_CODE:
            raise UsageError(f"{program.name} {option}: put the server into a file and name the file.")
        options.append(option)
        if option in _FLAGS_WITH_VALUE and rest:
            options.append(rest.pop(0))
            preloaded += [path for path in [absolute(options[-1], cwd)] if path.exists()]
    if not rest:
        raise UsageError(f"{program}: no script named; the program would be read from standard input.")
    named = absolute(rest[0], cwd)
    script = _script_file(named)
    if script is None:
        raise TargetNotFoundError(f"{rest[0]}: there is no such file in {cwd}.")
    package = package_root(script, environ)
    closure = [*node_closure(program, environ), *preloaded, *module_folders(script.parent)]
    closure += linked_packages(closure, environ)
    return Entry(
        argv=(str(program), *options, str(script) if found else rest[0]),
        arguments=tuple(rest[1:]),
        closure=tuple(closure),
        own=package or code_folder(script, environ),
        script=named if named.is_file() else script,
        bins=(program.parent, program.resolve().parent),
        versions=_versions(program, package),
        relative=found is None and not rest[0].startswith("/"),
    )


def node_closure(program: Path, environ: Mapping[str, str]) -> list[Path]:
    """What the node binary itself needs: its installation, or only the file where that would show a home."""
    real = program.resolve()
    prefix = real.parent.parent if real.parent.name == "bin" else real.parent
    wide = too_wide(prefix, environ) or is_home(prefix.parent, environ)
    return [program, real if wide else prefix]


def package_root(path: Path, environ: Mapping[str, str]) -> Path | None:
    """The folder of the package that a file belongs to: the nearest ``package.json`` that has a name."""
    nearest: Path | None = None
    for folder in path.parents:
        if too_wide(folder, environ) or folder.name == "node_modules":
            break
        if (folder / "package.json").is_file():
            if isinstance(manifest(folder).get("name"), str):
                return folder
            nearest = nearest or folder
    return nearest


def module_folders(start: Path) -> list[Path]:
    """Every existing ``node_modules`` that code in a folder looks into."""
    real = start.resolve()
    folders = [
        folder if folder.name == "node_modules" else folder / "node_modules"
        for folder in (real, *real.parents)
    ]
    return [folder for folder in dict.fromkeys(folders) if folder.is_dir()]


def linked_packages(shown: Iterable[Path], environ: Mapping[str, str]) -> list[Path]:
    """Packages that ``node_modules`` only links to: workspaces, npm link, pnpm's stores; with their own closure."""
    todo = [path for path in shown if path.name == "node_modules"]
    seen = set(todo)
    linked: list[Path] = []
    while todo:
        folder = todo.pop()
        for link in _package_links(folder):
            real = link.resolve()
            if not real.is_dir() or folder in real.parents or in_system(real):
                continue
            package = package_root(real / "package.json", environ)
            if package is None or package in seen:
                continue
            seen.add(package)
            linked.append(package)
            for further in module_folders(package):
                if further not in seen:
                    seen.add(further)
                    linked.append(further)
                    todo.append(further)
    return linked


def manifest(package: Path) -> Mapping[str, Json]:
    """The package.json of a folder; empty where there is none that can be read."""
    try:
        found = json.loads((package / "package.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def programs(package: Path) -> Mapping[str, Path]:
    """The commands that a package installs: name -> file (npm's ``bin`` field, string or map)."""
    return {name: package / file for name, file in bins(manifest(package)).items()}


def bins(facts: Mapping[str, Json]) -> Mapping[str, str]:
    """The commands in a package.json, each with its file's path in the package."""
    name, found = facts.get("name"), facts.get("bin")
    if isinstance(found, str) and isinstance(name, str):
        found = {name.rpartition("/")[2]: found}
    if not isinstance(found, dict):
        return {}
    return {name: file for name, file in found.items() if isinstance(file, str)}


def installed(modules: Path) -> Iterator[Path]:
    """The packages directly in a ``node_modules`` folder, scoped ones too."""
    for child in sorted(modules.iterdir()) if modules.is_dir() else ():
        if child.name.startswith("@") and child.is_dir():
            yield from sorted(child.iterdir())
        elif not child.name.startswith("."):
            yield child


def _package_links(modules: Path) -> Iterator[Path]:
    return (package for package in installed(modules) if package.is_symlink())


def _script_file(named: Path) -> Path | None:
    """The file that ``node NAMED`` loads: itself, with a suffix, or the main file of a folder."""
    if named.is_dir():
        main = manifest(named).get("main")
        return _script_file(named / (main if isinstance(main, str) else "index.js"))
    candidates = (named, named.with_name(f"{named.name}.js"))
    return next((path.resolve() for path in candidates if path.is_file()), None)


def _versions(program: Path, package: Path | None) -> Mapping[str, str]:
    versions: dict[str, str] = {}
    header = program.resolve().parent.parent / "include" / "node" / "node_version.h"
    if header.is_file():
        numbers = dict(re.findall(r"#define NODE_(MAJOR|MINOR|PATCH)_VERSION (\d+)", header.read_text()))
        versions["node"] = ".".join(numbers.get(part, "?") for part in ("MAJOR", "MINOR", "PATCH"))
    if package is not None:
        facts = manifest(package)
        name, version = facts.get("name"), facts.get("version")
        if isinstance(name, str) and isinstance(version, str):
            versions[name] = version
    return versions


def cache_folder(environ: Mapping[str, str]) -> Path | None:
    """Where npm keeps its cache (config ``cache``), and under it ``_npx``."""
    named = _npm_setting("cache", environ)
    if named:
        return Path(named)
    return Path(environ["HOME"], ".npm") if environ.get("HOME") else None


def global_modules(node: Path | None, environ: Mapping[str, str]) -> list[Path]:
    """The ``node_modules`` folders of ``npm install -g``: the configured prefix, or node's own."""
    prefixes = [Path(named) for named in [_npm_setting("prefix", environ)] if named]
    if node is not None:
        prefixes.append(node.resolve().parent.parent)
    return [folder for prefix in prefixes if (folder := prefix / "lib" / "node_modules").is_dir()]


def _npm_setting(name: str, environ: Mapping[str, str]) -> str:
    for variable in (f"npm_config_{name}", f"NPM_CONFIG_{name.upper()}"):
        if environ.get(variable):
            return environ[variable]
    settings = Path(environ.get("HOME", os.devnull), ".npmrc")
    if settings.is_file():
        found = re.search(
            rf"^\s*{name}\s*=\s*(.+?)\s*$", settings.read_text("utf-8", "replace"), re.MULTILINE
        )
        if found:
            return re.sub(r"\$\{(\w+)\}", lambda match: environ.get(match[1], ""), found[1]).replace(
                "~", environ.get("HOME", "~"), 1
            )
    return ""
