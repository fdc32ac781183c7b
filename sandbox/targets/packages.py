"""From an order for a package, and the layer in which it is installed, to a Launch.

The layer is a stranger's: it is read through a descriptor, no link of it is followed, and nothing of it is run.
Its paths are those of the box, which shows it at :data:`sandbox.targets.layers.ROOT`.
"""

from __future__ import annotations

import configparser
import dataclasses
import json
import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from sandbox.errors import TargetNotFoundError
from sandbox.linux.beneath import open_folder, open_regular, read_up_to
from sandbox.model import Json
from sandbox.targets import executables, node, python
from sandbox.targets.boundaries import absolute
from sandbox.targets.launch import Entry, Launch
from sandbox.targets.layers import NODE_ROOT, ROOT, Layer
from sandbox.targets.orders import Ecosystem, PackageOrder
from sandbox.targets.pathfiles import normalized
from sandbox.targets.resolve import launch_of

_READ_MOST = 4 << 20
"""Bytes of one file of a package that are read: a package.json or a list of entry points."""

_SERVER_WORD = re.compile(r"(^|[-_.])(mcp|server)([-_.]|$)", re.IGNORECASE)


def package_launch(
    order: PackageOrder,
    layer: Layer,
    *,
    command: tuple[str, ...],
    cwd: Path,
    environ: Mapping[str, str],
    env: Mapping[str, str] | None = None,
    expose: Sequence[Path] = (),
    workspace: Path | None = None,
) -> Launch:
    """Decide how to run a package's server in a box; nothing of the package is executed.

    ``command`` is what the user typed in ``cwd``; the rest as for :func:`sandbox.targets.resolve.resolve`.

    Raises:
        TargetNotFoundError: the package installs no program, or several of which none is the server by its name.
        UsageError: what cannot run in a box or would show a home.
    """
    start = absolute(cwd, Path.cwd())
    with Tree.open(layer.root) as tree:
        entry = (
            _of_npm(order, layer, tree, environ)
            if order.ecosystem is Ecosystem.NPM
            else _of_pypi(order, layer, tree, environ)
        )
    launch = launch_of(
        command,
        entry,
        cwd=start,
        folder=start,
        env=dict(env or {}),
        expose=expose,
        workspace=workspace,
        environ=environ,
    )
    installation = layer.installation
    shown = [(layer.root, ROOT), *([(layer.node, NODE_ROOT)] if layer.node else [])]
    return dataclasses.replace(
        launch,
        mounts=tuple(shown),
        digests={**launch.digests, "package": installation.digest, "lock": installation.lock},
        installation=installation,
    )


class Tree:
    """A layer's files, read through a descriptor of its root. Paths are relative to it."""

    def __init__(self, root: int) -> None:
        self._root = root

    @classmethod
    @contextmanager
    def open(cls, root: str) -> Iterator[Tree]:
        """The tree of a folder, for the length of the block. Raises OSError."""
        opened = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield cls(opened)
        finally:
            os.close(opened)

    def names(self, folder: str) -> list[str]:
        """What is in a folder, sorted; nothing where there is none, or one that is a link."""
        try:
            opened = open_folder(self._root, folder)
        except OSError:
            return []
        try:
            return sorted(os.listdir(opened))
        finally:
            os.close(opened)

    def read(self, path: str, most: int = _READ_MOST) -> bytes | None:
        """The content of a regular file up to a bound in bytes; None where it is none, or a link."""
        try:
            opened, _ = open_regular(self._root, path)
        except OSError:
            return None
        try:
            return read_up_to(opened, most)
        finally:
            os.close(opened)

    def json(self, path: str) -> Mapping[str, Json]:
        """The object in a JSON file; empty where there is none that can be read."""
        try:
            found = json.loads(self.read(path) or b"null")
        except (ValueError, RecursionError):
            return {}
        return found if isinstance(found, dict) else {}


# --- npm --------------------------------------------------------------------------------------------


def _of_npm(order: PackageOrder, layer: Layer, tree: Tree, environ: Mapping[str, str]) -> Entry:
    folder = f"node_modules/{layer.name}"
    facts = tree.json(f"{folder}/package.json")
    programs = {name: posixpath.normpath(file) for name, file in node.bins(facts).items()}
    name = _chosen(order, layer.name.rpartition("/")[2], programs)
    script = posixpath.normpath(f"{folder}/{programs[name]}")
    if tree.read(script) is None:
        raise TargetNotFoundError(
            f"{_spelled(layer)}: its program {name} is {programs[name]}, which is not in the package."
        )
    program, closure, version = _node(layer, environ)
    return Entry(
        argv=(program, f"{ROOT}/{script}"),
        arguments=order.arguments,
        closure=closure,
        bins=(Path(program).parent, Path(ROOT, "node_modules/.bin")),
        versions={**({"node": version} if version else {}), layer.name: layer.version},
    )


