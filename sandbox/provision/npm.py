"""The recipe for packages of npm: the machine's npm installs, on the Node that the package asks for."""

from __future__ import annotations

import dataclasses
import json
import platform
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from sandbox.boxes.plan import Exposure
from sandbox.errors import InstallError, TargetNotFoundError
from sandbox.model import Installation, Json, SeedEntry, digest_of
from sandbox.provision.layers import Draft
from sandbox.provision.plan import InstallPlan
from sandbox.provision.recipe import ASIDE, Kitchen, effects_of, notes_of, now
from sandbox.provision.registries import NpmSettings, hosts_of, npm_settings
from sandbox.targets import executables, node
from sandbox.targets.layers import NODE_ROOT, ROOT, Layer
from sandbox.targets.orders import Ecosystem, PackageOrder
from sandbox.targets.packages import Tree

NAME = re.compile(r"(?:@[a-z0-9~-][a-z0-9._~-]*/)?[a-zA-Z0-9~-][a-zA-Z0-9._~-]*")
_VERSION = re.compile(r"\d+\.\d+\.\d+[0-9A-Za-z.+-]*")
_LOCK_MOST = 32 << 20

_PROCESSORS = {"x86_64": "x64", "aarch64": "arm64"}

_LOOK_UP = """
const {spawnSync} = require('child_process'), path = require('path');
const [npm, spec] = process.argv.slice(1);
const asked = spawnSync(process.execPath,
  [npm, 'view', spec, 'name', 'version', 'engines', 'dist.tarball', '--json'], {encoding: 'utf8', maxBuffer: 1 << 28});
if (asked.status !== 0) { process.stderr.write(asked.stderr || String(asked.error)); process.exit(1); }
const semver = require(path.join(path.dirname(npm), '..', 'node_modules', 'semver'));
let found = JSON.parse(asked.stdout || 'null');
if (Array.isArray(found)) found = found.sort((a, b) => semver.compare(a.version, b.version)).pop();
if (!found) { process.stderr.write(`there is no version ${spec}`); process.exit(1); }
const wanted = found.engines && typeof found.engines.node === 'string' ? found.engines.node : '';
console.log(JSON.stringify({name: found.name, version: found.version, tarball: found['dist.tarball'] || '', wanted,
  fits: !wanted || !semver.validRange(wanted) || semver.satisfies(process.version, wanted), node: process.version}));
"""
"""Asks npm for a package, and npm's own semver whether this Node is one that it runs on."""

Provided = Callable[[PackageOrder], AbstractContextManager[Layer]]
"""Another package's layer, which stays for the length of a block."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Npm:
    """npm in a box: the program that runs it, its script, and what of this machine they need."""

    node: str
    script: str
    exposures: tuple[Exposure, ...]

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> _Npm:
        try:
            program = executables.locate("node", cwd=Path("/"), environ=environ)
            script = executables.locate("npm", cwd=Path("/"), environ=environ).resolve()
        except TargetNotFoundError as error:
            raise InstallError(f"Packages of npm are installed with node and npm. {error}") from error
        package = node.package_root(script, environ)
        if package is None or node.manifest(package).get("name") != "npm":
            raise InstallError(f"{script}: is not npm as npm's own package has it. Put that first in PATH.")
        shown = [*node.node_closure(program, environ), package]
        return cls(
            str(program), str(script), tuple(Exposure(str(path.resolve())) for path in dict.fromkeys(shown))
        )

    def on(self, runtime: Layer | None) -> _Npm:
        """The same npm on a Node of a layer's."""
        if runtime is None:
            return self
        shown = Exposure(node_folder(runtime), NODE_ROOT)
        return dataclasses.replace(self, node=f"{NODE_ROOT}/bin/node", exposures=(*self.exposures, shown))


def node_folder(layer: Layer) -> str:
    """The folder of a layer that holds a Node: ``bin/node`` is in it."""
    return f"{layer.root}/node_modules/{layer.name}"


def install_npm(order: PackageOrder, place: Path, kitchen: Kitchen, provided: Provided) -> Draft:
    """Install a package of npm and what it depends on to the empty folder ``place``.

    Raises:
        InstallError: it cannot be installed; the Node that it asks for is not to be had.
    """
    _check(order)
    npm = _Npm.of(kitchen.environ)
    settings = npm_settings([npm.node, npm.script], kitchen.environ)
    spec = f"{order.name}@{order.version or 'latest'}"
    kitchen.say(f"looking up npm:{spec}")
    facts = kitchen.ask(
        _plan(
            npm,
            settings,
            (npm.node, "-e", _LOOK_UP, npm.script, spec),
            hosts_of(settings.registries.values()),
        ),
        place.parent / "look-up",
        f"npm:{spec}",
    )
    version = str(facts.get("version"))
    if not _VERSION.fullmatch(version):
        raise InstallError(f"npm:{spec}: the registry tells of a version {version[:60]!r}, which is none.")
    if facts.get("fits") is not True:
        wanted = str(facts.get("wanted"))
        kitchen.say(f"{order.name} {version} asks for node {wanted}, and this is {facts.get('node')}")
        try:
            with provided(_runtime_order(wanted)) as runtime:
                draft = _install(order, place, kitchen, npm=npm.on(runtime), settings=settings, facts=facts)
                own = {"node": runtime.version}
                installation = dataclasses.replace(draft.installation, runtime=own)
                where = f"{runtime.key}/root/node_modules/{runtime.name}"
                return dataclasses.replace(draft, installation=installation, node=where)
        except InstallError as error:
            raise InstallError(
                f"{order.name} {version} asks for node {wanted}; this machine has {facts.get('node')}, and the other"
                f" cannot be had: {error}"
            ) from error
    return _install(order, place, kitchen, npm=npm, settings=settings, facts=facts)


