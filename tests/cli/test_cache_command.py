"""``hintproof cache``: what is kept is shown and cleared, and what is in use stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from sandbox.cli.cache import command
from sandbox.config.caches import cache_folder
from sandbox.model import Installation
from sandbox.provision.layers import Draft, LayerStore
from sandbox.targets.orders import Ecosystem


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LayerStore:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return LayerStore(cache_folder({"XDG_CACHE_HOME": str(tmp_path)}, "layers"))


def fill(place: Path, name: str = "small\x1b[31m") -> Draft:
    (place / "file").write_text("x" * 1_000_000)
    facts = Installation(f"npm:{name}@1.0.0", "2026-01-01T00:00:00Z", packages=("a==1",), digest=name)
    return Draft(Ecosystem.NPM, name, "1.0.0", facts, size=1_000_000)


def run(*words: str) -> str:
    done = CliRunner().invoke(command, words, catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def test_what_is_kept_is_shown_without_control_characters(store: LayerStore) -> None:
    with store.layer("asked", fill):
        shown = run()

    assert "packages: 1 in " in shown
    assert "1 package · 1.0 MB" in shown
    assert "in use" in shown
    assert "images: 0 in " in shown
    assert "\x1b" not in shown


def test_clearing_leaves_what_is_in_use(store: LayerStore) -> None:
    with store.layer("one", lambda place: fill(place, "one")):
        pass
    with store.layer("two", lambda place: fill(place, "two")) as used:
        cleared = json.loads(run("clear", "--json"))

        assert cleared["packages"] == {"removed": 1, "bytes": 1_000_000, "left": 1}
        assert Path(used.root, "file").exists()
    assert json.loads(run("clear", "--json"))["packages"]["removed"] == 1
    assert json.loads(run("--json"))["packages"]["kept"] == []
