"""Removing what processes that are gone have left in Docker."""

from __future__ import annotations

from sandbox.containers.connection import Docker
from sandbox.containers.owner import is_gone, machine_label


def sweep(docker: Docker) -> tuple[str, ...]:
    """Remove this machine's containers whose owners are gone, and nothing else; the names of those removed.

    Raises ContainerLostError when Docker goes away.
    """
    import requests
    from docker.errors import APIError, NotFound

    from sandbox.errors import ContainerLostError

    api = docker.client.api
    removed = []
    try:
        for found in api.containers(all=True, filters={"label": machine_label()}):
            if not is_gone(found.get("Labels") or {}):
                continue
            try:
                api.remove_container(found["Id"], force=True, v=True)
            except NotFound:
                continue
            except (
                APIError
            ):  # somebody else removes it at this moment, or Docker cannot: the next sweep tries again
                continue
            removed.append(found["Names"][0].removeprefix("/"))
    except requests.RequestException as error:
        raise ContainerLostError(f"Docker went away while leftovers were looked for: {error}") from error
    return tuple(removed)
