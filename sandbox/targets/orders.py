"""One server as the user named it: read from words or a file, not yet resolved, provisioned or run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from sandbox.targets.dockerrun import ImageOrder


class Ecosystem(StrEnum):
    """Where a package comes from, by the name that targets give it."""

    NPM = "npm"
    PYPI = "pypi"


@dataclass(frozen=True, slots=True)
class PackageOrder:
    """A server that is a package of a registry.

    ``version`` is exact, a tag or a range, "" for the newest; ``extras`` (PyPI) are names; ``pins`` are further
    requirements to install beside it (``--with``, such as ``pydantic<2.12``). ``command`` is which of its programs is
    the server, "" for the package's own. ``arguments`` are the server's. ``scripts`` says whether what the package wants
    run at its installation may run. ``python`` is the version of Python to run it on (PyPI; such as ``3.12``), "" for any
    that the package accepts.
    """

    ecosystem: Ecosystem
    name: str
    version: str = ""
    extras: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    command: str = ""
    arguments: tuple[str, ...] = ()
    scripts: bool = True
    python: str = ""


@dataclass(frozen=True, slots=True)
class Need:
    """Something that a server asks for and that nobody has given: ``name`` as the server knows it.

    ``kind`` is ``env``, ``argument`` or ``input``; ``why`` a sentence of the server's or its file's; ``default`` and
    ``choices`` what is acceptable ("" and () where nothing is known); ``form`` is ``string``, ``number``, ``boolean``,
    ``file`` or ``directory``, "" where nothing is known. A ``secret`` one is filled with a canary.
    """

    kind: str
    name: str
    why: str = ""
    secret: bool = False
    default: str = ""
    choices: tuple[str, ...] = ()
    form: str = ""


@dataclass(frozen=True, slots=True)
class Order:
    """One server to verify, of perhaps many that one command names. Plain data.

    ``name`` is for tables: what the user typed, or ``FILE#server``; ``words`` name it again on a command line. One of
    ``command`` (to be resolved in ``cwd``), ``package``, ``image`` and ``url`` says what it is. ``env`` are the file's
    variables, all of them secrets; ``headers`` are those of a URL. ``transport``, ``port`` and ``path`` are "" or 0 where
    nothing was said. ``needs`` is what the file asks for and nobody gave. ``notes`` are sentences for the report.
    """

    name: str
    words: tuple[str, ...]
    cwd: str
    command: tuple[str, ...] = ()
    package: PackageOrder | None = None
    image: ImageOrder | None = None
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    transport: str = ""
    port: int = 0
    path: str = ""
    needs: tuple[Need, ...] = ()
    secrets: tuple[str, ...] = ()
    problem: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """What the user gives on the command line for all servers named in it: variables of ``-e``, and the values of
    ``--set`` by name (a name given several times has several).
    """

    env: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
