"""Installed packages, kept from one run to the next: the store of layers.

One folder for each layer, named by a digest of its files and of what else makes it what it is; ``root`` in it
holds the files, and ``manifest.json`` says what they are. A folder appears by a rename, complete; what an
interrupted run leaves behind has another name and goes with the next one. ``index`` leads from what was asked for to the
layer that answered it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from sandbox.errors import EvidenceError, InstallError
from sandbox.evidence.codec import decode, encode
from sandbox.evidence.runs import write_atomically
from sandbox.linux import kept
from sandbox.model import Installation
from sandbox.targets.layers import Layer
from sandbox.targets.orders import Ecosystem

KEPT_BYTES = 24 << 30
"""What is kept: the layers used last, as many as fit. One that is in use stays."""

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Draft:
    """A layer whose files are in their place, and which has no name yet.

    ``size`` is what its files hold, in bytes; ``requests`` are further keys of the index that it answers. ``node`` is the folder with its Node, a path in the store.
    """

    ecosystem: Ecosystem
    name: str
    version: str
    installation: Installation
    size: int
    interpreter: str = ""
    node: str = ""
    requests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kept:
    """A layer as ``hintproof cache`` shows it: ``used`` is when it was used last, seconds since the epoch."""

    layer: Layer
    used: float
    in_use: bool


class LayerStore:
    """Layers in a folder, which is made where it is missing. Any number of processes may use one at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._index = folder / "index"
        try:
            self._index.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise InstallError(
                f"{folder}: packages cannot be installed there ({error.strerror}). Set XDG_CACHE_HOME to a folder"
                " that you may write."
            ) from error

    @contextmanager
    def layer(
        self,
        request: str,
        make: Callable[[Path], Draft],
        *,
        refresh: bool = False,
        say: Callable[[str], None] = lambda _: None,
    ) -> Iterator[Layer]:
        """The layer that answers a request, which stays for the length of the block.

        Where there is none, or with ``refresh``, ``make`` is given an empty folder to install to. ``say`` is told
        what takes long.

        Raises InstallError where the folder cannot be written, and whatever ``make`` raises.
        """
        fresh = False
        while True:
            with self.held(self._answer(request) if fresh or not refresh else "") as found:
                if found is not None:
                    installation = dataclasses.replace(found.installation, fresh=fresh)
                    yield dataclasses.replace(found, installation=installation)
                    return
            if fresh:
                raise InstallError(
                    "what was just installed is gone again: another run removed it. Run it again."
                )

            def wait() -> None:
                say("waiting for another run that installs the same package")

            with kept.locked(kept.lock_of(self._index, request), kept.ALONE, wait):
                if refresh or self._find(self._answer(request)) is None:
                    self._make(request, make)
                    fresh = True

    @contextmanager
    def held(self, key: str) -> Iterator[Layer | None]:
        """A layer by its key, which stays for the length of the block; None where it is not there or cannot be used."""
        if not key or self._find(key) is None:
            yield None
            return
        with ExitStack() as held:
            held.enter_context(kept.locked(kept.lock_of(self.folder, key), kept.SHARED))
            found = self._find(key)
            if found is not None and found.node:
                held.enter_context(
                    kept.locked(kept.lock_of(self.folder, self._key_of_node(found)), kept.SHARED)
                )
                found = self._find(key)
            if found is not None:
                with suppress(OSError):
                    os.utime(self.folder / key / "manifest.json")
            yield found

    def layers(self) -> tuple[Kept, ...]:
        """All layers, those used last first."""
        found = []
        for manifest in kept.whole(self.folder, "manifest.json"):
            layer = self._read(manifest.parent.name)
            with suppress(OSError), kept.free(kept.lock_of(self.folder, manifest.parent.name)) as free:
                if layer is not None:
                    found.append(Kept(layer, manifest.stat().st_mtime, not free))
        return tuple(sorted(found, key=lambda each: -each.used))

    def clear(self) -> tuple[int, int]:
        """Remove every layer that is not in use, and what was left unfinished: how many were, and their bytes."""
        count = size = 0
        for each in self.layers():
            if kept.drop(self.folder, each.layer.key):
                count, size = count + 1, size + each.layer.size
        for manifest in kept.whole(self.folder, "manifest.json"):  # of another version of hintproof
            if self._read(manifest.parent.name) is None and kept.drop(self.folder, manifest.parent.name):
                count += 1
        self._sweep()
        for entry in self._index.glob("*.json"):
            if self._find(self._answer(entry.stem)) is None:
                entry.unlink(missing_ok=True)
        return count, size

    def _answer(self, request: str) -> str:
        try:
            return str(json.loads((self._index / f"{request}.json").read_bytes())["layer"])
        except (OSError, ValueError, KeyError, TypeError):
            return ""

    def _find(self, key: str) -> Layer | None:
        """A layer that is there with all that it needs: the Python or the Node that it was installed for."""
        layer = self._read(key) if key else None
        if layer is None or (layer.interpreter and not os.path.exists(layer.interpreter)):
            return None
        return None if layer.node and not os.path.isdir(layer.node) else layer

    def _read(self, key: str) -> Layer | None:
        try:
            data = json.loads((self.folder / key / "manifest.json").read_bytes())
            layer = decode(Layer, data["layer"]) if data["format"] == _FORMAT else None
        except (OSError, ValueError, KeyError, TypeError, EvidenceError):  # not there, or of another version
            return None
        if layer is None:
            return None
        node = str(self.folder / layer.node) if layer.node else ""
        return dataclasses.replace(layer, root=str(self.folder / key / "root"), node=node)

    def _key_of_node(self, layer: Layer) -> str:
        return Path(layer.node).relative_to(self.folder).parts[0]

    def _make(self, request: str, make: Callable[[Path], Draft]) -> None:
        self._sweep()
        name = uuid4().hex + kept.UNFINISHED
        place = self.folder / name
        with kept.locked(kept.lock_of(self.folder, name), kept.ALONE):
            try:
                os.makedirs(place / "root", mode=0o755)
                draft = make(place / "root")
                key = self._name(place, draft)
            except OSError as error:
                raise InstallError(
                    f"{self.folder}: a package cannot be installed there ({error.strerror or error})."
                ) from error
            finally:
                kept.remove(place)
                kept.lock_of(self.folder, name).unlink(missing_ok=True)
        for asked in dict.fromkeys([request, *draft.requests]):
            write_atomically(self._index / f"{asked}.json", json.dumps({"layer": key}) + "\n")
        self._drop_old(key)

    def _name(self, place: Path, draft: Draft) -> str:
        """Give a finished folder its name, unless the same layer is there already."""
        installation = dataclasses.replace(draft.installation, fresh=False)
        did = [[effect.kind.value, effect.subject] for effect in installation.effects]
        parts = [
            _FORMAT,
            draft.ecosystem,
            draft.name,
            draft.version,
            installation.digest,
            draft.interpreter,
            draft.node,
            did,
        ]
        key = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
        layer = Layer(
            key=key,
            root="",
            ecosystem=draft.ecosystem,
            name=draft.name,
            version=draft.version,
            installation=installation,
            interpreter=draft.interpreter,
            node=draft.node,
            size=draft.size,
        )
        text = json.dumps({"format": _FORMAT, "layer": encode(layer)}, ensure_ascii=True, indent=1)
        (place / "manifest.json").write_text(text + "\n", encoding="ascii")
        if self._read(key) is None:
            kept.drop(self.folder, key)  # a damaged one
            try:
                os.rename(place, self.folder / key)
            except OSError:
                if self._read(key) is None:  # else another run was quicker, and this one's is the same
                    raise
        return key

    def _sweep(self) -> None:
        """Remove what runs that were killed have left unfinished."""
        for place in self.folder.glob(f"*{kept.UNFINISHED}"):
            kept.drop(self.folder, place.name)

    def _drop_old(self, newest: str) -> None:
        """Remove the layers that were used longest ago and do not fit beside the newest."""
        found = sorted(self.layers(), key=lambda each: (each.layer.key != newest, -each.used))
        needed = {
            Path(each.layer.node).relative_to(self.folder).parts[0] for each in found if each.layer.node
        }
        room = KEPT_BYTES
        for each in found:
            room -= each.layer.size
            if room < 0 and each.layer.key not in {newest, *needed}:
                kept.drop(self.folder, each.layer.key)