def _node(layer: Layer, environ: Mapping[str, str]) -> tuple[str, tuple[Path, ...], str]:
    """The node that a layer runs on, what it needs of this machine, and its version as far as that is known."""
    version = layer.installation.runtime.get("node", "")
    if layer.node:
        return f"{NODE_ROOT}/bin/node", (), version
    program = executables.locate("node", cwd=Path("/"), environ=environ)
    return str(program), tuple(node.node_closure(program, environ)), version


# --- PyPI -------------------------------------------------------------------------------------------


def _of_pypi(order: PackageOrder, layer: Layer, tree: Tree, environ: Mapping[str, str]) -> Entry:
    interpreter = python.read_interpreter(Path(layer.interpreter))
    return Entry(
        argv=server_program(order, layer, tree),
        arguments=order.arguments,
        closure=tuple(python.base_closure(interpreter, environ)),
        bins=(Path(ROOT, "bin"),),
        versions={"python": interpreter.version, layer.name: layer.version},
    )


def server_program(order: PackageOrder, layer: Layer, tree: Tree) -> tuple[str, ...]:
    """What starts the server of a package of PyPI, in a box that shows its layer. Raises TargetNotFoundError."""
    site = site_folder(tree)
    scripts = {name: name for name in console_scripts(tree, site, layer.name)}
    if scripts or order.command:
        return (f"{ROOT}/bin/{_chosen(order, layer.name, scripts)}",)
    return (f"{ROOT}/bin/python", "-m", _module(layer, tree, site))


def site_folder(tree: Tree) -> str:
    """The folder of an environment's installed packages, relative to its root; "" where there is none."""
    for name in tree.names("lib"):
        if re.fullmatch(r"(python|pypy)3[.\d]*t?", name):
            return f"lib/{name}/site-packages"
    return ""


def distributions(tree: Tree, site: str) -> dict[str, tuple[str, str]]:
    """What is installed in a site-packages folder: normalized name -> (version, folder of its metadata)."""
    found = {}
    for folder in tree.names(site):
        name, dash, version = folder.removesuffix(".dist-info").partition("-")
        if folder.endswith(".dist-info") and dash:
            found[normalized(name)] = (version, f"{site}/{folder}")
    return found


def console_scripts(tree: Tree, site: str, name: str) -> list[str]:
    """The commands that a distribution installs into the environment's ``bin``, sorted."""
    _, folder = distributions(tree, site).get(normalized(name), ("", ""))
    listed = configparser.RawConfigParser(delimiters=("=",), strict=False, interpolation=None)
    listed.optionxform = str  # type: ignore[assignment,method-assign]
    try:
        listed.read_string((tree.read(f"{folder}/entry_points.txt") or b"").decode("utf-8", "replace"))
        scripts = set(listed["console_scripts"]) if listed.has_section("console_scripts") else set()
    except configparser.Error:
        scripts = set()
    record = (tree.read(f"{folder}/RECORD") or b"").decode("utf-8", "replace")
    scripts |= set(re.findall(r"^(?:\.\./)+bin/([^/,\s]+),", record, re.MULTILINE))
    return sorted(each for each in scripts if "/" not in each and each not in {"", ".", ".."})


def _module(layer: Layer, tree: Tree, site: str) -> str:
    """The package that ``python -m`` runs, for a distribution without commands."""
    for name in (
        layer.name.replace("-", "_"),
        layer.name.replace("-", "_").lower(),
        normalized(layer.name).replace("-", "_"),
    ):
        if tree.read(f"{site}/{name}/__main__.py") is not None or tree.read(f"{site}/{name}.py") is not None:
            return name
    raise TargetNotFoundError(
        f"{_spelled(layer)}: it installs no program, so there is no server to start. Is it a library?"
    )


# --- which program ------------------------------------------------------------------------------------


def _chosen(order: PackageOrder, own: str, programs: Mapping[str, str]) -> str:
    """The program that is the server: the one asked for, the only one, the one named as the package, or the only one
    that is called a server."""
    if order.command:
        if order.command in programs:
            return order.command
        raise TargetNotFoundError(_which(order, f"it installs no program {order.command!r}", programs))
    if len(set(programs.values())) == 1:
        return next(iter(programs))
    for name in programs:
        if normalized(name) == normalized(own):
            return name
    servers = [name for name in programs if _SERVER_WORD.search(name)]
    if len(servers) == 1:
        return servers[0]
    if not programs:
        raise TargetNotFoundError(
            f"{order.name}: it installs no program, so there is no server to start. Is it a library?"
        )
    raise TargetNotFoundError(_which(order, "it installs several programs", programs))


def _which(order: PackageOrder, why: str, programs: Mapping[str, str]) -> str:
    way = f"npx --package {order.name}" if order.ecosystem is Ecosystem.NPM else f"uvx --from {order.name}"
    return f"{order.name}: {why}. Name one as the server: -- {way} PROGRAM. There are: {', '.join(sorted(programs)) or 'none'}."


def _spelled(layer: Layer) -> str:
    return layer.installation.package
