"""The image's locks are of what pyproject.toml asks for now, and name no place to take it from.

When one of these fails: `make locks`.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WANTED = {
    "hintproof": PROJECT["project"]["dependencies"],
    "uv": PROJECT["dependency-groups"]["uv"],
    "node": PROJECT["dependency-groups"]["node"],
}


def pins(lock: str) -> dict[str, str]:
    found = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "locks" / f"{lock}.txt").read_text(), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


@pytest.mark.parametrize("lock", WANTED)
def test_every_dependency_is_pinned_to_a_version_that_it_allows(lock: str) -> None:
    pinned = pins(lock)
    for requirement in map(Requirement, WANTED[lock]):
        name = canonicalize_name(requirement.name)
        assert name in pinned, f"{name} is not in locks/{lock}.txt"
        assert requirement.specifier.contains(pinned[name]), f"{requirement} and {pinned[name]}"


@pytest.mark.parametrize("lock", WANTED)
def test_every_pin_has_hashes_and_no_address(lock: str) -> None:
    text = (ROOT / "locks" / f"{lock}.txt").read_text()
    assert "://" not in text
    blocks = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in block for block in blocks)


def test_nothing_is_pinned_that_nothing_asks_for() -> None:
    """A dependency that was dropped stays in the lock until it is made anew; so does what only that one needed."""
    from importlib.metadata import PackageNotFoundError, requires

    pinned = pins("hintproof")
    reached: set[str] = set()
    waiting = [
        (canonicalize_name(Requirement(text).name), frozenset(Requirement(text).extras))
        for text in WANTED["hintproof"]
    ]
    while waiting:
        name, extras = waiting.pop()
        reached.add(name)
        try:
            needs = [Requirement(text) for text in requires(name) or ()]
        except PackageNotFoundError:  # of another system, such as pywin32
            continue
        for need in needs:
            found = canonicalize_name(need.name)
            if found in pinned and found not in reached and _may_apply(need, extras):
                waiting.append((found, frozenset(need.extras)))
    assert set(pinned) <= reached


def _may_apply(need: Requirement, extras: frozenset[str]) -> bool:
    """Whether a requirement holds on any system: only its extra is looked at."""
    if need.marker is None or "extra" not in str(need.marker):
        return True
    return any(f'extra == "{extra}"' in str(need.marker) for extra in extras)
