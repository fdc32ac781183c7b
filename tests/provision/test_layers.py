"""The store of layers: once made, found again; half made, never; in use, never removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.errors import InstallError
from sandbox.model import Effect, EffectKind, Installation
from sandbox.provision import layers
from sandbox.provision.layers import Draft, LayerStore
from sandbox.targets.orders import Ecosystem


@pytest.fixture
def store(tmp_path: Path) -> LayerStore:
    return LayerStore(tmp_path / "layers")


def maker(
    name: str = "small", *, size: int = 4, effects: tuple[Effect, ...] = (), **more: object
) -> Callable[[Path], Draft]:
    def make(place: Path) -> Draft:
        (place / "file").write_text(name)
        facts = Installation(f"npm:{name}@1.0.0", "2026-01-01T00:00:00Z", digest=name, effects=effects)
        return Draft(Ecosystem.NPM, name, "1.0.0", facts, size=size, **more)  # type: ignore[arg-type]

    return make


def never(_: Path) -> Draft:
    raise AssertionError("nothing was to be installed")


def names(store: LayerStore) -> list[str]:
    return sorted(name for name in os.listdir(store.folder) if name != "index" and not name.endswith(".lock"))


def test_a_layer_is_made_once_and_keeps_what_its_installation_did(store: LayerStore) -> None:
    effect = Effect(EffectKind.FILE_CREATED, "/home/user/.profile", "made /home/user/.profile")

    with store.layer("asked", maker(effects=(effect,))) as made:
        assert made.installation.fresh
    with LayerStore(store.folder).layer("asked", never) as found:
        assert Path(found.root, "file").read_text() == "small"
        assert not found.installation.fresh
        assert found.installation.effects == (effect,)


def test_a_layer_answers_its_exact_version_too(store: LayerStore) -> None:
    with store.layer("newest", maker(requests=("exact",))) as made:
        pass
    with store.layer("exact", never) as found:
        assert found.key == made.key


def test_the_same_installation_is_one_layer(store: LayerStore) -> None:
    with store.layer("one", maker()) as first, store.layer("two", maker()) as second:
        assert first.key == second.key
    assert names(store) == [first.key]


def test_an_installation_that_fails_leaves_nothing(store: LayerStore) -> None:
    def fail(place: Path) -> Draft:
        (place / "half").write_text("")
        raise InstallError("no such package")

    with pytest.raises(InstallError, match="no such package"), store.layer("asked", fail):
        pass
    assert names(store) == []
    with store.layer("asked", maker()) as made:
        assert made.installation.fresh


def test_a_layer_without_its_interpreter_is_made_again(store: LayerStore, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.touch()
    with store.layer("asked", maker(interpreter=str(python))):
        pass
    python.unlink()
    other = tmp_path / "other"
    other.touch()

    with store.layer("asked", maker(interpreter=str(other))) as found:
        assert found.interpreter == str(other)


def test_a_layer_without_its_node_is_made_again(store: LayerStore) -> None:
    with store.layer("node", maker("node")) as node:
        where = f"{node.key}/root"
    with store.layer("asked", maker(node=where)) as found:
        assert found.node == node.root
    assert store.clear()[0] == 2

    with store.layer("node", maker("node")), store.layer("asked", maker(node=where)) as again:
        assert again.installation.fresh


def test_what_was_used_longest_ago_goes_and_what_is_in_use_stays(
    store: LayerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(layers, "KEPT_BYTES", 250)
    for name in ("a", "b"):
        with store.layer(name, maker(name, size=100)) as made:
            os.utime(Path(made.root).parent / "manifest.json", (1, 1 if name == "a" else 2))

    with store.layer("c", maker("c", size=100)):
        pass
    assert [each.layer.name for each in store.layers()] == ["c", "b"]
    with store.layer("b", never), store.layer("d", maker("d", size=250)):
        assert sorted(each.layer.name for each in store.layers()) == ["b", "d"]


def test_a_run_that_is_killed_leaves_no_half_layer(store: LayerStore) -> None:
    script = f"""
    import sys, time
    sys.path.insert(0, {str(Path(__file__).parent)!r})
    from pathlib import Path
    from sandbox.provision.layers import LayerStore
    def make(place):
        (place / "half").write_text("x")
        print("half", flush=True)
        time.sleep(60)
    with LayerStore(Path({str(store.folder)!r})).layer("asked", make):
        pass
    """
    killed = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE)
    assert killed.stdout is not None
    assert killed.stdout.readline() == b"half\n"
    assert [each.layer for each in store.layers()] == []
    assert len(names(store)) == 1
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    killed.stdout.close()

    with store.layer("asked", maker()) as made:
        assert made.installation.fresh
    assert names(store) == [made.key]


def test_two_at_once_install_once(store: LayerStore) -> None:
    made: list[str] = []
    said: list[str] = []

    def slow(place: Path) -> Draft:
        made.append(place.name)
        time.sleep(0.5)
        return maker()(place)

    def run() -> None:
        with LayerStore(store.folder).layer("asked", slow, say=said.append):
            pass

    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert "waiting for another run that installs the same package" in said


def test_a_damaged_manifest_is_no_layer(store: LayerStore) -> None:
    with store.layer("asked", maker()) as made:
        pass
    (Path(made.root).parent / "manifest.json").write_text('{"format": 1, "layer": {"key": 7}}')

    with store.layer("asked", maker()) as again:
        assert again.installation.fresh


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(InstallError, match="Set XDG_CACHE_HOME"):
        LayerStore(tmp_path / "file" / "layers")
