"""A folder with a server's source, such as a checkout: which command starts it, and what it still lacks.

Nothing is installed or built here: that would run the project's own scripts.
"""

from __future__ import annotations

import dataclasses
import os
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sandbox.errors import ConfigError, UsageError
from sandbox.model import Json
from sandbox.targets.bundles import MANIFEST, is_manifest, read_manifest
from sandbox.targets.documents import Fields, read_file, read_json
from sandbox.targets.orders import Given, Order

PACKAGE_JSON = "package.json"
PYPROJECT = "pyproject.toml"

_SERVER_WORD = re.compile(r"(^|[-_.])(mcp|server)([-_.]|$)", re.IGNORECASE)
_START = re.compile(r"(?:[A-Z_]+=\S+ )*node ((?:--?[\w=.-]+ )*)([\w./@-]+)((?: [\w./=@:-]+)*)")
"""A start script that only runs node; anything more is a line of shell."""

_OTHERS = {"Cargo.toml": "Rust", "go.mod": "Go", "pom.xml": "Java", "build.gradle": "Java", "Gemfile": "Ruby"}
_PYTHON_FILES = ("server.py", "main.py", "src/server.py", "src/main.py", "app.py")
_MOST_MEMBERS = 200


def read_checkout(folder: Path, words: tuple[str, ...], *, environ: Mapping[str, str], given: Given) -> Order:
    """The server that a folder holds.

    What is missing (packages, a build, an environment) is the order's ``problem``, with the command that makes it.
    Raises UsageError where the folder says no command, or two.
    """
    order = Order(words[0], words, str(folder), transport="stdio")
    found = [one for one in (_node(order, folder), _python(order, folder, environ)) if one is not None]
    if len(found) > 1:
        # The project is written in the one, and uses the other for its tools.
        started = [one for one in found if one.command and not one.problem]
        if len(started) != 1:
            raise UsageError(
                f"{folder}: holds a package of npm and one of Python. Name the server's command after --."
            )
        found = started
    if found:
        return found[0]
    manifest = folder / MANIFEST
    if manifest.is_file():
        value = read_json(read_file(manifest), str(manifest))
        if is_manifest(value):
            return read_manifest(value, folder, name=words[0], words=words, given=given)
    raise UsageError(f"{folder}: {_nothing(folder)}")


def _nothing(folder: Path) -> str:
    members = [f"./{os.path.relpath(member, folder)}" for member in _members(folder)]
    if members:
        return f"holds several packages. Name the folder of one: {', '.join(members[:12])}."
    other = next((language for name, language in _OTHERS.items() if (folder / name).is_file()), "")
    if other:
        return f"holds a project in {other}. Build it, and name the program after --, such as: -- ./server"
    for name in (".mcp.json", "server.json"):
        if (folder / name).is_file():
            return f"does not say how its server is started. Name a file in it: {folder / name}"
    return "does not say how a server is started (package.json, pyproject.toml). Name the command after --."


def _node(order: Order, folder: Path) -> Order | None:
    path = folder / PACKAGE_JSON
    if not path.is_file():
        return None
    manifest = Fields(read_json(read_file(path), str(path)), str(path))
    entry = _node_entry(manifest, folder)
    if entry is None:
        return None
    options, script, arguments = entry
    command = ("node", *options, str(folder / script), *arguments)
    lacking = _node_lacks(manifest, folder, script)
    problem = f"{order.name}: {lacking}" if lacking else ""
    return dataclasses.replace(order, command=command, problem=problem)


def _node_entry(manifest: Fields, folder: Path) -> tuple[Sequence[str], str, Sequence[str]] | None:
    """node's options, the script and the first arguments, None where the package is no program."""
    bins = manifest.get("bin")
    name = manifest.text("name").rpartition("/")[2]
    if isinstance(bins, str):
        return (), _inside(bins, manifest.where), ()
    if isinstance(bins, dict) and bins:
        programs = {
            key: _inside(value, manifest.where) for key, value in bins.items() if isinstance(value, str)
        }
        return (), _the_one(programs, name, manifest.where), ()
    scripts = manifest.table("scripts")
    for key in ("start", "serve", "server", "mcp"):
        line = scripts.get(key)
        match = _START.fullmatch(line.strip()) if isinstance(line, str) and len(line) < 1000 else None
        if match:
            return match[1].split(), _inside(match[2], manifest.where), match[3].split()
    main = manifest.text("main") or manifest.text("module")
    if main and not manifest.get("workspaces"):
        return (), _inside(main, manifest.where), ()
    for guess in ("index.js", "server.js", "src/index.js"):
        if (folder / guess).is_file() and not manifest.get("workspaces"):
            return (), guess, ()
    return None


def _the_one(programs: Mapping[str, str], name: str, where: str) -> str:
    """The program that is the server: the only one, the package's namesake, or the only one called so."""
    if len(set(programs.values())) == 1:
        return next(iter(programs.values()))
    if name in programs:
        return programs[name]
    called = [script for key, script in programs.items() if _SERVER_WORD.search(key)]
    if len(called) == 1:
        return called[0]
    listed = ", ".join(list(programs)[:12]) or "none"
    raise UsageError(f"{where}: which program is the server? It has: {listed}. Name its command after --.")


def _inside(script: str, where: str) -> str:
    """A path of the package's own. Raises ConfigError for one that leads out of it."""
    path = os.path.normpath(script)
    if os.path.isabs(path) or path.split(os.sep)[0] == ".." or "\0" in path:
        raise ConfigError(f"{where}: {script[:100]!r} leads out of the package.")
    return path


