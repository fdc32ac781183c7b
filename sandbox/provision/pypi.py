"""The recipe for packages of PyPI: uv installs them into an environment of their own.

Dependencies are the newest, as whoever installs the package today gets them. Where the server does not start on
those because an import fails, they are those of the latest day on which it still starts.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path

from sandbox.boxes.plan import Exposure
from sandbox.errors import InstallError
from sandbox.model import Installation, SeedEntry, digest_of
from sandbox.provision.layers import Draft
from sandbox.provision.plan import InstallPlan
from sandbox.provision.pythons import Python, own_python, pythons, satisfies
from sandbox.provision.recipe import ASIDE, Kitchen, effects_of, notes_of, now, replace_folder
from sandbox.provision.registries import hosts_of, pypi_settings
from sandbox.targets.boundaries import in_system
from sandbox.targets.layers import ROOT, Layer
from sandbox.targets.orders import Ecosystem, PackageOrder
from sandbox.targets.packages import Tree, distributions, server_program, site_folder
from sandbox.targets.pathfiles import normalized
from sandbox.targets.python import base_closure, read_interpreter

NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+!_-]*")
_RANGE = re.compile(r"(?:\s*(?:~=|===?|!=|<=|>=|<|>)\s*[0-9A-Za-z.*+!_-]+\s*,?)+")
_PIN = re.compile(rf"{NAME.pattern}(?:\[[A-Za-z0-9._,\s-]*\])?\s*(?:{_RANGE.pattern})?")

_BROKEN = re.compile(
    r"^[\s|+-]*(?:[\w.]+\.)?(?:ImportError|ModuleNotFoundError|AttributeError|TypeError|NameError|Pydantic\w*Error"
    r"|SyntaxError|DistributionNotFound|PackageNotFoundError|VersionConflict)\b",
    re.MULTILINE,
)
"""The last line of a traceback that tells of code which does not go with the code that it uses."""

_CLOSE_DAYS = 7
_SEARCH_S = 240.0
"""How exact a search among dates is, and how long it goes on for that."""

_INSTALL = """
uv="$1" python="$2" root="$3"
shift 3
"$uv" venv --quiet --allow-existing --no-project --python "$python" "$root"
exec "$uv" pip install --quiet --compile-bytecode --python "$root/bin/python" "$@"
"""

_TRIED = f"{ROOT}/tried"
_VENV_WORDS = ("venv", "--quiet", "--clear", "--no-project", "--python")
_INSTALL_WORDS = ("pip", "install", "--quiet", "--python")


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One set of dependencies, installed in ``folder``: those that were there before a date ("" for today)."""

    folder: Path
    layer: Layer


def install_pypi(order: PackageOrder, place: Path, kitchen: Kitchen) -> Draft:
    """Install a package of PyPI and what it depends on to the empty folder ``place``.

    Raises InstallError where it cannot be installed, or asks for a Python that this machine does not have.
    """
    return _Recipe(order, place, kitchen).run()


