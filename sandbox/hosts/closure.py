"""What of this Linux machine a container has to see to run a server: what the local host would show its box."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sandbox.containers.ownimage import BUILD
from sandbox.errors import TargetNotFoundError
from sandbox.hosts.job import Job
from sandbox.hosts.mounts import Sight, arrange
from sandbox.targets import executables, places, runners
from sandbox.targets.boundaries import in_system, too_wide
from sandbox.targets.launch import Launch
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
    settings = job.settings
    unwrapped = runners.unwrap(job.command, cwd=Path(job.cwd), environ=environ)
    words = _led_out_of_the_system(unwrapped.words, unwrapped.cwd, environ)
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
    shown, standing = _named(words, settings.env, unwrapped.cwd, environ)
    shown += _needed(launch, environ) if launch is not None else _near(unwrapped.cwd, job, environ)
    view = arrange(map(str, shown), map(str, standing))
    variables = {name: environ[name] for name in _MEANING if name in environ}
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


def _led_out_of_the_system(words: tuple[str, ...], cwd: Path, environ: Mapping[str, str]) -> tuple[str, ...]:
    """A program by its real place where only a link to it is in the system's folders, which the container does
    not share."""
    try:
        program = executables.locate(words[0], cwd=cwd, environ=environ)
    except TargetNotFoundError:
        return words
    real = program.resolve()
    return (str(real), *words[1:]) if in_system(program) and not in_system(real) else words


def _named(
    words: Sequence[str], variables: Mapping[str, str], cwd: Path, environ: Mapping[str, str]
) -> tuple[list[Path], list[Path]]:
    """What the words and variables name: the paths to show, and the folders that only have to be there."""
    shown: list[Path] = []
    standing: list[Path] = []
    (standing if too_wide(cwd.resolve(), environ) else shown).append(cwd)
    for named in places.named_paths(words[1:], variables, cwd):
        if named.missing:
            standing.append(named.path.parent)
        elif too_wide(named.path.resolve(), environ):
            standing.append(named.path)
        else:
            shown.append(named.path)
    return shown, standing


def _needed(launch: Launch, environ: Mapping[str, str]) -> list[Path]:
    """What the launch takes from this machine: its closure, the server's own code, the workspace."""
    needed = [Path(path) for path in launch.exposures]
    copied = [Path(seed.path) for seed in launch.seeds if seed.kind == "file"]
    # Seeded folders that hold none of these are only there to be written in.
    above = {folder for path in copied for folder in path.parents}
    folders = (Path(seed.path) for seed in launch.seeds if seed.kind == "dir")
    needed += copied
    needed += [folder for folder in folders if folder in above and not too_wide(folder, environ)]
    if launch.workspace is not None and launch.workspace.source is not None:
        needed.append(launch.workspace.source)
    return needed


def _near(cwd: Path, job: Job, environ: Mapping[str, str]) -> list[Path]:
    """What a server that cannot be resolved here is likely to need: the project around, and what was asked for."""
    project = project_of(cwd / "file")
    near = [] if project is None or too_wide(project, environ) else [project]
    asked = job.settings.workspace
    return [*near, *job.settings.expose, *([asked] if asked is not None else [])]
