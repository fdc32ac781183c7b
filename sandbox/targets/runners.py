"""``npx``, ``uvx``, ``uv run``, ``pipx run``: the command that they would run, where it is installed already.

A box reaches no registry, so nothing is ever installed here: what is missing is one error that says what to
type. Running the server's own command also saves the runner's start (about 600 ms for npx).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import UsageError
from sandbox.targets import npmrunner, pythonrunner
from sandbox.targets.boundaries import absolute


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """The server's own command line, and the folder that the runner would have started it in."""

    words: tuple[str, ...]
    cwd: Path


_ELSEWHERE = {
    "docker": "a container",
    "podman": "a container",
    "sudo": "another user",
    "ssh": "another machine",
    "wsl": "another machine",
}

_WRAPPERS = frozenset(
    {"env", "nohup", "timeout", "nice", "time", "xargs", "cmd", "concurrently", "nodemon", "make"}
)

_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "fish"})


def unwrap(words: Sequence[str], *, cwd: Path, environ: Mapping[str, str]) -> Unwrapped:
    """Replace a runner by what it would run; any other command is returned as it is.

    Raises TargetNotFoundError with the command that installs the package, UsageError for a runner whose work
    cannot be foreseen.
    """
    name, rest = Path(words[0]).name, list(words[1:])
    if name == "npx" or (name == "npm" and rest[:1] in (["exec"], ["x"])):
        return Unwrapped(npmrunner.npx(rest if name == "npx" else rest[1:], cwd=cwd, environ=environ), cwd)
    if name == "uvx":
        return Unwrapped(pythonrunner.uvx(rest, cwd=cwd, environ=environ), cwd)
    if name == "uv":
        command, folder = pythonrunner.uv(rest, cwd=cwd, environ=environ)
        return Unwrapped(command, absolute(folder, cwd))
    if name == "pipx":
        return Unwrapped(pythonrunner.pipx(rest, cwd=cwd, environ=environ), cwd)
    if name in {"bunx", "pnpx"} or (
        name in {"bun", "pnpm", "yarn"} and rest[:1] in (["x"], ["dlx"], ["exec"])
    ):
        raise UsageError(
            f"{name}: not followed. Install the package into the project and write `npx NAME` instead."
        )
    if name in {"npm", "pnpm", "yarn"}:
        raise UsageError(f"{name}: runs a script of package.json. Name the command in that script instead.")
    if name in _ELSEWHERE:
        raise UsageError(
            f"{name}: starts the server in {_ELSEWHERE[name]}, out of the box. Name the server's own command."
        )
    if name in _WRAPPERS or (name in _SHELLS and "-c" in rest):
        raise UsageError(
            f"{name}: only wraps the server. Name the server's own command (variables go to -e)."
        )
    return Unwrapped(tuple(words), cwd)
