"""A client that holds one container: says its name, then waits for the container to end.

Arguments: the image, then the container's command. Exit code 0 when the container ended by itself, 3 when
Docker went away.
"""

from __future__ import annotations

import sys

from dockertools import ANYBODY

from sandbox.containers.connection import connect
from sandbox.containers.container import EngineContainer
from sandbox.containers.spec import ContainerSpec
from sandbox.errors import ContainerLostError


def main() -> int:
    image, *command = sys.argv[1:]
    with (
        connect() as docker,
        EngineContainer.start(docker, ContainerSpec(image, command, ANYBODY)) as container,
    ):
        for line in container.lines():
            sys.stdout.write(f"{container.name} {line.decode()}\n")
            sys.stdout.flush()
        try:
            container.wait()
        except ContainerLostError:
            return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
