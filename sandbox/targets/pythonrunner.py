"""``uvx``, ``uv run`` and ``pipx run``: the program of an environment that exists already."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import TargetNotFoundError, UsageError
from sandbox.targets import pathfiles
from sandbox.targets.boundaries import absolute
from sandbox.targets.orders import PackageOrder
from sandbox.targets.specs import REQUIREMENT, read_requirement

_TAKES_VALUE = frozenset(
    {"--from", "--with", "-w", "--with-editable", "--with-requirements", "--python", "-p", "--index", "--index-url", "-i",
     "--extra-index-url", "--find-links", "-f", "--directory", "--project", "--env-file", "--extra", "--group", "--only-group",
     "--package", "--cache-dir", "--config-file", "--index-strategy", "--prerelease", "--resolution", "--link-mode", "--exclude-newer",
     "--spec", "--pip-args", "--refresh-package", "--upgrade-package", "-P", "--color", "--no-extra", "--no-group", "--backend"}
)  # fmt: skip
"""Options of ``uv``, ``uvx`` and ``pipx run`` that take the next word (their ``--help``)."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A runner's command line: its options by name (the last one counts), what follows them, and every ``--with``."""

    options: Mapping[str, str]
    rest: tuple[str, ...]
    beside: tuple[str, ...] = ()