def _install(
    order: PackageOrder,
    place: Path,
    kitchen: Kitchen,
    *,
    npm: _Npm,
    settings: NpmSettings,
    facts: Mapping[str, Json],
) -> Draft:
    version = str(facts["version"])
    kitchen.say(f"installing npm:{order.name}@{version}")
    words = ["install", "--no-audit", "--no-fund", "--save-exact"]
    words += [] if order.scripts else ["--ignore-scripts"]
    hosts = hosts_of([*settings.registries.values(), str(facts.get("tarball") or "")])
    argv = (npm.node, npm.script, *words, "--", f"{order.name}@{version}", *order.pins)
    done, tree = kitchen.install(_plan(npm, settings, argv, hosts), place, f"npm:{order.name}@{version}")
    lock, packages = _lock(place)
    installation = Installation(
        package=f"npm:{order.name}@{version}",
        installed_at=now(),
        packages=packages,
        digest=tree.digest,
        lock=digest_of(lock),
        runtime={"node": str(facts.get("node")).removeprefix("v")},
        scripts=order.scripts,
        effects=effects_of(done),
        notes=notes_of(done, settings.notes),
    )
    return Draft(Ecosystem.NPM, order.name, version, installation, size=tree.size)


def _plan(npm: _Npm, settings: NpmSettings, argv: tuple[str, ...], hosts: tuple[str, ...]) -> InstallPlan:
    own = b'{"name": "box", "version": "1.0.0", "private": true}\n'
    return InstallPlan(
        argv=argv,
        folder=ROOT,
        hosts=hosts,
        env={
            "PATH": f"{Path(npm.node).parent}:/usr/local/bin:/usr/bin:/bin",
            "npm_config_cache": f"{ASIDE}/cache",
            "npm_config_userconfig": f"{ASIDE}/npmrc",
            "npm_config_update_notifier": "false",
            "npm_config_loglevel": "error",
            "npm_config_logs_max": "0",
            "npm_config_fetch_retry_mintimeout": "1000",
            "npm_config_fetch_retry_maxtimeout": "4000",
            "NO_COLOR": "1",
        },
        aside=(ASIDE,),
        exposures=npm.exposures,
        seeds=(
            SeedEntry(f"{ROOT}/package.json", "file", content=own),
            SeedEntry(f"{ASIDE}/npmrc", "file", content=settings.npmrc.encode()),
        ),
        certificates=settings.certificates,
        addresses=settings.addresses,
    )


def _lock(place: Path) -> tuple[bytes, tuple[str, ...]]:
    """npm's lock file, which has the digest of every package, and what it lists as ``NAME==VERSION``."""
    with Tree.open(str(place)) as tree:
        content = tree.read("package-lock.json", _LOCK_MOST) or b""
    try:
        listed = json.loads(content or b"{}").get("packages") or {}
        names = {
            f"{path.rpartition('node_modules/')[2]}=={facts.get('version')}"
            for path, facts in listed.items()
            if path
        }
    except (ValueError, RecursionError, AttributeError):
        names = set()
    return content, tuple(sorted(names))


def _runtime_order(wanted: str) -> PackageOrder:
    processor = _PROCESSORS.get(platform.machine())
    if processor is None:
        raise InstallError(f"there is none for {platform.machine()}")
    return PackageOrder(Ecosystem.NPM, f"node-linux-{processor}", wanted, scripts=False)


def _check(order: PackageOrder) -> None:
    """Refuse what npm would not take for a name and a version of a registry: addresses, folders, options."""
    for word in (order.name, *(pin.rpartition("@")[0] or pin for pin in order.pins)):
        if not NAME.fullmatch(word):
            raise InstallError(f"npm:{word}: no package of a registry has such a name.")
    for version in (order.version, *(pin.partition("@")[2] for pin in order.pins if not pin.startswith("@"))):
        if re.search(r"[:/\\\0]|^-", version):
            raise InstallError(
                f"npm:{order.name}@{version}: only versions, ranges and tags of a registry are installed."
            )
