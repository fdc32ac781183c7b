"""From a program's name to the file that runs, through PATH, version managers' shims and shebang lines.

Nothing is executed: a pyenv shim is followed by reading the files that pyenv reads.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from sandbox.errors import TargetNotFoundError
from sandbox.targets.boundaries import absolute

_HEAD = 1024
"""Bytes read to see a shebang; the kernel itself reads 256 (BINPRM_BUF_SIZE)."""

_EXEC_TRICK = re.compile(
    r"""^'''exec' (?:"\$\(dirname -- "\$\(realpath -- "\$0"\)"\)"/'(?P<beside>[^']+)'|"(?P<quoted>[^"]+)"|(?P<plain>\S+)) """
)
"""What pip and uv write below ``#!/bin/sh`` where the interpreter's path is too long or relocatable."""


def locate(name: str, *, cwd: Path, environ: Mapping[str, str]) -> Path:
    """The absolute path of the program that a shell in ``cwd`` would run, shims followed, links kept.

    Raises TargetNotFoundError when there is none, or when a version manager's shim cannot be read.
    """
    if "/" in name:
        path = absolute(name, cwd)
        if path.is_dir():
            raise TargetNotFoundError(f"{name}: is a folder. Name the command that starts the server.")
        if path.is_symlink() and not path.exists():
            raise TargetNotFoundError(f"{name}: leads to {path.resolve()}, which is gone. Install it again.")
        if not path.exists():
            raise TargetNotFoundError(f"{name}: there is no such file.")
        return _through_shims(path, cwd, environ)
    found = shutil.which(name, path=environ.get("PATH", os.defpath))
    if found is None:
        hint = f" There is a file {cwd / name}: write ./{name}." if (cwd / name).is_file() else ""
        if name == "python" and shutil.which("python3", path=environ.get("PATH")):
            hint = " There is a python3."
        raise TargetNotFoundError(f"{name}: no such command in PATH.{hint}")
    return _through_shims(absolute(found, cwd), cwd, environ)


def shebang(path: Path) -> tuple[str, ...]:
    """The words of a script's interpreter; () for a file without a shebang.

    ``#!/usr/bin/env node`` gives ``("node",)``, to be looked up in PATH; ``env -S`` is split as env does; any
    other line has at most one argument (execve(2)).
    """
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if not head.startswith(b"#!"):
        return ()
    lines = head[2:].decode("utf-8", "surrogateescape").split("\n")
    program, _, argument = lines[0].strip().partition(" ")
    if Path(program).name == "env":
        words = shlex.split(argument.removeprefix("-S").strip())
        return tuple(word for word in words if "=" not in word)
    trick = _EXEC_TRICK.match(lines[1]) if len(lines) > 1 else None
    if trick is not None:
        beside = trick["beside"]
        return (str(path.resolve().parent / beside) if beside else trick["quoted"] or trick["plain"],)
    return (program, argument.strip()) if argument.strip() else (program,)


def is_binary(path: Path) -> bool:
    """Whether the file is an ELF executable."""
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _through_shims(path: Path, cwd: Path, environ: Mapping[str, str]) -> Path:
    if path.parent.name == "shims":
        if (path.parent.parent / "versions").is_dir() and "pyenv" in _head_text(path):
            return _pyenv_program(path, cwd, environ)
        raise _unreadable_shim(path)
    if path.resolve().name in {"volta-shim", "mise"}:
        raise _unreadable_shim(path)
    return path


def _unreadable_shim(path: Path) -> TargetNotFoundError:
    return TargetNotFoundError(
        f"{path}: is the shim of a version manager, which decides what to run only when it runs. "
        f"Name the program itself: the path that its `which {path.name}` prints."
    )


def _head_text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(_HEAD).decode("utf-8", "replace")


def _pyenv_program(shim: Path, cwd: Path, environ: Mapping[str, str]) -> Path:
    root = shim.parent.parent
    chosen = list(_pyenv_versions(root, cwd, environ))
    for version in chosen:
        if version == "system":
            path = os.pathsep.join(
                folder
                for folder in environ.get("PATH", os.defpath).split(os.pathsep)
                if Path(folder) != shim.parent
            )
            found = shutil.which(shim.name, path=path)
            if found is not None:
                return Path(found)
            continue
        folder = _pyenv_folder(root, version)
        if folder is not None and (folder / "bin" / shim.name).exists():
            return folder / "bin" / shim.name
    having = sorted(path.parent.parent.name for path in root.glob(f"versions/*/bin/{shim.name}"))
    raise TargetNotFoundError(
        f"{shim.name}: not installed in the pyenv version in use ({', '.join(chosen) or 'none'}). "
        f"It is in: {', '.join(having) or 'no version'}. Set PYENV_VERSION, or install it there."
    )


def _pyenv_versions(root: Path, cwd: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """The versions pyenv would use, in its order: PYENV_VERSION, the nearest .python-version, the global file."""
    named = environ.get("PYENV_VERSION", "")
    if named:
        yield from named.split(":")
        return
    for file in (*(folder / ".python-version" for folder in (cwd, *cwd.parents)), root / "version"):
        if file.is_file():
            for line in file.read_text("utf-8", "replace").splitlines():
                yield from line.partition("#")[0].split()
            return
    yield "system"


def _pyenv_folder(root: Path, version: str) -> Path | None:
    """``3.11`` stands for the newest installed ``3.11.x``, as in pyenv since 2.3."""
    exact = root / "versions" / version.removeprefix("python-")
    if exact.is_dir():
        return exact
    newer = [path for path in exact.parent.glob(f"{exact.name}.*") if path.is_dir()]
    return max(newer, key=lambda path: [int(part) for part in re.findall(r"\d+", path.name)], default=None)
