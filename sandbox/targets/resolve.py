"""From the words of a command to a Launch: the program, its closure, its workspace, its variables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path

from sandbox.errors import TargetNotFoundError, UsageError
from sandbox.model import SeedEntry, digest_of
from sandbox.targets import executables, node, python, runners
from sandbox.targets.boundaries import (
    absolute,
    covered,
    in_system,
    is_home,
    outermost,
    refuse_wide,
    too_wide,
    trace,
)
from sandbox.targets.launch import Entry, Launch, WorkspacePlace
from sandbox.targets.owncode import OwnCode, code_folder, copy, folder_entry, own_code
from sandbox.targets.places import NamedPath, choose_workspace, named_hosts, named_paths

_PASSED_ON = (
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_COLLATE",
    "LC_MESSAGES",
    "LC_NUMERIC",
    "LC_TIME",
    "TZ",
)
"""Variables of the host that a server sees; everything else must be named with -e."""

_FIXED = {"TERM": "dumb", "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}

_SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")

_INTERPRETERS_DEEP = 4
"""A script's interpreter may be a script (Linux itself follows four, since 4.20: fs/exec.c)."""


def resolve(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    expose: Sequence[Path] = (),
    workspace: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Launch:
    """Decide how to run a server in a box; nothing of it is executed.

    ``command`` is what the user typed in ``cwd``; ``env`` the ``-e`` variables, ``expose`` the ``--expose``
    folders and ``workspace`` the ``--workspace`` folder; ``environ`` the host's own variables (the process's
    by default), which decide what the words mean (PATH, VIRTUAL_ENV, HOME) and mostly stay outside.

    Raises TargetNotFoundError when the program, script or package is not on this machine, with the
    command that installs it; UsageError for what cannot run in a box or would show a home.
    """
    if not command:
        raise UsageError("No command. Write the server's command after --, such as: -- node server.js")
    host = os.environ if environ is None else environ
    given = dict(env or {})
    start = absolute(cwd, Path.cwd())
    try:
        unwrapped = runners.unwrap(command, cwd=start, environ=host)
        entry = classify(unwrapped.words, cwd=unwrapped.cwd, environ=host)
        return launch_of(
            tuple(command),
            entry,
            cwd=start,
            folder=unwrapped.cwd,
            env=given,
            expose=expose,
            workspace=workspace,
            environ=host,
        )
    except PermissionError as error:
        raise TargetNotFoundError(
            f"{error.filename}: may not be read by you, so it cannot be put into a box."
        ) from error


def launch_of(
    command: tuple[str, ...],
    entry: Entry,
    *,
    cwd: Path,
    folder: Path,
    env: Mapping[str, str],
    expose: Sequence[Path],
    workspace: Path | None,
    environ: Mapping[str, str],
) -> Launch:
    """The launch of a server that is told apart from its arguments. ``cwd`` is where the user stood, ``folder``
    where the server's words are meant from.

    Raises UsageError and TargetNotFoundError as ``resolve`` does.
    """
    given, host = env, environ
    shown = [*_asked(expose, cwd, host), *_import_paths(given, folder, host)]
    named = named_paths(entry.arguments, given, folder)
    place, further, notes = choose_workspace(named, workspace, folder, host)
    closure = [*entry.closure, *shown]
    seeds: list[SeedEntry] = []
    for path in further:
        found = copy(trace(path)[0])
        if found is not None:
            seeds += found.entries
        else:
            closure.append(path)
    skip = [Path(place.at)] if place is not None and place.source is not None else []
    own = own_code(entry.own, entry.script, skip=skip, environ=host) if entry.own else OwnCode()
    closure += own.shown
    seeds += own.seeds

    where = _cwd(entry, place, named, folder, own)
    seeds += _standing_place(Path(where), host) if where else []
    ways = [entry.script or folder, Path(where or "/"), *(one.path for one in named)]
    exposures, links = _show(closure, ways)
    return Launch(
        command=command,
        argv=(*entry.argv, *entry.arguments),
        cwd=where,
        env=_environment(entry, given, host),
        exposures=tuple(map(str, exposures)),
        seeds=_each_once([*seeds, *links]),
        workspace=place,
        hosts=named_hosts(entry.arguments, given),
        versions=entry.versions,
        digests=_digests(entry, own),
        notes=(*entry.notes, *notes, *own.notes),
    )


def classify(words: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> Entry:
    """Tell the server from its arguments, whatever language it is in. Raises as ``resolve`` does."""
    program = executables.locate(words[0], cwd=cwd, environ=environ)
    rest: tuple[str, ...] = tuple(words[1:])
    relative = "/" in words[0] and not words[0].startswith("/")
    script: Path | None = None
    for _ in range(_INTERPRETERS_DEEP):
        if python.is_python(program.name):
            return python.entry(program, rest, cwd=cwd, environ=environ, found=script)
        if program.name in node.NAMES:
            return node.entry(program, rest, cwd=cwd, environ=environ, found=script)
        interpreter = executables.shebang(program) or _by_suffix(program)
        if not interpreter:
            break
        script = program
        rest = (*interpreter[1:], str(script), *rest)
        program = executables.locate(interpreter[0], cwd=cwd, environ=environ)
    if script is None and not os.access(program, os.X_OK):
        raise TargetNotFoundError(f"{program}: not a program that can be run. Name its interpreter first.")
    if script is None and not executables.is_binary(program):
        raise TargetNotFoundError(f"{program}: neither a binary nor a script with a #! line.")
    return _other(program, rest, cwd, environ, relative)


def _by_suffix(program: Path) -> tuple[str, ...]:
    """npm's ``bin`` files run under node even where they lack a shebang."""
    return ("node",) if program.suffix in node.SUFFIXES else ()


def _other(
    program: Path, rest: Sequence[str], cwd: Path, environ: Mapping[str, str], relative: bool
) -> Entry:
    """A native binary, or a script of another language: the first word that is a file is the script."""
    closure = [program, *_native_closure(program, environ)]
    files = (i for i, word in enumerate(rest) if word[:1] != "-" and os.path.isfile(absolute(word, cwd)))
    at = next(files, None) if in_system(program.resolve()) else None
    if at is None:
        return Entry(
            argv=(str(program),),
            arguments=tuple(rest),
            closure=tuple(closure),
            script=program,
            bins=(program.parent,),
            relative=relative,
        )
    script = absolute(rest[at], cwd)
    return Entry(
        argv=(str(program), *rest[: at + 1]),
        arguments=tuple(rest[at + 1 :]),
        closure=tuple(closure),
        own=None if in_system(script) else code_folder(script, environ),
        script=script,
        bins=(program.parent,),
        relative=not rest[at].startswith("/"),
    )


def _native_closure(program: Path, environ: Mapping[str, str]) -> list[Path]:
    """The binary's folder; with a ``lib`` beside its ``bin``, both."""
    real = program.resolve()
    if in_system(real):
        return []
    folder = real.parent
    if folder.name == "bin" and (folder.parent / "lib").is_dir() and folder.parent.name != ".local":
        folder = folder.parent
    return [real if too_wide(folder, environ) else folder]


def _asked(expose: Iterable[Path], cwd: Path, environ: Mapping[str, str]) -> list[Path]:
    shown = [absolute(path, cwd) for path in expose]
    for path in shown:
        if not path.exists():
            raise UsageError(f"--expose {path}: there is no such file or folder.")
        refuse_wide(path.resolve(), environ, "--expose")
    return shown


def _import_paths(given: Mapping[str, str], cwd: Path, environ: Mapping[str, str]) -> list[Path]:
    """Folders that the user adds to a runtime's search with ``-e PYTHONPATH`` or ``-e NODE_PATH``."""
    words = [
        word for name in ("PYTHONPATH", "NODE_PATH") for word in given.get(name, "").split(os.pathsep) if word
    ]
    shown = [path for path in (absolute(word, cwd) for word in words) if path.exists()]
    for path in shown:
        refuse_wide(path.resolve(), environ, "-e")
    return shown


def _cwd(
    entry: Entry,
    place: WorkspacePlace | None,
    named: Sequence[NamedPath],
    cwd: Path,
    own: OwnCode,
) -> str:
    """The folder that relative words were meant from; else the workspace; else the script's own folder."""
    if entry.relative or any(one.relative for one in named):
        return str(cwd)
    if place is not None:
        at = Path(place.at)
        return str(at if place.source is None or place.source.is_dir() else at.parent)
    if own.seeds and entry.own is not None and "node_modules" not in entry.own.parts:
        return str(entry.own)
    return ""


def _standing_place(cwd: Path, environ: Mapping[str, str]) -> list[SeedEntry]:
    """The working folder as one the server may write in, unless it is a folder of the machine."""
    real = trace(cwd)[0]
    machine = in_system(real) or (too_wide(real, environ) and not is_home(real, environ))
    return [] if machine else [folder_entry(real)]


def _each_once(seeds: Iterable[SeedEntry]) -> tuple[SeedEntry, ...]:
    """One seed for each path, the first one named, folders before what is in them."""
    first: dict[str, SeedEntry] = {}
    for seed in seeds:
        first.setdefault(seed.path, seed)
    return tuple(first[path] for path in sorted(first))


def _show(closure: Iterable[Path], ways: Iterable[Path]) -> tuple[tuple[Path, ...], tuple[SeedEntry, ...]]:
    """Real exposures, and the links by which their paths, and the further ``ways``, lead as they were named."""
    reals: list[Path] = []
    links: dict[str, SeedEntry] = {}
    for path in closure:
        real, found = trace(path)
        reals.append(real)
        links.update({link.path: link for link in found})
    for path in ways:
        links.update({link.path: link for link in trace(path)[1]})
    exposures = outermost(reals)
    return exposures, tuple(link for link in links.values() if not covered(Path(link.path), exposures))


def _environment(entry: Entry, given: Mapping[str, str], environ: Mapping[str, str]) -> Mapping[str, str]:
    passed = {name: environ[name] for name in _PASSED_ON if name in environ}
    folders = [str(folder) for folder in entry.bins if not in_system(folder)]
    path = os.pathsep.join(dict.fromkeys([*folders, *_SYSTEM_PATH]))
    return {"LANG": "C.UTF-8", **passed, **_FIXED, **entry.env, "PATH": path, **given}


def _digests(entry: Entry, own: OwnCode) -> Mapping[str, str]:
    digests: dict[str, str] = {}
    if entry.script is not None and entry.script.is_file():
        digests["entry"] = digest_of(entry.script.read_bytes())
    if own.seeds:
        tree = blake2b(digest_size=16)
        for seed in sorted(own.seeds, key=lambda seed: seed.path):
            tree.update(repr((seed.path, seed.kind, seed.mode, seed.target, seed.content)).encode())
        digests["code"] = tree.hexdigest()
    return digests
