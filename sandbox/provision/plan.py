"""What an installation is made of and what came of it, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sandbox.model import Effect, Instrument, Limits, SeedEntry

if TYPE_CHECKING:  # the limits are read where no Linux is, and boxes are not
    from sandbox.boxes.plan import Exposure

INSTALL_LIMITS = Limits(memory_mb=4096, processes=1024, file_mb=1024, disk_mb=4096, open_files=8192)
"""What the box of an installation may use: a compiler or a large wheel needs more than a server does."""

INSTALL_SECONDS = 900.0
"""How long an installation may take."""


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """One command that installs something, and the one folder that it is run for. Paths are absolute in the box.

    ``folder`` begins with what ``seeds`` put below it and belongs to the command's user; it is what is kept when the
    command exits with 0. Each folder of ``aside`` is the installer's own (a cache, its logs): it begins empty or with its seeds,
    nothing in it counts as an effect, and it is thrown away; the first is the command's TMPDIR. Only what lies in one folder can be hard linked and
    renamed within it. ``cwd`` is ``folder`` unless said. ``env`` is laid over the box's own environment, in which
    the machine's certificates are named for every common client.

    ``hosts`` are the registries, ``HOST:PORT`` (``http://HOST:PORT`` for one without TLS): nothing else is reached, and no
    other name is asked for outside of the machine. ``addresses`` says where a host lies that no name service knows. ``certificates``
    are PEM, those that this machine trusts when None. ``canaries`` plants decoy secrets in HOME, apart from those that installers read
    as their own settings. ``seconds`` bounds the whole.
    """

    argv: tuple[str, ...]
    folder: str
    hosts: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    aside: tuple[str, ...] = ()
    exposures: tuple[Exposure, ...] = ()
    seeds: tuple[SeedEntry, ...] = ()
    addresses: Mapping[str, str] = field(default_factory=dict)
    certificates: bytes | None = None
    canaries: bool = True
    limits: Limits = INSTALL_LIMITS
    seconds: float = INSTALL_SECONDS


@dataclass(frozen=True, slots=True)
class Tree:
    """The folder of an installation as it was copied out.

    ``digest`` covers paths, types, permission bits, contents and link targets of all of it, and no times or
    owners. ``entries`` counts everything in it, ``size`` the bytes of its files. ``left_out`` are sentences about what could
    not be kept (devices, links that lead out, ...), the first of them; ``left_out_count`` says of how many.
    """

    digest: str
    entries: int
    size: int
    left_out: tuple[str, ...] = ()
    left_out_count: int = 0


@dataclass(frozen=True, slots=True)
class Relayed:
    """What passed between the box and one registry, in bytes as the box sees it."""

    host: str
    connections: int
    received: int
    sent: int


@dataclass(frozen=True, slots=True)
class Installed:
    """What came of an installation.

    ``status`` is the command's exit code or minus its signal; None when it was ended for its time or for a limit. ``stopped`` says
    why in that case, one sentence. ``stdout`` and ``stderr`` are the last of what it wrote (64 KiB each, unescaped). ``tree`` is None unless
    ``status`` is 0. ``effects`` are those outside of ``folder`` and ``aside``; contacts with ``hosts`` are none, they are counted
    in ``relayed``. ``refused`` are the other places that it wanted to reach, ``HOST:PORT``, in the order of the first time;
    ``unreached`` are sentences about registries that could not be reached.
    ``limits_hit`` are names and sentences; ``missing`` are instruments that did not work for the whole time.
    """

    status: int | None
    seconds: float
    stdout: str
    stderr: str
    tree: Tree | None = None
    effects: tuple[Effect, ...] = ()
    relayed: tuple[Relayed, ...] = ()
    refused: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()
    stopped: str = ""
    limits_hit: tuple[tuple[str, str], ...] = ()
    missing: frozenset[Instrument] = frozenset()
