"""What the engine tells the launcher daemon, and how a failed step is told back."""

from __future__ import annotations

import dataclasses
import errno
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sandbox.model import Json

SERVER_ID = 1000
"""User id and group id of a server in a box of the host's system, wherever ids can be chosen."""

GO = b"go"
"""Sent on a box's socket when its server may be executed."""


@dataclass(frozen=True, slots=True)
class LayerOrder:
    """A folder of the host that the box sees, through an overlay, at ``path``."""

    path: str
    lower: str


@dataclass(frozen=True, slots=True)
class Order:
    """One box to build. Paths are absolute.

    ``env`` is the server's whole environment. No layer lies inside another one. ``folders`` (path, permission
    bits), ``links`` (path, target) and ``files`` (path in the box, path on the host) are put into the root
    before the seeds; ``seeds`` is the name of a set registered before, or "". ``image`` is the folder of the host
    that the root shows, or "" for the host's own system. ``user`` and ``group`` are the ids that the server wants.
    ``watch_files`` says whether its calls that change files are recorded.
    Sizes are bytes.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    home: str
    layers: tuple[LayerOrder, ...]
    folders: tuple[tuple[str, int], ...]
    links: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str], ...]
    seeds: str
    processes: int
    file_size: int
    open_files: int
    disk_size: int
    image: str = ""
    user: int = SERVER_ID
    group: int = SERVER_ID
    watch_files: bool = True

    def encode(self) -> bytes:
        """The order as JSON."""
        return json.dumps(dataclasses.asdict(self)).encode()

    @classmethod
    def decode(cls, data: bytes) -> Order:
        """Read what :meth:`encode` wrote."""
        raw = json.loads(data)
        return cls(
            argv=tuple(raw["argv"]),
            env=raw["env"],
            cwd=raw["cwd"],
            home=raw["home"],
            layers=tuple(LayerOrder(**layer) for layer in raw["layers"]),
            folders=tuple((path, mode) for path, mode in raw["folders"]),
            links=tuple((path, target) for path, target in raw["links"]),
            files=tuple((path, source) for path, source in raw["files"]),
            seeds=raw["seeds"],
            processes=raw["processes"],
            file_size=raw["file_size"],
            open_files=raw["open_files"],
            disk_size=raw["disk_size"],
            image=raw["image"],
            user=raw["user"],
            group=raw["group"],
            watch_files=raw["watch_files"],
        )


class StepError(Exception):
    """A step of building a box failed; ``number`` is the errno."""

    def __init__(self, step: str, number: int, text: str) -> None:
        super().__init__(f"{step}: {text}")
        self.step = step
        self.number = number
        self.text = text

    def encode(self) -> bytes:
        """The failure as a message of a box's socket."""
        return json.dumps({"failed": [self.step, self.number, self.text]}).encode()

    @classmethod
    def decode(cls, failed: Json) -> StepError:
        """Read the value of ``failed`` in such a message."""
        match failed:
            case [str(step), int(number), str(text)]:
                return cls(step, number, text)
        return cls("read a failure", errno.EPROTO, repr(failed))


@contextmanager
def step(name: str) -> Iterator[None]:
    """Name what is being done, so that a failure tells which part of a sandbox this machine lacks."""
    try:
        yield
    except OSError as error:
        raise StepError(name, error.errno or 0, error.strerror or str(error)) from error
