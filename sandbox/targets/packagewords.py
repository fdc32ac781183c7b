"""Words that name a package as the target: ``npm:NAME``, ``pypi:NAME``, and runners whose package is not here."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox.errors import TargetNotFoundError, UsageError
from sandbox.targets.orders import Ecosystem, PackageOrder
from sandbox.targets.specs import Spec, read_requirement

PREFIXES = tuple(f"{each.value}:" for each in Ecosystem)
"""What a target begins with that names a package."""


def names_package(word: str) -> bool:
    """Whether a word is a target that names a package."""
    return word.startswith(PREFIXES)


def package_order(words: Sequence[str], pins: Sequence[str] = (), *, scripts: bool = True) -> PackageOrder:
    """The order in ``npm:NAME[@V]`` or ``pypi:NAME[EXTRAS][==V]`` and the server's arguments after it.

    ``pins`` are further requirements to install beside it (``--with``).

    Raises UsageError for a name that no registry can have.
    """
    kind, _, named = words[0].partition(":")
    if not named:
        raise UsageError(f"{words[0]}: no package named. Write {kind}:NAME.")
    if kind == Ecosystem.NPM:
        spec = Spec.read(named)
        order = PackageOrder(Ecosystem.NPM, spec.name, spec.version)
    else:
        order = read_requirement("pypi", named)
    return dataclasses.replace(order, pins=tuple(pins), arguments=tuple(words[1:]), scripts=scripts)


def named_package(order: PackageOrder) -> str:
    """The word that names the package as a target."""
    extras = f"[{','.join(order.extras)}]" if order.extras else ""
    sign = "@" if order.ecosystem is Ecosystem.NPM else "" if order.version[:1] in set("<>=!~ ") else "=="
    return f"{order.ecosystem.value}:{order.name}{extras}{sign if order.version else ''}{order.version}"


def missing_package(
    words: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    pins: Sequence[str] = (),
    scripts: bool = True,
) -> PackageOrder | None:
    """The order for the package of a runner (``npx``, ``uvx``, ...) that is not installed on this machine.

    None for every other command, and where the runner's package is here already: that one is used.

    Raises UsageError for what a runner cannot be followed in.
    """
    from sandbox.targets import npmrunner, pythonrunner, runners  # only Linux has what it rests on

    if not words:
        return None
    name, rest = Path(words[0]).name, list(words[1:])
    npx = rest if name == "npx" else rest[1:] if name == "npm" and rest[:1] in (["exec"], ["x"]) else None
    if npx is None and name not in {"uvx", "uv", "pipx"}:
        return None
    try:
        runners.unwrap(words, cwd=cwd, environ=environ)
    except TargetNotFoundError:
        order = npmrunner.package_order(npx) if npx is not None else pythonrunner.package_order(words)
    else:
        return None
    if order is None:
        return None
    return dataclasses.replace(order, pins=(*order.pins, *pins), scripts=scripts)
