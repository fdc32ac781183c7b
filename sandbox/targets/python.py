"""Python servers: which interpreter runs, which folders it needs, which part of the command is the server.

Follows what CPython does at start (PEP 405, Modules/getpath.py) by looking at files: a ``pyvenv.cfg`` beside
or above the program as it was named makes a virtual environment, otherwise the real binary's folder leads to
``lib/pythonX.Y/os.py``.
"""

from __future__ import annotations

import glob
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import TargetNotFoundError, UsageError
from sandbox.targets import pathfiles
from sandbox.targets.boundaries import absolute, in_system, is_home, too_wide
from sandbox.targets.launch import Entry
from sandbox.targets.owncode import code_folder, project_of

_NAME = re.compile(r"^(python|pypy)[0-9.]*t?$")

_FLAGS_WITH_VALUE = ("-W", "-X", "--check-hash-based-pycs")


@dataclass(frozen=True, slots=True)
class Interpreter:
    """One interpreter: ``program`` as it is named (that decides ``prefix``), ``base`` the installation behind it."""

    program: Path
    prefix: Path
    base: Path
    version: str
    system_packages: bool

    @property
    def virtual(self) -> bool:
        """Whether it is a virtual environment."""
        return self.prefix != self.base

    def site_folders(self, environ: Mapping[str, str]) -> list[Path]:
        """The existing folders of installed packages that it imports from, its own first."""
        prefixes = [self.prefix]
        if self.system_packages:
            prefixes += [self.base, *filter(None, [user_base(environ)])]
        folders = [
            folder
            for prefix in prefixes
            for lib in ("lib", "lib64", "local/lib")
            for name in ("site-packages", "dist-packages")
            for folder in [*sorted((prefix / lib).glob(f"python3.*/{name}")), prefix / lib / "python3" / name]
        ]
        return list(dict.fromkeys(folder for folder in folders if folder.is_dir()))


def is_python(name: str) -> bool:
    """Whether a program of this name is a Python interpreter."""
    return _NAME.match(name) is not None


def user_base(environ: Mapping[str, str]) -> Path | None:
    """The folder of ``pip install --user`` (site.getuserbase), or None where there is none."""
    named = environ.get("PYTHONUSERBASE") or (f"{environ['HOME']}/.local" if environ.get("HOME") else "")
    # Not Path.glob: a home that may not be read counts as empty, as it does for Python.
    found = named and any(glob.iglob(f"{glob.escape(named)}/lib/python3*/site-packages"))
    return Path(named) if found else None


def read_interpreter(program: Path) -> Interpreter:
    """What the interpreter at this path would use. Raises TargetNotFoundError for a broken environment."""
    for folder in (program.parent, program.parent.parent):
        settings = folder / "pyvenv.cfg"
        if settings.is_file():
            return _virtual(program, folder, pathfiles.read_pyvenv(settings))
    base = _base_of(program)
    return Interpreter(program, base, base, _version_in(base), True)


def entry(
    program: Path, words: Sequence[str], *, cwd: Path, environ: Mapping[str, str], found: Path | None = None
) -> Entry:
    """The server in ``program WORDS``; ``found`` is a script that was started by its shebang.

    Raises UsageError where no server is named, TargetNotFoundError where a script or module is missing.
    """
    interpreter = read_interpreter(program)
    closure = _closure(interpreter, environ)
    options, rest = _split_options(words)
    own: Path | None = None
    script: Path | None = None
    relative = False
    if options[-1:] == ["-m"]:
        own = _module_project(rest[0] if rest else "", interpreter, cwd, environ)
        relative = own is not None
    elif options[-1:] == ["-c"]:
        own, relative = _folder_project(cwd, environ), True
    elif not rest or rest[0] == "-":
        raise UsageError(
            f"{program}: no script and no module named; the program would be read from standard input."
        )
    else:
        script = absolute(rest[0], cwd)
        if not script.exists():
            raise TargetNotFoundError(f"{rest[0]}: there is no such file in {cwd}.")
        relative = found is None and not rest[0].startswith("/")
        if not _installed(script, interpreter):
            own = code_folder(script, environ)
    if own is None:
        own = _editable_project(interpreter, environ)
    return Entry(
        argv=(str(program), *options, *rest[:1]),
        arguments=tuple(rest[1:]),
        closure=tuple(closure),
        own=own,
        script=script,
        bins=(interpreter.prefix / "bin", program.parent),
        env=_variables(interpreter, environ),
        versions={"python": interpreter.version},
        relative=relative,
    )


def _virtual(program: Path, prefix: Path, settings: Mapping[str, str]) -> Interpreter:
    home = Path(settings.get("home", ""))
    candidates = [home / program.name, home / "python3", home / "python", program.resolve()]
    behind = next((path for path in candidates if path.is_file()), None)
    if behind is None:
        raise TargetNotFoundError(
            f"{prefix}: the virtual environment was made from {home}, which is gone. Create it again."
        )
    base = _base_of(behind)
    version = settings.get("version") or settings.get("version_info") or _version_in(base)
    shares = settings.get("include-system-site-packages", "").lower() == "true"
    return Interpreter(program, prefix, base, version, shares)


