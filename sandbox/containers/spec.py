"""What an engine's container is started with, and the same in Docker's terms."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox.containers.connection import Facts
from sandbox.containers.seccomp import profile

SCRATCH = "/tmp"
"""The only folder of the container that can be written: TMPDIR and HOME of the engine."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A folder or file of this machine, or a volume, in the container. source: an absolute path, or the
    volume's name. target: absolute."""

    source: str
    target: str
    read_only: bool = True
    is_volume: bool = False


@dataclass(frozen=True, slots=True)
class ContainerRung:
    """One way to start the container so that boxes can be built in it.

    user: ``uid:gid``, or empty for the image's own user. capabilities: what is left of all capabilities.
    """

    name: str
    user: str
    capabilities: tuple[str, ...]
    meaning: str


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """One container.

    argv: the whole command; the image's entrypoint is not used. memory_mb: of all that runs in it, its
    scratch included (MiB). cpus: that many at once, 0 for all. pids: processes and threads. scratch_mb: of the
    scratch (MiB), taken from memory_mb as it fills. folders: those that are there, but empty. network: whether it has one, Docker's
    usual bridge; the proxies of Docker's own settings are then in its environment. labels: more labels; everybody who may use Docker reads them, and
    the environment.
    """

    image: str
    argv: Sequence[str]
    rung: ContainerRung
    mounts: Sequence[Mount] = ()
    folders: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    memory_mb: int = 4096
    cpus: float = 0
    pids: int = 2048
    scratch_mb: int = 2048
    labels: Mapping[str, str] = field(default_factory=dict)
    network: bool = False


def request(spec: ContainerSpec, facts: Facts, labels: Mapping[str, str]) -> dict[str, Any]:
    """The keywords of docker-py's ``create_container``."""
    return {
        "image": spec.image,
        "entrypoint": list(spec.argv[:1]),
        "command": list(spec.argv[1:]),
        "user": spec.rung.user or None,
        "hostname": "hintproof",
        "working_dir": "/",
        "stdin_open": True,
        "environment": {"TMPDIR": SCRATCH, "HOME": SCRATCH, **spec.environment},
        "labels": {**spec.labels, **labels},
        "host_config": _host_configuration(spec, facts),
        "use_config_proxy": spec.network,  # a proxy is of no use without a network, and its address may hold a password
    }


def _host_configuration(spec: ContainerSpec, facts: Facts) -> dict[str, Any]:
    """Docker's HostConfig, in the words of its API."""
    confinement = ["no-new-privileges:true", f"seccomp={profile()}"]
    if "apparmor" in facts.security:
        # Its default profile refuses every mount, and a box is made of mounts.
        confinement.append("apparmor=unconfined")
    if "selinux" in facts.security:
        # Else the mounted folders could not be read unless their labels were changed, and they are the user's.
        confinement.append("label=disable")
    memory = spec.memory_mb << 20
    configuration: dict[str, Any] = {
        "AutoRemove": True,
        "Init": True,
        "NetworkMode": "bridge" if spec.network else "none",
        "ReadonlyRootfs": True,
        "Tmpfs": {
            **dict.fromkeys(spec.folders, "ro,noexec,nosuid,nodev,mode=755,size=4k"),
            SCRATCH: f"rw,exec,nosuid,nodev,mode=1777,size={spec.scratch_mb}m",
        },
        "Mounts": [_mount(mount) for mount in spec.mounts],
        "CapDrop": ["ALL"],
        "CapAdd": list(spec.rung.capabilities),
        "SecurityOpt": confinement,
        # Linux refuses to mount a /proc in a box when parts of the container's own are covered.
        "MaskedPaths": [],
        "ReadonlyPaths": [],
        "Memory": memory,
        "MemorySwap": memory,
        "PidsLimit": spec.pids,
        "NanoCpus": int(spec.cpus * 1e9),
        "Ulimits": [{"Name": "core", "Soft": 0, "Hard": 0}],
        "LogConfig": {"Type": "none"},
    }
    if "userns" in facts.security:
        # Files of this machine keep their owners, whom the engine has to be one of.
        configuration["UsernsMode"] = "host"
    return configuration


def _mount(mount: Mount) -> dict[str, Any]:
    return {
        "Type": "volume" if mount.is_volume else "bind",
        "Source": mount.source,
        "Target": mount.target,
        "ReadOnly": mount.read_only,
    }


def rungs(facts: Facts) -> tuple[ContainerRung, ...]:
    """The ladder for this caller on this engine, from the one that allows least."""
    return (_lowest(facts), _ADMIN, _PLAIN)


def _lowest(facts: Facts) -> ContainerRung:
    if not facts.same_kernel:
        return ContainerRung("user", "", (), "no capability, as the image's own user")
    # A rootless engine's root is the user who runs it, and its other ids own nothing of this machine.
    if os.geteuid() == 0 or "rootless" in facts.security:
        return ContainerRung(
            "root", "0:0", _MAPPING, "as root without power over the machine, boxes with user namespaces"
        )
    return ContainerRung("user", f"{os.geteuid()}:{os.getegid()}", (), "no capability, as the calling user")


_MAPPING = ("SETFCAP", "SETGID", "SETUID")
"""What root needs to hand an id of its own, and an unused one, to a user namespace."""

_ADMIN = ContainerRung(
    "admin",
    "0:0",
    (*_MAPPING, "SYS_ADMIN"),
    "as root with SYS_ADMIN, where the machine refuses user namespaces to others",
)

_PLAIN = ContainerRung(
    "plain",
    "0:0",
    (
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "KILL",
        "NET_ADMIN",
        "NET_BIND_SERVICE",
        "NET_RAW",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_ADMIN",
        "SYS_PTRACE",
    ),
    "as root with all that boxes without user namespaces need, where the machine has none",
)
