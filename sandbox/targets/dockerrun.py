"""Commands whose server is an image: ``oci:IMAGE``, ``--image IMAGE`` and ``docker run``, read but never run."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.errors import TargetNotFoundError, UsageError
from sandbox.targets import mounts
from sandbox.targets.dockeroptions import Given, Treatment, split_options
from sandbox.targets.mounts import Mount

PREFIX = "oci:"
"""What a target begins with that names an image."""

_PROGRAMS = frozenset({"docker", "podman"})
_ARCHIVE_SUFFIXES = (".tar", ".tar.gz", ".tgz")

# The grammar of image references (distribution/reference), without its length rules.
_DOMAIN = r"(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(?::\d+)?"
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"(?:{_DOMAIN}/)?{_COMPONENT}(?:/{_COMPONENT})*(?::\w[\w.-]{{0,127}})?(?:@[a-z0-9+._-]+:[0-9a-fA-F]{{32,}})?"
)

_ENGINE_OPTIONS = frozenset({"--config", "--context", "-c", "--host", "-H", "--connection", "--url"})
_VARIABLE = re.compile(r"[^=\s]+")


@dataclass(frozen=True, slots=True)
class ImageOrder:
    """A server that lies in an image, and how the user wants it started. Plain data.

    ``command`` is what the user typed, but that ``-e NAME=VALUE`` is ``-e NAME``: no value is told to anybody, and
    where the command is run again it is taken from the shell. ``image`` is a reference (``mcp/time:latest``) or the absolute path of
    an archive or OCI layout. ``entrypoint`` replaces the image's (None: the image's own), ``arguments`` its
    command. ``user``, ``groups`` (``--group-add``), ``workdir`` and ``platform`` are "" or empty where the image
    decides. ``env`` are variables given with ``-e`` and ``--env-file``, all of them secrets. ``hosts`` are names
    given with ``--add-host``. ``host_paths`` says that an argument which names a file of the host means that
    file; a container has mounts for that. ``notes`` are sentences for the report.
    """

    command: tuple[str, ...]
    image: str
    arguments: tuple[str, ...] = ()
    entrypoint: tuple[str, ...] | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[Mount, ...] = ()
    user: str = ""
    groups: tuple[str, ...] = ()
    workdir: str = ""
    platform: str = ""
    pull: str = "missing"
    hosts: tuple[str, ...] = ()
    host_paths: bool = True
    notes: tuple[str, ...] = ()

    @property
    def is_archive(self) -> bool:
        """Whether the image is a file or folder of this machine."""
        return self.image.startswith("/")


def image_order(
    command: Sequence[str], *, image: str = "", cwd: Path, environ: Mapping[str, str] | None = None
) -> ImageOrder | None:
    """The order that a command is, or None where its server is no image.

    ``command`` is ``oci:IMAGE`` with arguments, or ``docker run ...``; with ``image`` (``--image``) it runs in
    that image, in place of the image's own entrypoint, which runs where ``command`` is empty. ``environ`` (the
    process's by default) is where ``-e NAME`` takes its value. No engine is asked.

    Raises:
        UsageError: an option that cannot be honoured or does not exist, or what is no image.
        TargetNotFoundError: an archive or --env-file that is not there.
    """
    host = os.environ if environ is None else environ
    words = tuple(command)
    first = words[0] if words else ""
    runs_container = Path(first).name in _PROGRAMS and first != ""
    if image:
        if first.startswith(PREFIX) or runs_container:
            raise UsageError(
                f"--image {image}: the command {first} names an image as well. Leave one of them out."
            )
        located = _located(image, cwd)
        if not words:
            return ImageOrder((f"{PREFIX}{image}",), located)
        return ImageOrder(words, located, words[1:], words[:1])
    if first.startswith(PREFIX):
        return ImageOrder(words, _located(first.removeprefix(PREFIX), cwd), words[1:])
    return _of_docker_run(words, cwd, host) if runs_container else None


def _located(image: str, cwd: Path) -> str:
    """The image as a reference, or as the absolute path of an archive."""
    path = Path(os.path.normpath(cwd / image))
    if image.startswith(("/", "./", "../")) or image in (".", ".."):
        if not path.exists():
            raise TargetNotFoundError(
                f"{image}: there is no such archive. Make one with docker save -o {path.name} IMAGE."
            )
        return str(path)
    if image.endswith(_ARCHIVE_SUFFIXES) and path.is_file():
        return str(path)
    if not _REFERENCE.fullmatch(image):
        lower = " Names of images are lower case." if _REFERENCE.fullmatch(image.lower()) else ""
        raise UsageError(
            f"{image!r}: no image is named like that.{lower} Write NAME:TAG, or ./FILE for an archive."
        )
    return image


def _of_docker_run(words: tuple[str, ...], cwd: Path, environ: Mapping[str, str]) -> ImageOrder:
    program = Path(words[0]).name
    options, rest = split_options(_after_run(words, program), program)
    if not rest:
        raise UsageError(f"{program} run: no image is named.")
    by_name: dict[str, list[Given]] = {}
    for given in options:
        by_name.setdefault(given.option.name, []).append(given)

    def values(name: str) -> list[str]:
        return [given.value for given in by_name.get(name, ())]

    def last(name: str, default: str = "") -> str:
        return next(iter(reversed(values(name))), default)

    if rest[0].startswith(("/", ".")):
        raise UsageError(f"{program} run {rest[0]}: name an archive as {PREFIX}{rest[0]} instead.")
    pull = last("pull", "missing")
    if pull not in ("always", "missing", "never", "newer"):
        raise UsageError(f"{program} run --pull {pull}: it is always, missing or never.")
    workdir = last("workdir")
    if workdir and not workdir.startswith("/"):
        raise UsageError(f"{program} run -w {workdir}: a folder in the image is named by an absolute path.")
    entrypoint = last("entrypoint")
    placed, left_out = _copyable(
        _each_target_once(
            [
                *(mounts.of_tmpfs(value) for value in values("tmpfs")),
                *(mounts.of_volume(given.value, cwd, given.spelled) for given in by_name.get("volume", ())),
                *(mounts.of_mount(value, cwd) for value in values("mount")),
            ]
        )
    )
    return ImageOrder(
        command=_without_values(words, len(words) - len(rest), values("env")),
        image=_located(rest[0], cwd),
        arguments=rest[1:],
        entrypoint=None if "entrypoint" not in by_name else (entrypoint,) if entrypoint else (),
        env={
            **_from_files(values("env-file"), cwd, environ),
            **_variables(values("env"), environ, f"{program} run -e"),
        },
        mounts=placed,
        user=last("user"),
        groups=tuple(values("group-add")),
        workdir=workdir,
        platform=last("platform"),
        pull=pull,
        hosts=tuple(re.split("[:=]", value)[0].lower() for value in values("add-host")),
        host_paths=False,
        notes=(*_notes(options, program), *left_out),
    )


def _after_run(words: tuple[str, ...], program: str) -> tuple[str, ...]:
    """The words after ``docker run`` or ``docker container run``."""
    rest = words[1:]
    if rest and rest[0].partition("=")[0] in _ENGINE_OPTIONS:
        raise UsageError(
            f"{program} {rest[0]}: name the engine by DOCKER_HOST instead, and begin with {program} run."
        )
    if rest[:2] == ("container", "run"):
        return rest[2:]
    if rest[:1] == ("run",):
        return rest[1:]
    what = " ".join(rest[:2]) or "alone"
    raise UsageError(
        f"{program} {what}: only {program} run starts a server from an image that can be put into a box."
    )


def _without_values(words: tuple[str, ...], end: int, variables: Sequence[str]) -> tuple[str, ...]:
    """The words, those of the first ``end`` that give a variable a value without it."""
    given = {word: word.partition("=")[0] for word in variables if "=" in word}
    kept = list(words)
    for at, word in enumerate(words[:end]):
        for variable, name in given.items():
            if word.endswith(variable):
                kept[at] = word.removesuffix(variable) + name
    return tuple(kept)


def _variables(words: Sequence[str], environ: Mapping[str, str], where: str) -> dict[str, str]:
    """``NAME=VALUE``, or ``NAME`` with the value that the host has; without one the variable is not set."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not _VARIABLE.fullmatch(name) or "\0" in word:
            raise UsageError(f"{where} {name!r}: that is no variable's name.")
        if equals:
            found[name] = value
        elif name in environ:
            found[name] = environ[name]
    return found