def _base_of(program: Path) -> Path:
    real = program.resolve()
    for folder in real.parents:
        if any(folder.glob("lib*/python*/os.py")):
            return folder
    return Path("/usr") if in_system(real) else real.parent


def _version_in(base: Path) -> str:
    found = re.search(r"(\d+\.\d+\.\d+)", base.name)
    if found:
        return found[1]
    folders = sorted(path.parent.name for path in base.glob("lib/python3*/os.py"))
    return folders[-1].removeprefix("python") if folders else ""


def _closure(interpreter: Interpreter, environ: Mapping[str, str]) -> list[Path]:
    closure = [interpreter.program]
    if interpreter.virtual:
        if too_wide(interpreter.prefix, environ):
            raise UsageError(
                f"{interpreter.prefix}: a virtual environment made in a home folder cannot be shown."
            )
        closure.append(interpreter.prefix)
    closure += base_closure(interpreter, environ)
    for folder in interpreter.site_folders(environ):
        closure.append(folder)
        for path in pathfiles.linked_code(folder).paths:
            if not too_wide(path, environ):
                closure.append(path)
    return closure


def base_closure(interpreter: Interpreter, environ: Mapping[str, str]) -> list[Path]:
    """What the installation behind an interpreter needs, without any installed packages of a virtual environment."""
    base = interpreter.base
    if too_wide(base, environ) or is_home(
        base.parent, environ
    ):  # such as ~/.local: other people's things too
        return [interpreter.program.resolve(), *base.glob("lib/python3*/"), *base.glob("lib/libpython3*")]
    return [base]


def _variables(interpreter: Interpreter, environ: Mapping[str, str]) -> Mapping[str, str]:
    """Where the user's packages are, and the interpreter's own libraries where only LD_LIBRARY_PATH leads to them."""
    variables: dict[str, str] = {}
    base = user_base(environ)
    if base is not None and interpreter.system_packages:
        variables["PYTHONUSERBASE"] = str(base)
    libraries = [
        folder
        for folder in environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
        if folder.startswith("/") and interpreter.base in (Path(folder), *Path(folder).parents)
    ]
    if libraries:
        variables["LD_LIBRARY_PATH"] = os.pathsep.join(libraries)
    return variables


def _split_options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Interpreter options and what follows; the last option is ``-m``, ``-mNAME`` or ``-c`` where one ends them."""
    options: list[str] = []
    rest = list(words)
    while rest and rest[0].startswith("-") and rest[0] != "-":
        option = rest.pop(0)
        if option == "--":
            break
        joined = re.match(r"^-[bBdEhiIOPqRsSuvx]*([mc])(.*)$", option, re.DOTALL)
        if joined is not None:
            leading = option[: joined.start(1)]
            options += [leading] if len(leading) > 1 else []
            options.append(f"-{joined[1]}")
            if joined[2]:
                rest.insert(0, joined[2])
            break
        options.append(option)
        if option in _FLAGS_WITH_VALUE and rest:
            options.append(rest.pop(0))
    return options, rest


def _installed(script: Path, interpreter: Interpreter) -> bool:
    real = script.resolve()
    places = [interpreter.prefix.resolve(), interpreter.base.resolve()]
    return in_system(real) or any(place in real.parents for place in places)


def _module_project(
    name: str, interpreter: Interpreter, cwd: Path, environ: Mapping[str, str]
) -> Path | None:
    """The project of a module that lies in ``cwd`` (first on sys.path with ``-m``), or None for an installed one."""
    top = name.partition(".")[0]
    if not top:
        raise UsageError("python -m: no module named.")
    if (cwd / f"{top}.py").is_file() or (cwd / top).is_dir():
        return _folder_project(cwd, environ)
    folders = interpreter.site_folders(environ)
    known = top in sys.stdlib_module_names or any(pathfiles.holds(folder, top) for folder in folders)
    if known or any(pathfiles.linked_code(folder).opaque for folder in folders):
        return None
    raise TargetNotFoundError(
        f"python -m {name}: {interpreter.program} has no module {top}. "
        f"Install it: {interpreter.program} -m pip install {top.replace('_', '-')}"
    )


def _folder_project(cwd: Path, environ: Mapping[str, str]) -> Path | None:
    project = project_of(cwd / "__main__.py")
    if project is not None and not too_wide(project, environ):
        return project
    return None if too_wide(cwd, environ) else cwd


def _editable_project(interpreter: Interpreter, environ: Mapping[str, str]) -> Path | None:
    """The one project that is installed from its own folder, as a server under development is."""
    projects = {
        path
        for folder in interpreter.site_folders(environ)
        for path in pathfiles.linked_code(folder).projects
    }
    return projects.pop() if len(projects) == 1 else None
