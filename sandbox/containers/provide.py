"""From the name of an image, or the path of its archive, to the image unpacked on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sandbox.containers import images
from sandbox.containers.archive import Archive, StoredImage
from sandbox.containers.cache import ImageCache, UnpackedImage, Wanted
from sandbox.containers.connection import connect
from sandbox.containers.imageconfig import own_architecture
from sandbox.errors import ImageNotFoundError, NoDockerError, UsageError

_OTHER_NAMES = {"x86_64": "amd64", "x86-64": "amd64", "aarch64": "arm64", "armhf": "arm", "i386": "386"}


@contextmanager
def provided(
    cache: ImageCache,
    image: str,
    *,
    user: str = "",
    groups: tuple[str, ...] = (),
    pull: str = "missing",
    say: Callable[[str], None] = lambda _: None,
) -> Iterator[UnpackedImage]:
    """An image unpacked in a cache, where it stays for the length of the block; nothing of it is run.

    ``image`` is the absolute path of an archive or layout, or a reference, for which Docker is asked; ``user``
    and ``groups`` are those of :class:`Wanted`, ``pull`` as for :func:`sandbox.containers.images.find`.

    Raises:
        TargetNotFoundError: the archive cannot be read; the image is not to be had, or needs Docker to be had.
        ImageError: it is damaged, hostile, or for another processor.
        ContainerLostError: Docker went away.
    """
    if image.startswith("/"):
        with ExitStack() as opened:
            stored = opened.enter_context(Archive.open(Path(image), cache.folder)).image()

            @contextmanager
            def again() -> Iterator[StoredImage]:
                yield stored

            with cache.image(Wanted(stored.digest, user, groups), again, say=say) as unpacked:
                opened.close()
                yield unpacked
        return
    try:
        with connect() as docker:
            digest = images.find(docker, image, say, pull=pull)
    except NoDockerError as error:
        raise ImageNotFoundError(
            f"{image} is read from Docker, and {error.reason}. Give its archive instead (oci:./image.tar, made by"
            f" docker save), or cure this: {error.cure}"
        ) from error

    @contextmanager
    def saved() -> Iterator[StoredImage]:
        say(f"saving {image}")
        with (
            connect() as docker,
            images.save(docker, digest) as pieces,
            Archive.receive(image, pieces, cache.folder) as archive,
        ):
            yield archive.image()

    with cache.image(Wanted(digest, user, groups), saved, say=say) as unpacked:
        yield unpacked


def check_platform(platform: str) -> None:
    """Raise UsageError for a ``--platform`` whose programs this machine cannot run in a box."""
    own = own_architecture()
    parts = platform.lower().split("/")
    processor = next(iter(parts[1:] if parts[0] == "linux" else parts), "")
    if _OTHER_NAMES.get(processor, processor) not in ("", own):
        raise UsageError(
            f"--platform {platform}: this machine runs linux/{own}, and nothing is emulated in a box."
        )
