"""What of this Linux machine a container has to see to run a server: what the local host would show its box."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sandbox.containers.ownimage import BUILD
from sandbox.errors import TargetNotFoundError
from sandbox.hosts.job import Job
from sandbox.hosts.mounts import Sight, View, arrange
from sandbox.targets import executables, places, runners
from sandbox.targets.boundaries import in_system, too_wide
from sandbox.targets.dockerrun import ImageOrder
from sandbox.targets.launch import Launch
from sandbox.targets.orders import PackageOrder
from sandbox.targets.owncode import project_of
from sandbox.targets.resolve import resolve

_MEANING = tuple(
    (
        "HOME LANG LANGUAGE LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME TZ VIRTUAL_ENV PYTHONUSERBASE"
        " LD_LIBRARY_PATH XDG_DATA_HOME XDG_CACHE_HOME UV_PROJECT_ENVIRONMENT UV_TOOL_DIR UV_CACHE_DIR PIPX_HOME"
        " npm_config_cache NPM_CONFIG_CACHE npm_config_prefix NPM_CONFIG_PREFIX"
    ).split()
)
"""Variables that decide what a command's words mean, or that a box is given on every host (targets/resolve.py)."""


def look(job: Job, environ: Mapping[str, str]) -> Sight:
    """Decide what the container is shown, by resolving the command here; nothing of it is executed.

    Homes and folders of the whole machine are never shown, not even where the command was typed in one: of
    those only what the server needs.

    Raises:
        UsageError: the command cannot be meant.
        TargetNotFoundError: a runner's package is not on this machine.
    """
    if job.image is not None:
        return _for_image(job, job.image, environ)
    if job.package is not None:
        return _for_package(job, job.package, environ)
    settings = job.settings
    unwrapped = runners.unwrap(job.command, cwd=Path(job.cwd), environ=environ)
    words, program = _program(unwrapped.words, unwrapped.cwd, environ)
    launch: Launch | None = None
    with suppress(TargetNotFoundError):  # the container may have what is not here, and says so if it has not
        launch = resolve(
            words,
            cwd=unwrapped.cwd,
            env=settings.env,
            expose=settings.expose,
            workspace=settings.workspace,
            environ=environ,
        )
    named = places.named_paths(words[1:], settings.env, unwrapped.cwd)
    shown = [unwrapped.cwd, *(one.path for one in named if not one.missing)]
    shown += _needed(launch) if launch is not None else _near(unwrapped.cwd, job)
    shown += [program] if program is not None else []
    view = _view(shown, [one.path.parent for one in named if one.missing], environ)
    variables = _meaning(environ)
    found = launch.env["PATH"].split(os.pathsep) if launch is not None else []
    path = [*found, *environ.get("PATH", os.defpath).split(os.pathsep)]
    variables["PATH"] = os.pathsep.join(dict.fromkeys(folder for folder in path if view.shows(folder)))
    told = dataclasses.replace(job, cwd=str(unwrapped.cwd), stands_for=words, environ=variables)
    return Sight(told, view, *_told_apart(launch))


def _told_apart(launch: Launch | None) -> tuple[str, str]:
    """What to say where the target is missing in the container, and where its server does not start there."""
    if launch is None:
        return "", ""
    program = Path(launch.argv[0])
    real = program.resolve()
    if in_system(real) and not in_system(program):
        return (
            f"  why: {program} leads to {real}, in a system folder of this machine, and the container has system folders"
            " of its own\n  cure: make the virtual environment from a Python that lies elsewhere (uv venv"
            " --managed-python), use --host local, or build the container's image on a base that has this Python:"
            f" {BUILD} --base IMAGE",
            "",
        )
    if not in_system(real):
        return "", ""
    return (
        "  why: the container has none of what is installed in the system folders of this machine (/usr, /bin, /lib)\n"
        "  cure: install the server into the project (npm install, or a virtual environment), or use --host local",
        f"  In the container {program.name} is the container's own, which has nothing that is installed for {program}"
        " of this machine. A server that needs packages needs them in the project or in a virtual environment.",
    )


def _for_image(job: Job, order: ImageOrder, environ: Mapping[str, str]) -> Sight:
    """What an image's server takes from this machine: what the user mounts, names or exposes."""
    settings, cwd = job.settings, Path(job.cwd)
    shown = [Path(mount.source) for mount in order.mounts if mount.source]
    if order.host_paths:
        named = places.named_paths(order.arguments, job.variables, cwd)
        shown += [one.path for one in named if not one.missing and not one.relative]
    shown += [*settings.expose, *([settings.workspace] if settings.workspace is not None else [])]
    return Sight(dataclasses.replace(job, environ=_meaning(environ)), _view(shown, [], environ))


def _for_package(job: Job, order: PackageOrder, environ: Mapping[str, str]) -> Sight:
    """What a package's server takes from this machine: what its arguments and variables name, and what is exposed."""
    settings, cwd = job.settings, Path(job.cwd)
    named = places.named_paths(order.arguments, settings.env, cwd)
    shown = [cwd, *(one.path for one in named if not one.missing), *settings.expose]
    shown += [settings.workspace] if settings.workspace is not None else []
    view = _view(shown, [one.path.parent for one in named if one.missing], environ)
    return Sight(dataclasses.replace(job, environ=_meaning(environ)), view)


def _view(shown: Iterable[Path], standing: Sequence[Path], environ: Mapping[str, str]) -> View:
    """The view of these paths; of a home or a folder of the machine among them only that it is there."""
    shown = list(shown)
    wide = [path for path in shown if too_wide(path.resolve(), environ)]
    narrow = [path for path in shown if path not in wide]
    return arrange(map(str, narrow), map(str, [*standing, *wide]))


def _meaning(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: environ[name] for name in _MEANING if name in environ}


def _program(
    words: tuple[str, ...], cwd: Path, environ: Mapping[str, str]
) -> tuple[tuple[str, ...], Path | None]:
    """The words and their program, None where there is no such program here.

    Where only a link to it is in the system's folders, which the container does not share, the words name it by
    its real place.
    """
    try:
        program = executables.locate(words[0], cwd=cwd, environ=environ)
    except TargetNotFoundError:
        return words, None
    real = program.resolve()
    if in_system(program) and not in_system(real):
        return (str(real), *words[1:]), real
    return words, program


def _needed(launch: Launch) -> list[Path]:
    """What the launch takes from this machine: its closure, the server's own code, the workspace."""
    needed = [Path(path) for path in launch.exposures]
    copied = [Path(seed.path) for seed in launch.seeds if seed.kind == "file"]
    # Seeded folders that hold none of these are only there to be written in.
    above = {folder for path in copied for folder in path.parents}
    folders = (Path(seed.path) for seed in launch.seeds if seed.kind == "dir")
    needed += copied
    needed += [folder for folder in folders if folder in above]
    if launch.workspace is not None and launch.workspace.source is not None:
        needed.append(launch.workspace.source)
    return needed


def _near(cwd: Path, job: Job) -> list[Path]:
    """What a server that cannot be resolved here is likely to need: the project around, and what was asked for."""
    project = project_of(cwd / "file")
    near = [project] if project is not None else []
    asked = job.settings.workspace
    return [*near, *job.settings.expose, *([asked] if asked is not None else [])]
