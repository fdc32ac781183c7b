"""What a box is made of, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox.model import HOME, ImageRoot, Limits, SeedEntry


@dataclass(frozen=True, slots=True)
class Exposure:
    """A file or folder of the host that the box sees at the same path, or a folder that it sees at the path ``at``.

    A folder is a lower layer: what the server changes there stays in the box. A file is copied in. One that
    does not exist is left out. A folder with an ``at`` hides what an image has there.
    """

    path: str
    at: str = ""


@dataclass(frozen=True, slots=True)
class BoxPlan:
    """One box to launch. Paths are absolute and mean the same on the host and in the box.

    ``env`` is all that the server's environment holds beside HOME, USER, LOGNAME, SHELL, PATH and LANG, which it may override.
    ``canaries`` are paths of seeds whose opening is watched. ``stdout_is_log`` says that the server is not spoken to over its
    pipes: what it writes to stdout is kept with its stderr. With an ``image`` the box shows its files in place of the host's
    system folders, and the server's ids and HOME are the image's. Without ``watch_files``, what
    is changed in files is seen as ever, but not who does it: where tens of thousands are written, asking takes longer than
    writing.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = HOME
    exposures: tuple[Exposure, ...] = ()
    seeds: tuple[SeedEntry, ...] = ()
    home: str = HOME
    canaries: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    stdout_is_log: bool = False
    image: ImageRoot | None = None
    watch_files: bool = True