def _node_lacks(manifest: Fields, folder: Path, script: str) -> str:
    """What has to be made before the server can start, with the command that does; "" for nothing."""
    manager = next(
        (
            tool
            for lock, tool in (("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lockb", "bun"))
            if (folder / lock).is_file()
        ),
        "npm",
    )
    at = shlex.quote(str(folder))
    needs = [name for name in manifest.table("dependencies") if not _installed(folder, name)]
    built = any(
        (folder / f"{script}{end}").is_file() or (folder / script).is_file()
        for end in ("", ".js", ".mjs", ".cjs")
    )
    install, build = f"cd {at} && {manager} install", f"{manager} run build"
    if not built and "build" in manifest.table("scripts"):
        begin = install if needs else f"cd {at}"
        return f"{script} is missing: the project is not built. Build it first: {begin} && {build}"
    if not built:
        return f"{script} is missing, although {PACKAGE_JSON} names it."
    if needs:
        more = f" and {len(needs) - 1} more" if len(needs) > 1 else ""
        return f"{needs[0]}{more} of its packages {'are' if more else 'is'} not installed. Install them first: {install}"
    return ""


def _installed(folder: Path, name: str) -> bool:
    if not re.fullmatch(r"(@[\w.~-]+/)?[\w.~-]+", name):
        return True
    return any((place / "node_modules" / name).exists() for place in (folder, *folder.parents))


def _members(folder: Path) -> Iterator[Path]:
    """Packages of a repository of many, which say how they are started."""
    patterns = ("*", "packages/*", "src/*", "servers/*", "apps/*", "mcp/*")
    found = 0
    for pattern in patterns:
        for member in sorted(folder.glob(pattern)):
            found += 1
            if found > _MOST_MEMBERS:
                return
            marked = (member / PACKAGE_JSON).is_file() or (member / PYPROJECT).is_file()
            if marked and not member.is_symlink() and member.name != "node_modules":
                yield member


def _python(order: Order, folder: Path, environ: Mapping[str, str]) -> Order | None:
    path = folder / PYPROJECT
    if not path.is_file():
        file = next((name for name in (*_PYTHON_FILES, "setup.py") if (folder / name).is_file()), "")
        if not file or (folder / PACKAGE_JSON).is_file():
            return None
        if file == "setup.py":
            return dataclasses.replace(
                order, problem=_install(order, folder, "it says its programs only when installed")
            )
        python = _environment(folder, environ)
        program = str(python / "bin" / "python") if python else "python3"
        return dataclasses.replace(order, command=(program, str(folder / file)))
    project = _project(path)
    if project is None:
        return None
    environment = _environment(folder, environ)
    programs = {name: name for name, value in project.table("scripts").items() if isinstance(value, str)}
    if not programs:
        return _python_module(order, folder, project, environment)
    program = _the_one(programs, project.text("name"), str(path))
    if not re.fullmatch(r"[\w.-]+", program):
        raise ConfigError(f"{path}: {program[:60]!r} is no name of a program.")
    if environment is None:
        return dataclasses.replace(
            order, command=(program,), problem=_install(order, folder, "it has no environment yet")
        )
    installed = environment / "bin" / program
    problem = (
        "" if installed.is_file() else _install(order, folder, f"{program} is not installed in {environment}")
    )
    return dataclasses.replace(order, command=(str(installed),), problem=problem)


def _project(path: Path) -> Fields | None:
    """The table that names the package and its programs: the standard's, or Poetry's."""
    content = read_file(path)
    try:
        value: dict[str, Json] = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from error
    top = Fields(value, str(path))
    project = Fields(top.get("project") or {}, f"{path}: project")
    poetry = Fields(Fields(top.get("tool") or {}, str(path)).get("poetry") or {}, f"{path}: tool.poetry")
    return project if project.value else poetry if poetry.value else None


def _python_module(order: Order, folder: Path, project: Fields, environment: Path | None) -> Order | None:
    """A project without programs: its package with ``__main__.py``, or a file that is called like a server."""
    python = str(environment / "bin" / "python") if environment else "python3"
    module = re.sub(r"[-.]", "_", project.text("name"))
    command: tuple[str, ...] = ()
    for base in ("", "src"):
        if module.isidentifier() and (folder / base / module / "__main__.py").is_file():
            command = (python, "-m", module)
    if not command:
        file = next((name for name in _PYTHON_FILES if (folder / name).is_file()), "")
        command = (python, str(folder / file)) if file else ()
    if not command:
        return None
    asks = bool(project.get("dependencies"))
    problem = _install(order, folder, "it has no environment yet") if environment is None and asks else ""
    return dataclasses.replace(order, command=command, problem=problem)


def _install(order: Order, folder: Path, why: str) -> str:
    at = shlex.quote(str(folder))
    return (
        f"{order.name}: {why}. Make one first: uv sync --project {at}   "
        f"(or: python3 -m venv {at}/.venv && {at}/.venv/bin/pip install {at})"
    )


def _environment(folder: Path, environ: Mapping[str, str]) -> Path | None:
    places = [folder / ".venv", folder / "venv"]
    places += [parent / ".venv" for parent in folder.parents if (parent / "uv.lock").is_file()]
    places += [Path(active) for active in [environ.get("VIRTUAL_ENV", "")] if active]
    return next((place for place in places if (place / "pyvenv.cfg").is_file()), None)
