"""The volumes in which the docker host keeps what takes long to make: unpacked images and installed packages."""

from __future__ import annotations

from sandbox.containers.connection import Docker
from sandbox.containers.spec import ContainerRung
from sandbox.errors import ContainerLostError


def own_volume(docker: Docker, rung: ContainerRung, kind: str) -> str:
    """The name of the volume of ``kind`` (``images``, ``layers``) of those who run as this rung's user, made where it is
    missing and labelled ``hintproof.KIND``.

    Raises ContainerLostError.
    """
    from docker.errors import APIError
    from requests import RequestException

    name = f"hintproof-{kind}-{rung.user.replace(':', '-') or 'default'}"
    try:
        docker.client.api.create_volume(name, labels={f"hintproof.{kind}": "1"})
    except (APIError, RequestException) as error:
        raise ContainerLostError(f"Docker cannot make the volume {name}: {error}") from error
    return name