def _from_files(names: Sequence[str], cwd: Path, environ: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        try:
            text = Path(cwd, name).read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise TargetNotFoundError(f"--env-file {name}: cannot be read ({error}).") from error
        # As docker reads it: no quotes, no escapes, blanks only before the name.
        lines = [line.lstrip() for line in text.splitlines()]
        found |= _variables(
            [line for line in lines if line and not line.startswith("#")], environ, f"--env-file {name}:"
        )
    return found


def _each_target_once(found: Sequence[Mount]) -> tuple[Mount, ...]:
    by_target: dict[str, Mount] = {}
    for mount in found:
        if mount.target in by_target:
            raise UsageError(f"{mount.target} is mounted twice. Name it once.")
        by_target[mount.target] = mount
    return tuple(by_target[target] for target in sorted(by_target))


def _copyable(found: Sequence[Mount]) -> tuple[tuple[Mount, ...], list[str]]:
    """The mounts but those of sockets and devices, and what to say of these: no server is ever handed Docker's."""
    special = [
        mount
        for mount in found
        if mount.source
        and os.path.exists(mount.source)
        and not (os.path.isdir(mount.source) or os.path.isfile(mount.source))
    ]
    notes = [f"{mount.source} is left out: it is a socket, a FIFO or a device." for mount in special]
    return tuple(mount for mount in found if mount not in special), notes


def _notes(options: Sequence[Given], program: str) -> list[str]:
    idle = [
        f"{given.spelled} {given.value}".rstrip()
        for given in options
        if given.option.treatment is Treatment.WITHOUT_MEANING
    ]
    if not idle:
        return []
    verb = "has" if len(idle) == 1 else "have"
    return [
        f"Of {program} run's options {', '.join(dict.fromkeys(idle))} {verb} no meaning in a box and"
        f" {'was' if len(idle) == 1 else 'were'} not followed."
    ]
