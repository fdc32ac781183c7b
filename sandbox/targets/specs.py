"""How packages are named to npm and to PyPI's installers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sandbox.errors import UsageError
from sandbox.targets.orders import Ecosystem, PackageOrder

_SPEC = re.compile(r"^(?P<name>(?:@[^/@]+/)?[^/@:]+)(?:@(?P<version>.+))?$")

REQUIREMENT = re.compile(
    r"^(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(?:\[(?P<extras>[^\]]*)\])?(?:(?:==|@)(?P<version>[^,;@/\s]+)|(?P<range>[<>=!~;\s].*))?$"
)
"""A name with extras, then one version, ``==V`` or ``@V``, or any other range."""


@dataclass(frozen=True, slots=True)
class Spec:
    """``name`` with its scope, ``version`` as it was asked for ("" for any)."""

    name: str
    version: str

    @classmethod
    def read(cls, text: str) -> Spec:
        """Read ``@scope/name@version``. Raises UsageError for a URL, a git reference or a folder."""
        found = _SPEC.match(text)
        if found is None or text.startswith("."):
            raise UsageError(
                f"npx {text}: only packages by name are followed. Install it and name its command."
            )
        return cls(found["name"], found["version"] or "")

    def accepts(self, version: str) -> bool:
        """Whether an installed version will do: exact numbers must agree, a tag or a range takes any."""
        asked = self.version.removeprefix("v")
        if not re.fullmatch(r"\d+(\.\d+)*([-+].*)?", asked):
            return True
        return version == asked or version.startswith(f"{asked}.")


def read_requirement(runner: str, requirement: str) -> PackageOrder:
    """The package in a requirement such as ``NAME[EXTRA]==1.2``, ``NAME@1.2`` or ``NAME>=1``.

    Raises UsageError for what is no package of an index.
    """
    found = REQUIREMENT.match(requirement)
    wanted = (found["range"] or "").strip() if found else ""
    if found is None or ";" in wanted or "@" in wanted:
        raise UsageError(
            f"{runner} {requirement}: only packages by name are followed. Install it and name its command."
        )
    extras = tuple(each.strip() for each in (found["extras"] or "").split(",") if each.strip())
    version = "" if found["version"] == "latest" else found["version"] or wanted
    return PackageOrder(Ecosystem.PYPI, found["name"], version, extras)
