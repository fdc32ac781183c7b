"""The engine's own image: the one that was built from this very code, or how to build it."""

from __future__ import annotations

import io
import re
from collections import deque
from collections.abc import Callable

import sandbox
from sandbox.containers import context
from sandbox.containers.connection import Docker
from sandbox.errors import ContainerLostError, ImageBuildError, ImageMissingError

PYTHON = "/opt/hintproof/bin/python"
"""The engine's Python in the image. Start it with ``-I``: nothing of the user's may run in the engine."""

COMMAND = "/opt/hintproof/bin/hintproof"

BUILD = "hintproof doctor --build"
"""The command that builds the image, for cures."""

_VERSION, _SOURCE, _BASE = "hintproof.version", "hintproof.source", "org.opencontainers.image.base.name"
_LAST_LINES = 20


def name() -> str:
    """The name under which the image is built and looked for."""
    return f"hintproof:{sandbox.__version__}"


def find_image(docker: Docker) -> str:
    """The id of the engine's image.

    An image that says of which code it was built must have been built from this code. One that somebody built from
    the Dockerfile by hand does not say so; its version must be this one.

    Raises ImageMissingError, with the command that builds it; ContainerLostError when Docker goes away.
    """
    import requests
    from docker.errors import ImageNotFound

    api = docker.client.api
    wanted = [f"{_VERSION}={sandbox.__version__}", f"{_SOURCE}={context.digest()}"]
    try:
        same = api.images(filters={"label": wanted})
        if same:
            return str(max(same, key=lambda image: image["Created"])["Id"])
        image = docker.client.images.get(name())
    except ImageNotFound as error:
        raise ImageMissingError(f"the image {name()} is not there yet", f"build it: {BUILD}") from error
    except requests.RequestException as error:
        raise ContainerLostError(f"Docker went away while the image was looked for: {error}") from error
    labels = image.labels
    again = f"build it anew: {BUILD}"
    if labels.get(_BASE, context.default_base()) != context.default_base():
        again += f" --base {labels[_BASE]}"
    if labels.get(_VERSION) != sandbox.__version__:
        raise ImageMissingError(
            f"the image {name()} is of version {labels.get(_VERSION) or 'unknown'}, this hintproof of {sandbox.__version__}",
            again,
        )
    if labels.get(_SOURCE):
        raise ImageMissingError(f"the image {name()} was built from other code", again)
    return str(image.id)


def build_image(docker: Docker, base: str = "", say: Callable[[str], None] = lambda _: None) -> str:
    """Build the engine's image, on another base image if one is named; its id. say: gets each line of the build.

    Raises ImageBuildError with the end of what the build said, ContainerLostError when Docker goes away.
    """
    import requests
    from docker.errors import APIError

    arguments = {"VERSION": sandbox.__version__} | ({"BASE": base} if base else {})
    last: deque[str] = deque(maxlen=_LAST_LINES)
    try:
        for message in docker.client.api.build(
            fileobj=io.BytesIO(context.archive()),
            custom_context=True,
            tag=name(),
            buildargs=arguments,
            labels={_SOURCE: context.digest()},
            rm=True,
            forcerm=True,
            decode=True,
        ):
            for line in str(message.get("stream") or message.get("status") or "").splitlines():
                if line.strip():
                    last.append(line)
                    say(line)
            if "error" in message:
                raise _why_not("\n".join(last), str(message["error"]), base)
    except APIError as error:
        raise _why_not("\n".join(last), str(error.explanation or error), base) from error
    except requests.RequestException as error:
        raise ContainerLostError(f"Docker went away while the image was built: {error}") from error
    return find_image(docker)


def _why_not(said: str, error: str, base: str) -> ImageBuildError:
    cure = "see the lines above"
    if re.search(
        r"pull access denied|manifest unknown|not found: manifest|no such host|i/o timeout|TLS handshake",
        error,
    ):
        cure = f"name a base image that is here or that can be had: {BUILD} --base IMAGE (a Debian or Ubuntu with Python 3.11)"
    elif re.search(r"CERTIFICATE_VERIFY_FAILED|certificate", said + error):
        cure = f"the network signs connections anew: name a base image that knows its certificate, {BUILD} --base IMAGE"
    elif base:
        cure = "the base image must be a Debian or Ubuntu with Python 3.11 or newer, its venv and pip"
    return ImageBuildError(
        f"the engine's image cannot be built on {base or context.default_base()}: {error.strip()}\n{said}",
        cure,
    )