def uvx(words: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The command that ``uvx WORDS`` would run."""
    line = _read(words)
    if not line.rest:
        raise UsageError("uvx: no package named.")
    command = line.rest[0].partition("@")[0]
    requirement = line.options.get("--from") or line.rest[0]
    return (
        str(_program("uvx", requirement, command, cwd=cwd, environ=environ, install="uv tool install")),
        *line.rest[1:],
    )


def pipx(words: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The command that ``pipx run ...`` would run."""
    if words[:1] != ["run"]:
        raise UsageError("pipx: only `pipx run` starts a server.")
    line = _read(words[1:])
    if not line.rest:
        raise UsageError("pipx run: no package named.")
    requirement = line.options.get("--spec") or line.rest[0]
    command = _name_of("pipx run", line.rest[0])
    return (
        str(_program("pipx run", requirement, command, cwd=cwd, environ=environ, install="pipx install")),
        *line.rest[1:],
    )


def package_order(words: Sequence[str]) -> PackageOrder | None:
    """The package that ``uvx``, ``uv tool run`` or ``pipx run`` would install; None for any other command.

    Raises UsageError for what is no package of an index.
    """
    runner, rest = Path(words[0]).name, list(words[1:])
    if runner == "uv":
        line = _read(rest)
        if line.rest[:2] != ("tool", "run"):
            return None
        runner, rest = "uvx", list(line.rest[2:])
    if runner == "pipx":
        if rest[:1] != ["run"]:
            return None
        runner, rest = "pipx run", rest[1:]
    elif runner != "uvx":
        return None
    line = _read(rest)
    if not line.rest:
        raise UsageError(f"{runner}: no package named.")
    if "--offline" in line.options:
        return None
    named = line.options.get("--from") or line.options.get("--spec")
    order = read_requirement(runner, named or line.rest[0])
    return dataclasses.replace(
        order,
        pins=line.beside,
        command=line.rest[0] if named else "",
        arguments=line.rest[1:],
        python=(line.options.get("--python") or line.options.get("-p") or "").removeprefix("python"),
    )


def uv(words: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> tuple[tuple[str, ...], Path]:
    """The command that ``uv run ...`` or ``uv tool run ...`` would run, and the folder it runs in."""
    line = _read(words)
    folder = absolute(line.options.get("--directory", "."), cwd)
    if line.rest[:1] == ("run",):
        inner = _read(line.rest[1:])
        folder = absolute(inner.options.get("--directory", "."), folder)
        project = absolute(inner.options.get("--project") or line.options.get("--project") or ".", folder)
        return _uv_run(inner, project, folder, environ), folder
    if line.rest[:2] == ("tool", "run"):
        return uvx(line.rest[2:], cwd=folder, environ=environ), folder
    raise UsageError("uv: only `uv run` and `uv tool run` start a server.")


def _uv_run(line: _Line, project: Path, cwd: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    if not line.rest:
        raise UsageError("uv run: no command named.")
    environment = _uv_environment(project, environ)
    if environment is None:
        raise TargetNotFoundError(
            f"uv run {line.rest[0]}: the project has no environment yet, and a box reaches no registry. "
            f"Make it first: uv sync --project {project}"
        )
    python = environment / "bin" / "python"
    if "--module" in line.options or "-m" in line.options:
        return (str(python), "-m", *line.rest)
    first = line.rest[0]
    if "--script" in line.options or "-s" in line.options or first.endswith(".py"):
        return (str(python), *line.rest)
    folder = absolute(first, cwd)
    if folder.is_dir() and (folder / "__main__.py").is_file():
        return (str(python), *line.rest)
    inside = environment / "bin" / first
    return (str(inside) if "/" not in first and inside.exists() else first, *line.rest[1:])


def _uv_environment(project: Path, environ: Mapping[str, str]) -> Path | None:
    """The environment of the nearest project (UV_PROJECT_ENVIRONMENT, else .venv), or the active one."""
    name = environ.get("UV_PROJECT_ENVIRONMENT") or ".venv"
    places = [folder / name for folder in (project, *project.parents)]
    places += [Path(active) for active in [environ.get("VIRTUAL_ENV", "")] if active]
    return next((place for place in places if (place / "pyvenv.cfg").is_file()), None)


def _read(words: Sequence[str]) -> _Line:
    options: dict[str, str] = {}
    beside: list[str] = []
    rest = list(words)
    while rest and rest[0].startswith("-"):
        name, equals, value = rest.pop(0).partition("=")
        if name == "--":
            break
        if name in _TAKES_VALUE and not equals:
            value = rest.pop(0) if rest else ""
        options[name] = value
        if name in ("--with", "-w"):
            beside += [each for each in value.split(",") if each]
    return _Line(options, tuple(rest), tuple(beside))


def _name_of(runner: str, requirement: str) -> str:
    found = REQUIREMENT.match(requirement)
    if found is None:
        raise UsageError(
            f"{runner} {requirement}: only packages by name are followed. Install it and name its command."
        )
    return found["name"]


def _program(
    runner: str, requirement: str, command: str, *, cwd: Path, environ: Mapping[str, str], install: str
) -> Path:
    name = _name_of(runner, requirement)
    found = REQUIREMENT.match(requirement)
    version = found["version"] if found and found["version"] not in {None, "latest"} else ""
    seen: list[str] = []
    for environment in _environments(name, cwd, environ):
        program = environment / "bin" / command
        if not program.is_file():
            continue
        versions = [
            known
            for site in environment.glob("lib/python3*/site-packages")
            for known in [pathfiles.distribution_version(site, name)]
            if known
        ]
        if versions and (not version or version in versions):
            return program
        seen += versions
    other = f" Installed, but not that version: {', '.join(dict.fromkeys(seen))}." if seen else ""
    pinned = f"{name}=={version}" if version else name
    raise TargetNotFoundError(
        f"{runner} {command}: {pinned} is not installed, and a box reaches no registry.{other} "
        f"Install it first: {install} {pinned}   (or into the project: pip install {pinned})"
    )


def _environments(name: str, cwd: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Where an installed tool may be: the project, the active environment, hintproof's own, uv's and pipx's."""
    yield from (folder / venv for folder in (cwd, *cwd.parents) for venv in (".venv", "venv"))
    if environ.get("VIRTUAL_ENV"):
        yield Path(environ["VIRTUAL_ENV"])
    yield Path(sys.prefix)
    home = Path(environ.get("HOME", "/nonexistent"))
    data = Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    caches = Path(environ.get("XDG_CACHE_HOME") or home / ".cache")
    tool = pathfiles.normalized(name)
    yield Path(environ.get("UV_TOOL_DIR") or data / "uv" / "tools") / tool
    pipx_homes = (
        [environ["PIPX_HOME"]] if environ.get("PIPX_HOME") else [data / "pipx", home / ".local" / "pipx"]
    )
    for folder in map(Path, pipx_homes):
        yield folder / "venvs" / tool
        yield from sorted(folder.glob(".cache/*"))
    yield from sorted((caches / "pipx").glob("*"))
    yield from sorted(Path(environ.get("UV_CACHE_DIR") or caches / "uv").glob("archive-v0/*"))
