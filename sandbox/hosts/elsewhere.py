"""What a container has to see on a machine that is no Linux: there the server's command is resolved in the container
alone, so that it is shown what the command names and the project around it.

Not tried on a real macOS or Windows machine: what is here follows Docker Desktop's documentation, and its tests
are of the functions only.
"""

from __future__ import annotations

import dataclasses
import ntpath
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sandbox.errors import UsageError
from sandbox.hosts.job import Job
from sandbox.hosts.mounts import Bind, Sight, outermost

_PROJECT_MARKS = ("pyproject.toml", "package.json", "setup.py", "Cargo.toml", "go.mod", "Gemfile", ".git")

_WIDE = tuple(
    "/ /Users /Library /System /Applications /Volumes /private /private/tmp /tmp /var /opt /home".split()
)

_PROGRAM = re.compile(r"\.(exe|cmd|bat|ps1)$", re.IGNORECASE)

_IF_MISSING = (
    "  why: the container runs Linux, so that programs and packages installed for this machine's own system are of no"
    " use in it; the server's own files are there\n"
    "  cure: for node, install the server into the project (npm install); for Python, make a virtual environment of"
    " the project in a Linux container; or verify the server's image: oci:IMAGE"
)


def look(job: Job, environ: Mapping[str, str]) -> Sight:
    """Decide what the container is shown. Homes, drives and folders of the whole machine are not.

    Raises:
        UsageError: a path has no place in a Linux container.
    """
    windows = sys.platform == "win32"
    cwd, home = Path(job.cwd), Path.home()
    project = next((folder for folder in (cwd, *cwd.parents) if _marked(folder)), cwd)
    settings, order = job.settings, job.image
    shown = [*settings.expose, *([settings.workspace] if settings.workspace else [])]
    if order is None:
        shown += [cwd, project]
        words = [*job.command[1:], *settings.env.values()]
    else:
        shown += [Path(mount.source) for mount in order.mounts if mount.source]
        words = [*order.arguments, *job.variables.values()] if order.host_paths else []
    named = [path for word in words for path in _paths(word, cwd)]
    cache = _npm_cache(home, environ, windows=windows)
    shown += [path for path in named if path.exists()] + [path for path in [cache / "_npx"] if path.is_dir()]
    standing = [path.parent for path in named if not path.exists()] + [cwd]
    standing += [path for path in shown if too_wide(str(path), str(home), windows=windows)]
    view = outermost(
        (
            Bind(str(path.resolve()), inside(str(name), windows=windows))
            for path in shown
            for name in (path, path.resolve())
            if path.exists() and not too_wide(str(name), str(home), windows=windows)
        ),
        (inside(str(path), windows=windows) for path in standing),
    )
    told = dataclasses.replace(
        job,
        cwd=inside(job.cwd, windows=windows),
        stands_for=tuple(command_inside(job.command, windows=windows)),
        environ={
            "HOME": inside(str(home), windows=windows),
            "npm_config_cache": inside(str(cache), windows=windows),
            "PATH": "",
        },
        settings=dataclasses.replace(
            settings,
            workspace=_path_inside(settings.workspace, windows) if settings.workspace else None,
            expose=tuple(_path_inside(path, windows) for path in settings.expose),
            source=None,
        ),
    )
    return Sight(told, view, if_missing=_IF_MISSING)


def inside(path: str, *, windows: bool) -> str:
    """Where an absolute path of this machine is in the container: the same, or ``/c/Users`` for ``C:\\\\Users``.

    Raises UsageError for a path on no drive, such as a network share.
    """
    if not windows:
        return path
    drive, rest = ntpath.splitdrive(path)
    if not re.fullmatch("[A-Za-z]:", drive):
        raise UsageError(
            f"{path}: is on no drive of this machine, so that no container can be shown it. Copy it to one."
        )
    return f"/{drive[0].lower()}{rest.replace(chr(92), '/')}".rstrip("/")


def command_inside(words: Iterable[str], *, windows: bool) -> Iterator[str]:
    """The words of a command as they are meant in the container: Windows' endings of programs and its paths are
    written as Linux has them."""
    for number, word in enumerate(words):
        if not windows:
            yield word
            continue
        flag, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
        if re.match(r"[A-Za-z]:[\\/]", value):
            value = inside(value, windows=True)
        elif re.fullmatch(r"[\w.@ -]+(\\[\w.@ -]+)+", value):
            value = value.replace("\\", "/")
        yield f"{flag}{equals}{_PROGRAM.sub('', value) if number == 0 else value}"


def too_wide(path: str, home: str, *, windows: bool) -> bool:
    """Whether showing the whole folder would show a home, a drive or the machine."""
    if windows:
        path, home = ntpath.normcase(path).rstrip("\\"), ntpath.normcase(home).rstrip("\\")
        return home == path or home.startswith(f"{path}\\") or path.count("\\") == 0
    return path in _WIDE or home == path or home.startswith(f"{path.rstrip('/')}/")


def _path_inside(path: Path, windows: bool) -> Path:
    return Path(inside(str(path), windows=windows))


def _paths(word: str, cwd: Path) -> Iterator[Path]:
    """The path that a word, or the value of its flag, means: one that is there, or whose folder is."""
    value = word.partition("=")[2] if word.startswith("-") else word
    if not value or "\0" in value or "://" in value or len(value) > 4096:
        return
    path = Path(os.path.normpath(cwd / value))
    looks = bool(path.suffix) or os.sep in value or "/" in value
    if path.exists() or (looks and path.parent.is_dir()):
        yield path


def _marked(folder: Path) -> bool:
    return any((folder / mark).exists() for mark in _PROJECT_MARKS)


def _npm_cache(home: Path, environ: Mapping[str, str], *, windows: bool) -> Path:
    named = environ.get("npm_config_cache") or environ.get("NPM_CONFIG_CACHE")
    if named:
        return Path(named)
    return Path(environ.get("LOCALAPPDATA") or home, "npm-cache") if windows else home / ".npm"
