"""What an image says of itself: its configuration, read from JSON that anyone may have written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox.errors import ImageError
from sandbox.model import Json

_ARCHITECTURES = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "armv7l": "arm",
    "armv6l": "arm",
    "i686": "386",
    "ppc64le": "ppc64le",
    "s390x": "s390x",
    "riscv64": "riscv64",
    "loongarch64": "loong64",
}
"""uname(2)'s names of processors, and those of images (Go's GOARCH)."""


def own_architecture() -> str:
    """The processor of this machine, as images name it."""
    machine = os.uname().machine
    return _ARCHITECTURES.get(machine, machine)


@dataclass(frozen=True, slots=True)
class ImageConfig:
    """How an image wants to be run (OCI image specification, ``config.md``).

    ``volumes`` are the folders that it declares as such, ``version`` is its own label, "" without one.
    """

    architecture: str
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    user: str = ""
    workdir: str = ""
    volumes: tuple[str, ...] = ()
    version: str = ""

    @classmethod
    def read(cls, raw: Json) -> ImageConfig:
        """Read the JSON of a configuration. Raises ImageError for one that is none, or of another system."""
        if not isinstance(raw, dict):
            raise ImageError("its configuration is no JSON object")
        system = _text(raw, "os") or "linux"
        if system != "linux":
            raise ImageError(f"it is an image for {system!r}; only images for Linux can be put into a box")
        config = raw.get("config")
        wanted = config if isinstance(config, dict) else {}
        labels = wanted.get("Labels")
        volumes = wanted.get("Volumes")
        variables = (word.partition("=") for word in _words(wanted, "Env"))
        return cls(
            architecture=_text(raw, "architecture"),
            entrypoint=_words(wanted, "Entrypoint"),
            command=_words(wanted, "Cmd"),
            env={name: value for name, equals, value in variables if name and equals},
            user=_text(wanted, "User"),
            workdir=_text(wanted, "WorkingDir"),
            volumes=_words({"Volumes": [*sorted(volumes)]}, "Volumes") if isinstance(volumes, dict) else (),
            version=_text(labels, "org.opencontainers.image.version") if isinstance(labels, dict) else "",
        )


def _text(raw: Mapping[str, Json], name: str) -> str:
    value = raw.get(name) or ""
    if not isinstance(value, str) or not _is_usable(value):
        raise ImageError(f"its configuration's {name} is no text")
    return value


def _words(raw: Mapping[str, Json], name: str) -> tuple[str, ...]:
    value = raw.get(name) or []
    if isinstance(value, str):  # of the first versions of Docker: a line for the shell
        value = ["/bin/sh", "-c", value]
    if not isinstance(value, list):
        raise ImageError(f"its configuration's {name} is no list of words")
    words = tuple(word for word in value if isinstance(word, str) and _is_usable(word))
    if len(words) != len(value):
        raise ImageError(f"its configuration's {name} is no list of words")
    return words


def _is_usable(text: str) -> bool:
    """Whether the kernel can be told a text: JSON can spell null bytes, and halves of characters."""
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False
