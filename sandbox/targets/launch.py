"""What a target resolves to: everything a box needs to run the server, decided without running any of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.model import HOME, ImageRoot, Installation, SeedEntry


@dataclass(frozen=True, slots=True)
class WorkspacePlace:
    """Where the server works: ``at`` is an absolute path in the box.

    ``source`` is the user's file or folder that is copied there (never touched itself), or None where
    the engine furnishes the place on its own.
    """

    at: str
    source: Path | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """One server, ready for a box.

    ``command`` is what the user typed, ``argv`` what runs in the box; ``cwd`` is "" where the server belongs
    into the workspace that the engine furnishes. ``exposures`` are real, absolute host paths outside the
    system folders, none inside another. ``seeds`` are the server's own code, symbolic links that lead to the
    exposures and copies of further paths among the arguments; a seed inside an exposure belongs on top of it.
    ``workspace`` is None where no argument names one. ``hosts`` are the names that the user gave the server:
    its closed world. ``notes`` are sentences about what was left out, for the report. With an ``image`` the box
    shows its files in place of the host's; ``mounts`` are folders of the host (first) that the box shows at
    another path (second). ``installation`` is how the server's package was installed, where that was done for it.
    """

    command: tuple[str, ...]
    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    exposures: tuple[str, ...]
    seeds: tuple[SeedEntry, ...]
    workspace: WorkspacePlace | None
    hosts: tuple[str, ...]
    versions: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    image: ImageRoot | None = None
    mounts: tuple[tuple[str, str], ...] = ()
    installation: Installation | None = None

    @property
    def home(self) -> str:
        """The home of the server's user in its box."""
        return HOME if self.image is None else self.image.home


@dataclass(frozen=True, slots=True)
class Entry:
    """The part of a command that is the server itself, told apart from the server's arguments.

    ``argv`` starts it, ``arguments`` follow. ``closure`` are the paths that it needs to run, ``own`` the
    folder of its own code (None for code installed among other packages), ``script`` the file that holds the
    program, ``bins`` the folders for PATH, ``env`` what its runtime needs to find its packages. ``relative``
    says that the program was named relative to the folder that the user stood in.
    """

    argv: tuple[str, ...]
    arguments: tuple[str, ...]
    closure: tuple[Path, ...]
    own: Path | None = None
    script: Path | None = None
    bins: tuple[Path, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    relative: bool = False
    notes: tuple[str, ...] = ()
