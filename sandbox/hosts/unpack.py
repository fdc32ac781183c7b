"""The process that unpacks an image for boxes in containers: ``python -m sandbox.hosts.unpack``.

It runs in a container of its own, with the volume of unpacked images, and holds the image's lock there until its
standard input ends: as long as another container runs boxes on it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from sandbox.containers.archive import Archive, StoredImage
from sandbox.containers.cache import ImageCache, UnpackedImage, Wanted
from sandbox.containers.provide import provided
from sandbox.errors import ExitCode
from sandbox.events import Progress
from sandbox.hosts.pipes import first_line, framed, take_over, until_it_ends, write
from sandbox.hosts.stream import Teller
from sandbox.linux.namespaces import server_owner
from sandbox.linux.powers import settle


def main() -> int:
    """Unpack one image, unless it is unpacked already, and keep it there."""
    settle()  # before there is a second thread
    orders, answers = take_over()
    teller = Teller(partial(write, answers))
    with teller.telling(_leave):
        try:
            _keep(json.loads(first_line(orders)), orders, teller)
        except EOFError:  # in the middle of the archive
            _leave()
    return ExitCode.OK


def _keep(order: dict[str, str | list[str]], orders: int, teller: Teller) -> None:
    image, digest, user = str(order["image"]), str(order["digest"]), str(order["user"])
    groups = tuple(order["groups"])
    cache = ImageCache(Path(str(order["folder"])), server_owner())
    watch = threading.Thread(target=until_it_ends, args=(orders, _leave), daemon=True)

    def say(text: str) -> None:
        teller.event(Progress(text))

    @contextmanager
    def sent() -> Iterator[StoredImage]:
        teller.send_image()
        with Archive.receive(image, framed(orders), cache.folder) as archive:
            watch.start()
            yield archive.image()

    def hold(unpacked: UnpackedImage) -> None:
        teller.unpacked(unpacked.encode())
        if watch.is_alive():
            watch.join()
        until_it_ends(orders, _leave)

    if not digest:
        watch.start()
        with provided(cache, image, user=user, groups=groups, say=say) as unpacked:
            hold(unpacked)
    with cache.image(Wanted(digest, user, groups), sent, say=say) as unpacked:
        hold(unpacked)


def _leave() -> None:
    """End at once; what is not unpacked whole goes with the next image."""
    os._exit(ExitCode.INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