class _Recipe:
    """One installation while it goes on."""

    def __init__(self, order: PackageOrder, place: Path, kitchen: Kitchen) -> None:
        _check(order)
        self._order = order
        self._place = place
        self._kitchen = kitchen
        self._uv = find_uv()
        self._settings = pypi_settings(self._uv, kitchen.environ)
        self._python = own_python()
        self._hosts = self._settings.hosts
        self._uploaded = ""
        self._notes: list[str] = []
        self._count = 0

    def run(self) -> Draft:
        self._look_up()
        newest = self._attempt("")
        chosen = newest
        exact = dataclasses.replace(self._order, version=newest.layer.version)
        why = self._kitchen.starts(newest.layer)
        if why and _BROKEN.search(why) and self._uploaded:
            self._order = exact
            chosen = self._newest_that_starts(newest)
        replace_folder(self._place, chosen.folder)
        layer = chosen.layer
        installation = layer.installation
        if self._notes:
            notes = (*installation.notes, *self._notes)
            installation = dataclasses.replace(installation, notes=notes)
        return Draft(
            Ecosystem.PYPI, layer.name, layer.version, installation, layer.size, interpreter=layer.interpreter
        )

    def _look_up(self) -> None:
        """Learn where the package's files are, when it was released and which Python it asks for."""
        name = normalized(self._order.name)
        if not self._settings.urls:
            self._choose_python("", exact=False)
            return
        self._kitchen.say(f"looking up pypi:{self._order.name}")
        script = resources.files("sandbox.provision").joinpath("indexpage.py").read_bytes()
        words = (json.dumps(self._settings.urls), name, self._order.version)
        plan = self._plan(
            (self._python.program, "-I", f"{ASIDE}/indexpage.py", *words),
            (SeedEntry(f"{ASIDE}/indexpage.py", "file", content=script),),
        )
        found = self._kitchen.ask(plan, self._place.parent / "look-up", f"pypi:{self._order.name}")
        hosts, asked, newest = found.get("hosts"), found.get("asked"), found.get("newest")
        if isinstance(hosts, list):
            self._hosts = tuple(dict.fromkeys([*self._hosts, *hosts_of(map(str, hosts))]))
        told = asked if isinstance(asked, dict) and asked else newest
        if isinstance(told, dict):
            self._uploaded = str(told.get("uploaded") or "")
            self._choose_python(str(told.get("python") or ""), exact=told is asked)

    def _choose_python(self, wanted: str, *, exact: bool) -> None:
        asked = self._order.python
        if asked:
            wanted = ",".join(
                filter(None, [wanted, f"=={asked}.*" if asked.count(".") < 2 else f"=={asked}"])
            )
            exact = True
        if satisfies(self._python.version, wanted):
            return
        here = pythons(self._uv, self._kitchen.environ)
        fitting = next((each for each in here if satisfies(each.version, wanted)), None)
        if fitting is not None:
            self._python = fitting
            return
        versions = ", ".join(dict.fromkeys(each.spelled for each in here))
        said = f"{self._order.name} asks for Python {wanted}, and this machine has {versions}"
        if exact:
            raise InstallError(f"{said}. Install one that it runs on, such as with `uv python install`.")
        self._notes.append(
            f"The newest {said}; the newest version that runs on {self._python.spelled} was installed."
        )

    def _newest_that_starts(self, newest: _Attempt) -> _Attempt:
        """The newest set of dependencies on which the server starts, by few steps of dates; ``newest`` if there is none."""
        self._kitchen.say(
            f"{newest.layer.installation.package} does not start on today's dependencies; looking for the newest that it starts on"
        )
        with Tree.open(newest.layer.root) as tree:
            program = server_program(self._order, newest.layer, tree)
        script = resources.files("sandbox.provision").joinpath("datesearch.py").read_bytes()
        told = {
            "low": (_moment(self._uploaded) + timedelta(days=1)).strftime("%Y-%m-%d"),
            "high": datetime.now(UTC).strftime("%Y-%m-%d"),
            "close": _CLOSE_DAYS,
            "seconds": _SEARCH_S,
            "install": [self._uv, *_INSTALL_WORDS, f"{_TRIED}/bin/python", *self._options()],
            "clear": [self._uv, *_VENV_WORDS, self._python.program, _TRIED],
            "requirements": _requirements(self._order),
            "server": [
                *(word.replace(f"{ROOT}/", f"{_TRIED}/", 1) for word in program),
                *self._order.arguments,
            ],
            "broken": _BROKEN.pattern,
        }
        plan = self._plan(
            (self._python.program, "-I", f"{ASIDE}/datesearch.py", json.dumps(told)),
            (SeedEntry(f"{ASIDE}/datesearch.py", "file", content=script),),
        )
        try:
            found = self._kitchen.ask(plan, self._place.parent / "search", newest.layer.installation.package)
            best = str(found["best"])
            if best:
                older = self._attempt(best)
                why = self._kitchen.starts(older.layer)
                if not (why and _BROKEN.search(why)):
                    return older
        except (InstallError, KeyError) as error:  # the newest is as good as any
            self._kitchen.say(f"that search failed: {error}")
        self._notes.append("It does not start on today's dependencies, nor on older ones.")
        return newest

    def _attempt(self, before: str) -> _Attempt:
        """Install with the dependencies of a day, "" for today. Raises InstallError."""
        order = self._order
        self._count += 1
        folder = self._place.parent / f"attempt-{self._count}"
        folder.mkdir(0o755)
        named = f"{order.name}{f'=={order.version}' if order.version else ''}"
        self._kitchen.say(f"installing pypi:{named}{f' with the dependencies of {before}' if before else ''}")
        words = [*self._options(), *(["--exclude-newer", before] if before else [])]
        plan = self._plan(
            (
                "/bin/sh",
                "-ec",
                _INSTALL,
                "install",
                self._uv,
                self._python.program,
                ROOT,
                *words,
                "--",
                *_requirements(order),
            )
        )
        done, tree = self._kitchen.install(plan, folder, f"pypi:{named}")
        _link_interpreter(folder, self._python)
        with Tree.open(str(folder)) as files:
            found = distributions(files, site_folder(files))
        version = found.get(normalized(order.name), ("", ""))[0]
        if not version:
            raise InstallError(f"pypi:{named}: uv says that it is installed, and it is not there.")
        packages = tuple(sorted(f"{name}=={each}" for name, (each, _) in found.items()))
        installation = Installation(
            package=f"pypi:{order.name}=={version}",
            installed_at=now(),
            packages=packages,
            digest=tree.digest,
            lock=digest_of("\n".join(packages).encode()),
            runtime={"python": self._python.spelled},
            scripts=order.scripts,
            before=before,
            effects=effects_of(done),
            notes=notes_of(done, self._settings.notes),
        )
        layer = Layer(
            key="",
            root=str(folder),
            ecosystem=Ecosystem.PYPI,
            name=order.name,
            version=version,
            installation=installation,
            interpreter=self._python.program,
            size=tree.size,
        )
        return _Attempt(folder, layer)

    def _options(self) -> list[str]:
        """The options of ``uv pip install`` that every installation of this package has."""
        settings = self._settings
        words = ["--default-index", settings.default]
        words += [word for url in settings.indexes for word in ("--index", url)]
        words += [word for link in settings.links for word in ("--find-links", link)]
        words += ["--index-strategy", "unsafe-best-match"] if settings.merged else []
        words += [
            word
            for number in range(len(settings.constraints))
            for word in ("--constraints", f"{ASIDE}/{number}.txt")
        ]
        return words if self._order.scripts else [*words, "--no-build"]

    def _plan(self, argv: tuple[str, ...], seeds: tuple[SeedEntry, ...] = ()) -> InstallPlan:
        settings = self._settings
        needed = base_closure(read_interpreter(Path(self._python.program)), self._kitchen.environ)
        shown = [*map(str, needed), self._uv, *settings.folders]
        constraints = (
            SeedEntry(f"{ASIDE}/{number}.txt", "file", content=content)
            for number, content in enumerate(settings.constraints)
        )
        return InstallPlan(
            argv=argv,
            folder=ROOT,
            hosts=self._hosts,
            env={
                "UV_CACHE_DIR": f"{ASIDE}/cache",
                "UV_NO_CONFIG": "1",
                "UV_NO_PROGRESS": "1",
                "UV_PYTHON_DOWNLOADS": "never",
                "UV_LINK_MODE": "copy",
                "UV_HTTP_TIMEOUT": "120",
                # By content: times are not kept, and a server that writes its own modules is to get what it wrote.
                "PYC_INVALIDATION_MODE": "CHECKED_HASH",
                "NO_COLOR": "1",
            },
            aside=(ASIDE,),
            exposures=tuple(Exposure(path) for path in dict.fromkeys(shown) if not in_system(Path(path))),
            seeds=(*constraints, *seeds),
            certificates=settings.certificates,
            addresses=settings.addresses,
        )


