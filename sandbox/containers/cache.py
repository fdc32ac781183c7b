"""Unpacked images, kept from one run to the next.

One folder for each image, user and owner of files, named by a digest of these; ``root`` in it is the image's
root, and ``image.json``, written last, says that it is whole. A folder appears by a rename, under a lock that a
second run waits for; who uses one holds the same lock with others. What an interrupted run leaves behind is
never taken for whole and goes with the next one.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sandbox.containers.accounts import Account, account
from sandbox.containers.archive import StoredImage
from sandbox.containers.imageconfig import ImageConfig
from sandbox.containers.ownership import settle
from sandbox.containers.unpack import unpack
from sandbox.errors import ImageError
from sandbox.linux import kept

KEPT_IMAGES = 12
KEPT_BYTES = 24 << 30
"""What is kept: the images used last, as many as fit both bounds. One that is in use stays."""

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Wanted:
    """One image as one user's: ``digest`` is its id, ``user`` is ``USER[:GROUP]`` ("" for the image's own).

    ``groups`` are further groups of that user.
    """

    digest: str
    user: str = ""
    groups: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnpackedImage:
    """An image whose files lie in the folder ``root``.

    ``notes`` are sentences about what was left out; ``size`` is what its files hold, in bytes.
    """

    root: str
    digest: str
    config: ImageConfig
    user: Account
    notes: tuple[str, ...] = ()
    size: int = 0

    def encode(self) -> str:
        """As JSON."""
        return json.dumps(dataclasses.asdict(self), ensure_ascii=True)

    @property
    def empty(self) -> str:
        """An empty folder beside the root."""
        return os.path.join(os.path.dirname(self.root), "empty")

    @classmethod
    def decode(cls, text: str | bytes) -> UnpackedImage:
        """Read what :meth:`encode` wrote. Raises ValueError, KeyError or TypeError for anything else."""
        raw = json.loads(text)
        config, user = raw["config"], raw["user"]
        words = ("entrypoint", "command", "volumes")
        return cls(
            root=raw["root"],
            digest=raw["digest"],
            config=ImageConfig(**{**config, **{name: tuple(config[name]) for name in words}}),
            user=Account(**{**user, "groups": tuple(user["groups"])}),
            notes=tuple(raw["notes"]),
            size=raw["size"],
        )


@dataclass(frozen=True, slots=True)
class KeptImage:
    """An image as ``hintproof cache`` shows it: ``used`` is when it was used last, seconds since the epoch."""

    image: UnpackedImage
    used: float
    in_use: bool


class ImageCache:
    """Unpacked images in a folder, which is made where it is missing.

    ``owner`` is the id that files are given to where root unpacks them: the server's, as the folder's file system
    numbers it.
    """

    def __init__(self, folder: Path, owner: int) -> None:
        self.folder = folder
        self._owner = owner
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise ImageError(
                f"{folder}: images cannot be unpacked there ({error.strerror}). Set XDG_CACHE_HOME to a folder"
                " that you may write."
            ) from error

    @contextmanager
    def image(
        self,
        wanted: Wanted,
        open_image: Callable[[], AbstractContextManager[StoredImage]],
        *,
        say: Callable[[str], None] = lambda _: None,
    ) -> Iterator[UnpackedImage]:
        """The unpacked image, which stays for the length of the block.

        ``open_image`` is entered for the layers only where the image is not there yet, and left before the block
        begins. ``say`` is told what takes long.

        Raises ImageError where the image cannot be unpacked, and whatever ``open_image`` raises.
        """
        key = self._key(wanted)
        lock = kept.lock_of(self.folder, key)

        def wait() -> None:
            say("waiting for another run that unpacks the same image")

        while True:
            with kept.locked(lock, kept.SHARED, wait):
                found = self._find(key)
                if found is not None:
                    os.utime(self.folder / key / "image.json")
                    yield found
                    return
            with kept.locked(lock, kept.ALONE, wait):
                if self._find(key) is None:
                    with open_image() as stored:
                        self._unpack(key, wanted, stored, say)

    def images(self) -> tuple[KeptImage, ...]:
        """All unpacked images, those used last first."""
        found = []
        for described in kept.whole(self.folder, "image.json"):
            image = self._find(described.parent.name)
            with suppress(OSError), kept.free(kept.lock_of(self.folder, described.parent.name)) as free:
                if image is not None:
                    found.append(KeptImage(image, described.stat().st_mtime, not free))
        return tuple(sorted(found, key=lambda each: -each.used))

    def clear(self) -> tuple[int, int]:
        """Remove every image that is not in use, and what was left unfinished: how many were, and their bytes."""
        self._sweep()
        count = size = 0
        for described in kept.whole(self.folder, "image.json"):
            key = described.parent.name
            image = self._find(key)
            if kept.drop(self.folder, key):
                count, size = count + 1, size + (image.size if image is not None else 0)
        return count, size

    def _key(self, wanted: Wanted) -> str:
        parts = [_FORMAT, wanted.digest, wanted.user, wanted.groups, self._owner]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]

    def _find(self, key: str) -> UnpackedImage | None:
        try:
            text = (self.folder / key / "image.json").read_bytes()
            image = UnpackedImage.decode(text)
        except (OSError, ValueError, KeyError, TypeError):  # not there, or of another version
            return None
        return dataclasses.replace(image, root=str(self.folder / key / "root"))

    def _unpack(self, key: str, wanted: Wanted, image: StoredImage, say: Callable[[str], None]) -> None:
        self._sweep()
        place = self.folder / (key + kept.UNFINISHED)
        kept.remove(place)
        kept.remove_whole(self.folder, key)
        say(f"unpacking {image.name}")
        try:
            os.makedirs(place / "root", mode=0o700)
            os.mkdir(place / "empty", 0o755)
            if os.geteuid() == 0:
                os.chown(place / "empty", self._owner, self._owner)
            unpacked = self._unpacked(place / "root", wanted, image)
            (place / "image.json").write_text(unpacked.encode(), encoding="ascii")
            os.rename(place, self.folder / key)
        except OSError as error:
            raise ImageError(
                f"{image.name}: cannot be unpacked to {self.folder} ({error.strerror or error})."
            ) from error
        except ImageError as error:
            raise ImageError(f"{image.name}: {error}.") from error
        finally:
            kept.remove(place)
        self._drop_old(key)

    def _unpacked(self, place: Path, wanted: Wanted, image: StoredImage) -> UnpackedImage:
        root = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            tree = unpack(image.layers, root)
            user = account(root, wanted.user or image.config.user, wanted.groups)
            settle(root, tree, user, self._owner)
        finally:
            os.close(root)
        return UnpackedImage("", wanted.digest, image.config, user, tuple(tree.notes), tree.size)

    def _sweep(self) -> None:
        """Remove what runs that were killed have left unfinished."""
        for place in self.folder.glob(f"*{kept.UNFINISHED}"):
            key = place.name.removesuffix(kept.UNFINISHED)
            lock = kept.lock_of(self.folder, key)
            with kept.free(lock) as free:
                if free:
                    kept.remove(place)
                    if not (self.folder / key).exists():
                        lock.unlink(missing_ok=True)

    def _drop_old(self, newest: str) -> None:
        """Remove the images that were used longest ago and do not fit the bounds beside the newest."""
        ages: list[tuple[float, str, int]] = []
        for described in kept.whole(self.folder, "image.json"):
            found = self._find(described.parent.name)
            with suppress(OSError):  # another run is removing it
                ages.append((described.stat().st_mtime, described.parent.name, found.size if found else 0))
        count, room = 0, KEPT_BYTES
        for _, key, size in sorted(ages, key=lambda age: (age[1] != newest, -age[0])):
            count, room = count + 1, room - size
            if key == newest or (count <= KEPT_IMAGES and room >= 0):
                continue
            kept.drop(self.folder, key)
