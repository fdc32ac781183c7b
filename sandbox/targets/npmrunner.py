"""``npx``: from a package spec to the script of a package that is installed already (libnpmexec's rules)."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sandbox.errors import TargetNotFoundError, UsageError
from sandbox.targets import node
from sandbox.targets.orders import Ecosystem, PackageOrder
from sandbox.targets.specs import Spec

_SWITCHES = frozenset(
    {
        "-y",
        "--yes",
        "-n",
        "--no",
        "--no-install",
        "-q",
        "--quiet",
        "-s",
        "--silent",
        "--ignore-existing",
        "--prefer-offline",
        "--offline",
        "--prefer-online",
    }
)


_NEVER = frozenset({"-n", "--no", "--no-install", "--offline"})
"""Options with which npx installs nothing."""


def npx(words: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """The command that ``npx WORDS`` would run: the script's path and the server's arguments."""
    packages, rest = _options(words)
    if not rest:
        raise UsageError("npx: no package named.")
    spec = Spec.read(packages[0] if packages else rest[0])
    command = rest[0] if packages else ""
    seen: list[str] = []
    for modules in _places(cwd, environ):
        package = modules / spec.name
        facts = node.manifest(package)
        if facts:
            version = str(facts.get("version", ""))
            if spec.accepts(version):
                return (str(_script(package, command)), *rest[1:])
            seen.append(version)
    if not packages and not spec.version:
        for modules in _places(cwd, environ):
            script = _named_program(modules, spec.name)
            if script is not None:
                return (str(script), *rest[1:])
    own = node.package_root(cwd / "package.json", environ)
    if own is not None and node.manifest(own).get("name") == spec.name:
        return (str(_script(own, command)), *rest[1:])
    raise _missing(spec, packages, seen)


def package_order(words: Sequence[str]) -> PackageOrder | None:
    """The package that ``npx WORDS`` would install; None where its options say that it must not.

    Raises UsageError for an option that is not followed, and for what is no package of a registry.
    """
    if any(word in _NEVER for word in itertools.takewhile(lambda word: word.startswith("-"), words)):
        return None
    packages, rest = _options(words)
    if not rest:
        raise UsageError("npx: no package named.")
    first, *others = packages or rest[:1]
    spec = Spec.read(first)
    return PackageOrder(
        Ecosystem.NPM,
        spec.name,
        spec.version,
        pins=tuple(others),
        command=rest[0] if packages else "",
        arguments=tuple(rest[1:]),
    )


def _options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    packages: list[str] = []
    rest = list(words)
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        name, equals, value = option.partition("=")
        if option == "--":
            break
        if name in {"-p", "--package"}:
            packages.append(value if equals else rest.pop(0) if rest else "")
        elif name in {"-c", "--call"}:
            raise UsageError("npx -c: runs a line of shell. Name the server's own command instead.")
        elif name not in _SWITCHES and not equals:
            raise UsageError(
                f"npx {option}: this option is not followed. Name the server's own command instead."
            )
    return packages, rest


def _places(cwd: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Folders of installed packages: the project and above, npx's own cache (newest first), the global prefix."""
    yield from (folder / "node_modules" for folder in (cwd, *cwd.parents))
    cache = node.cache_folder(environ)
    if cache is not None:
        runs = [folder for folder in cache.glob("_npx/*/node_modules") if folder.is_dir()]
        yield from sorted(runs, key=lambda folder: folder.stat().st_mtime, reverse=True)
    program = shutil.which("node", path=environ.get("PATH"))
    yield from node.global_modules(Path(program) if program else None, environ)


def _script(package: Path, command: str) -> Path:
    """The script of a package's command; without a command its only one, or the one with the package's own name."""
    programs = node.programs(package)
    name = str(node.manifest(package).get("name", "")).rpartition("/")[2]
    if command:
        chosen = programs.get(command)
    elif len(set(programs.values())) == 1:
        chosen = next(iter(programs.values()))
    else:
        chosen = programs.get(name)
    if chosen is None:
        listed = ", ".join(sorted(programs)) or "none"
        raise TargetNotFoundError(
            f"{package.name}: which command? It installs: {listed}. Write npx --package NAME COMMAND."
        )
    if not chosen.is_file():
        raise TargetNotFoundError(
            f"{chosen}: missing, although the package names it. Build or install the package again."
        )
    return chosen.resolve()


def _named_program(modules: Path, command: str) -> Path | None:
    """A command of that name which any installed package provides (npm links them in ``.bin``)."""
    link = modules / ".bin" / command
    if link.is_symlink() and link.exists():
        return link.resolve()
    if not link.exists():
        return None
    for package in node.installed(modules):  # pnpm writes shell scripts there, not links
        script = node.programs(package).get(command)
        if script is not None and script.is_file():
            return script.resolve()
    return None


def _missing(spec: Spec, packages: Sequence[str], seen: Sequence[str]) -> TargetNotFoundError:
    wanted = " ".join(packages) if packages else spec.name + (f"@{spec.version}" if spec.version else "")
    other = f" Installed, but not that version: {', '.join(dict.fromkeys(seen))}." if seen else ""
    return TargetNotFoundError(
        f"npx {wanted}: the package is not installed, and a box reaches no registry.{other} "
        f"Install it first: npm install {wanted}"
    )