def find_uv() -> str:
    """The uv that comes with hintproof, or the one in PATH of an installation that lacks it.

    Raises InstallError where there is none.
    """
    import shutil

    locate: Callable[[], str]
    try:
        from uv import find_uv_bin as locate

        found = locate()
    except (ImportError, FileNotFoundError):
        found = shutil.which("uv") or ""
    if not found:
        raise InstallError(
            "uv is missing, with which packages of PyPI are installed. Install hintproof again: it depends on it."
        )
    return os.path.realpath(found)


def _requirements(order: PackageOrder) -> tuple[str, ...]:
    extras = f"[{','.join(order.extras)}]" if order.extras else ""
    version = order.version if not _VERSION.fullmatch(order.version) else f"=={order.version}"
    return (f"{order.name}{extras}{version}", *order.pins)


def _link_interpreter(folder: Path, python: Python) -> None:
    """The environment's interpreter is a link out of it, which no copy of an installation keeps."""
    for name in ("python", "python3", f"python{'.'.join(map(str, python.version[:2]))}"):
        link = folder / "bin" / name
        if not os.path.lexists(link):
            os.symlink(python.program, link)


def _moment(text: str) -> datetime:
    """A time of an index (ISO 8601, UTC). What cannot be read is long ago."""
    try:
        found = datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return datetime(2024, 11, 1, tzinfo=UTC)
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _check(order: PackageOrder) -> None:
    """Refuse what uv would take for an option, an address or a folder."""
    if not NAME.fullmatch(order.name) or not all(NAME.fullmatch(extra) for extra in order.extras):
        raise InstallError(f"pypi:{order.name}: no package of an index has such a name.")
    if order.version and not (_VERSION.fullmatch(order.version) or _RANGE.fullmatch(order.version)):
        raise InstallError(f"pypi:{order.name}=={order.version}: that is no version. Write NAME==1.2.3.")
    if order.python and not re.fullmatch(r"3(\.\d+){0,2}", order.python):
        raise InstallError(f"Python {order.python}: name its version, such as 3.12.")
    for pin in order.pins:
        if not _PIN.fullmatch(pin):
            raise InstallError(f"--with {pin}: write NAME==VERSION, or NAME with a range such as NAME<2.")
