"""Packages on the docker host: installed by a container of ours that alone has a network, and kept in a volume."""

from __future__ import annotations

import dataclasses
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sandbox
from sandbox.containers.connection import Docker
from sandbox.containers.container import EngineContainer
from sandbox.containers.ownimage import PYTHON
from sandbox.containers.spec import SCRATCH, ContainerRung, ContainerSpec, Mount
from sandbox.errors import ContainerLostError
from sandbox.events import Listener
from sandbox.evidence.codec import encode
from sandbox.hosts.ending import account_of_end
from sandbox.hosts.job import Job
from sandbox.hosts.mounts import Sight, View
from sandbox.hosts.stream import hear_of_layer
from sandbox.hosts.volumes import own_volume
from sandbox.provision.plan import INSTALL_LIMITS
from sandbox.targets.layers import Layer

LAYERS = "/var/cache/hintproof-layers"
"""Where the volume is in every container of ours (Dockerfile: everybody may write there)."""

_ARGV = (PYTHON, "-I", "-m", "sandbox.hosts.provisioning")
_ENGINE_MB, _ENGINE_PIDS = 1024, 256
_FILE_MOST = 1 << 20

_VARIABLES = frozenset(
    (
        "http_proxy https_proxy all_proxy no_proxy npm_config_registry uv_default_index uv_index_url uv_index"
        " uv_extra_index_url uv_index_strategy pip_index_url pip_extra_index_url"
    ).split()
)
"""Which registries the user installs from, and how this machine reaches them; in small letters."""

_FILES = (".npmrc", ".pip/pip.conf", ".config/pip/pip.conf", ".config/uv/uv.toml")
"""The same, as files in the user's home."""


@dataclass(frozen=True, slots=True)
class InVolume:
    """An installed package, and the mount that shows it to the engine, read-only."""

    layer: Layer
    mount: Mount


@contextmanager
def installed_in_volume(
    docker: Docker, own_image: str, rung: ContainerRung, sight: Sight, listener: Listener
) -> Iterator[InVolume]:
    """Have the package of a job installed, unless it is already, and keep it there for the length of the block.

    ``own_image`` is the engine's, ``rung`` that of the container which will use the layer, ``sight`` the job and what that is shown.

    Raises:
        InstallError: the package cannot be installed.
        NoSandboxError: no box can be built in the container on this rung.
        ContainerLostError: Docker or the container went away.
    """
    volume = own_volume(docker, rung, "layers")
    spec = install_spec(own_image, rung, sight.view, volume)
    with EngineContainer.start(docker, spec) as container:
        container.send(write_order(sight.job, LAYERS, settings(os.environ)))
        layer = hear_of_layer(container.lines(), listener)
        if layer is None:
            raise ContainerLostError(account_of_end(container))
        yield InVolume(layer, Mount(volume, LAYERS, is_volume=True))


def install_spec(own_image: str, rung: ContainerRung, view: View, volume: str) -> ContainerSpec:
    """The container in which a package is installed: the only one with a network, and the only one that writes to the
    volume."""
    return ContainerSpec(
        image=own_image,
        argv=_ARGV,
        rung=rung,
        mounts=(
            *(Mount(bind.source, bind.target) for bind in view.binds),
            Mount(volume, LAYERS, read_only=False, is_volume=True),
        ),
        folders=tuple(path for path in view.folders if path != SCRATCH),
        # One box installs, and one after it sees whether the server starts.
        memory_mb=INSTALL_LIMITS.memory_mb + INSTALL_LIMITS.disk_mb + _ENGINE_MB,
        pids=INSTALL_LIMITS.processes + _ENGINE_PIDS,
        network=True,
    )


def write_order(job: Job, folder: str, machine: Mapping[str, Any]) -> bytes:
    """What an installing process is told: the job, the folder of the store, and the settings of this machine."""
    told = {"version": sandbox.__version__, "job": encode(dataclasses.replace(job, layer=None))}
    return json.dumps({**told, "folder": folder, "settings": machine}).encode() + b"\n"


def settings(environ: Mapping[str, str]) -> dict[str, Any]:
    """What decides which registries this user installs from and whom this machine trusts: ``variables``,
    ``files`` below the home, and ``certificates`` (PEM).

    It goes to the installing container alone, by its standard input. Settings of the whole machine (``/etc``) are not among it.
    """
    variables = {name: value for name, value in environ.items() if name.lower() in _VARIABLES}
    files = {}
    home = Path(environ.get("HOME") or Path.home())
    for name in _FILES:
        text = _text(home / name)
        if text:
            files[name] = text
    if named := environ.get("npm_config_userconfig") or environ.get("NPM_CONFIG_USERCONFIG"):
        files[".npmrc"] = _text(Path(named))
    if named := environ.get("PIP_CONFIG_FILE"):
        files[".config/pip/pip.conf"] = _text(Path(named))
    return {"variables": variables, "files": files, "certificates": _certificates(environ)}


def _certificates(environ: Mapping[str, str]) -> str:
    if sys.platform != "linux":
        return _text(Path(environ.get("SSL_CERT_FILE") or os.devnull))
    from sandbox.world import machine_certificates

    return machine_certificates(environ).decode("utf-8", "replace")


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_FILE_MOST).decode("utf-8", "replace")
    except OSError:
        return ""
