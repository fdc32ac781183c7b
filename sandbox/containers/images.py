"""Images of others: found here or pulled, and their archives as a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sandbox.containers.connection import Docker
from sandbox.errors import ContainerLostError, ImageNotFoundError

if TYPE_CHECKING:
    from docker.models.images import Image

_PIECE = 2 << 20


def find(
    docker: Docker, reference: str, say: Callable[[str], None] = lambda _: None, *, pull: str = "missing"
) -> str:
    """The digest (``sha256:...``) of the image that a reference names; it is pulled when it is not here.

    It is the image's id: the hash of its configuration, which names the hashes of its layers. say: gets a line
    when a pull begins. pull: ``missing``; ``always`` and ``newer`` ask for a newer one first; ``never``.

    Raises ImageNotFoundError, which says why it cannot be had; ContainerLostError when Docker goes away.
    """
    import requests
    from docker.errors import APIError, ImageNotFound, NotFound

    try:
        try:
            if pull in ("always", "newer"):
                say(f"pulling the image {reference}")
                return str(_pull(docker, reference).id)
            image = docker.client.images.get(reference)
        except ImageNotFound:
            if pull == "never":
                raise
            say(f"pulling the image {reference}")
            image = _pull(docker, reference)
    except NotFound as error:
        raise ImageNotFoundError(
            f"there is no image {reference}, neither here nor where it would be pulled from: {_said(error)}."
            " Check its name (docker images lists what is here)"
        ) from error
    except APIError as error:
        raise ImageNotFoundError(
            f"the image {reference} is not here and cannot be pulled: {_said(error)}. Pull or load it yourself"
            f" (docker pull {reference}, docker load), or give its archive: oci:./image.tar"
        ) from error
    except requests.RequestException as error:
        raise ContainerLostError(f"Docker went away while an image was looked for: {error}") from error
    return str(image.id)


@contextmanager
def save(docker: Docker, reference: str) -> Iterator[Iterator[bytes]]:
    """The bytes of ``docker save`` for an image that is here, as they come.

    Raises ImageNotFoundError; ContainerLostError when Docker goes away, also while they are read.
    """
    import requests

    url = docker.url(f"/images/{reference}/get")
    try:
        with docker.client.api.get(url, stream=True, timeout=None) as response:
            if response.status_code != requests.codes.ok:
                said = _said(response.text)
                raise ImageNotFoundError(f"the image {reference} cannot be saved: {said}")
            yield response.iter_content(_PIECE)
    except requests.RequestException as error:
        raise ContainerLostError(f"Docker went away while an image was read: {error}") from error


def _pull(docker: Docker, reference: str) -> Image:
    """Pull one image: that with the tag ``latest`` where none is named, as ``docker`` does."""
    from docker.errors import NotFound
    from docker.utils import parse_repository_tag

    repository, tag = parse_repository_tag(reference)
    for message in docker.client.api.pull(repository, tag=tag or "latest", stream=True, decode=True):
        if "error" in message:
            raise NotFound(str(message["error"]))
    return docker.client.images.get(reference)


def _said(error: object) -> str:
    return str(getattr(error, "explanation", None) or error).strip().rstrip(".")
