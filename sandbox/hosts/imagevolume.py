"""The images of servers on the docker host: unpacked into a volume by a container of ours, and kept there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sandbox.containers import images
from sandbox.containers.connection import Docker
from sandbox.containers.container import EngineContainer
from sandbox.containers.ownimage import PYTHON
from sandbox.containers.spec import ContainerRung, ContainerSpec, Mount
from sandbox.errors import ContainerLostError
from sandbox.events import Listener, Progress
from sandbox.hosts.ending import account_of_end
from sandbox.hosts.pipes import frame
from sandbox.hosts.stream import hear_of_image
from sandbox.hosts.volumes import own_volume
from sandbox.targets.dockerrun import ImageOrder

IMAGES = "/var/cache/hintproof-images"
"""Where the volume is in every container of ours (Dockerfile: everybody may write there)."""

_ARGV = (PYTHON, "-I", "-m", "sandbox.hosts.unpack")
_MEMORY_MB = 2048


@dataclass(frozen=True, slots=True)
class Kept:
    """An unpacked image: what it is (UnpackedImage.encode), and the mount that shows it to the engine."""

    unpacked: str
    mount: Mount


@contextmanager
def unpacked_in_volume(
    docker: Docker, own_image: str, rung: ContainerRung, order: ImageOrder, listener: Listener
) -> Iterator[Kept]:
    """Have an image unpacked, unless it is already, and keep it there for the length of the block.

    ``own_image`` is the engine's, ``rung`` that of the container which will use what is unpacked: files are given
    to the user that its boxes run as.

    Raises:
        TargetNotFoundError: the image is neither here nor to be had.
        ImageError: it cannot be unpacked.
        ContainerLostError: Docker or the container went away.
    """
    volume = own_volume(docker, rung, "images")
    digest = ""
    mounts = [Mount(volume, IMAGES, read_only=False, is_volume=True)]
    if order.is_archive:
        mounts.append(Mount(os.path.realpath(order.image), order.image))
    else:
        digest = images.find(docker, order.image, lambda text: listener(Progress(text)), pull=order.pull)
    wanted = write_order(IMAGES, order, digest)
    spec = ContainerSpec(own_image, _ARGV, rung, mounts=mounts, memory_mb=_MEMORY_MB)
    with EngineContainer.start(docker, spec) as container:

        def send() -> None:
            listener(Progress(f"saving {order.image}"))
            with images.save(docker, digest) as pieces:
                for piece in pieces:
                    if piece:
                        container.send(frame(piece))
            container.send(frame(b""))

        container.send(wanted)
        unpacked = hear_of_image(container.lines(), send, listener)
        if unpacked is None:
            raise ContainerLostError(account_of_end(container))
        yield Kept(unpacked, Mount(volume, IMAGES, is_volume=True))


def write_order(folder: str, order: ImageOrder, digest: str = "") -> bytes:
    """What an unpacking process is told: the image, its ``digest`` unless it is an archive, and where to unpack it."""
    wanted = {"folder": folder, "image": order.image, "digest": digest}
    return json.dumps({**wanted, "user": order.user, "groups": order.groups}).encode() + b"\n"
