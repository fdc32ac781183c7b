"""A store of the test's own, and registries on loopback in place of the machine's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest
from loopregistry import Registry


@pytest.fixture
def registry() -> Iterator[Registry]:
    with closing(Registry()) as started:
        yield started


@pytest.fixture
def environ(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mapping[str, str]:
    """Variables with which npm, pip and uv know the test's registry alone, and caches are the test's."""
    import os

    for name in [
        name for name in os.environ if name.startswith(("PIP_", "UV_", "npm_config_", "NPM_CONFIG_"))
    ]:
        monkeypatch.delenv(name)
    home = tmp_path / "home"
    home.mkdir()
    given = {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_CONFIG_DIRS": str(home / "none"),
        "npm_config_registry": registry.url,
        "PIP_CONFIG_FILE": os.devnull,
        "UV_DEFAULT_INDEX": f"{registry.url}/simple",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    return {**os.environ}
