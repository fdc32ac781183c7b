"""What a server must not reach or do: every attempt of `tests/boxes/hostile.py`, and what only a whole run can be asked."""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
from pathlib import Path

from deeds import WORKSPACE, Deed, Deeds

HERE = Path(__file__)
FACTS = json.loads((WORKSPACE / "host.json").read_text())
"""What the test has set up on the host: see `hostruns.py`."""


def tops(paths: list[str]) -> dict[str, list[str]]:
    """The entries of top folders that these paths account for."""
    entries: dict[str, list[str]] = {}
    for path in paths:
        _, top, entry, *_ = (*Path(path).parts, "")
        entries.setdefault(f"/{top}", []).append(entry)
    return entries


SHOWN = [str(HERE), str(WORKSPACE), sys.prefix, sys.base_prefix, os.path.realpath(sys.executable)]
os.environ["HOST_FACTS"] = json.dumps({**FACTS, "exposed": tops(SHOWN)})

import hostile  # noqa: E402 - it reads the facts when it is imported

server = Deeds("contract-walls")


CONTACT = {"reach_a_service_on_the_hosts_address"}
"""Attempts that contact somebody: the gateway, when the wall holds."""


def attempt(name: str) -> Deed:
    def deed() -> str:
        return hostile.attempt(name) or "held"

    deed.__name__ = name
    return deed


for each in [name for name in vars(hostile) if name.startswith("reach_")]:
    (server.calls_out if each in CONTACT else server.reads)(attempt(each))


# --- what the server is ---------------------------------------------------------------------------------------


def status(*names: str) -> dict[str, str]:
    lines = Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return {name: " ".join(fields[name].split()) for name in names}


@server.reads
def show_capabilities():
    return status("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")


@server.reads
def show_privileges():
    return status("NoNewPrivs", "Seccomp")


@server.reads
def show_ids():
    return status("Uid", "Gid", "Groups")


@server.reads
def show_whether_it_is_root_outside():
    maps = [map(int, line.split()) for line in Path("/proc/self/uid_map").read_text().splitlines()]
    return any(outside <= 0 < outside + length and inside == os.getuid() for inside, outside, length in maps)


@server.reads
def show_processes():
    return sorted(int(name) for name in os.listdir("/proc") if name.isdigit())


@server.reads
def show_descriptors():
    return sorted(int(name) for name in os.listdir("/proc/self/fd"))[:-1]


@server.reads
def show_interfaces():
    return [name for _, name in socket.if_nameindex()]


@server.reads
def show_host_name():
    return socket.gethostname()


@server.reads
def show_writable_places():
    """Which top folders the server can write in."""
    return sorted(f"/{name}" for name in os.listdir("/") if os.access(f"/{name}", os.W_OK))


@server.reads
def show_file_systems():
    """Kinds of those mounted on folders: single devices are of whatever file system holds them outside."""
    mounts = [line.split()[1:3] for line in Path("/proc/self/mounts").read_text().splitlines()]
    return sorted({kind for place, kind in mounts if Path(place).is_dir()})


@server.reads
def show_core_limit():
    return resource.getrlimit(resource.RLIMIT_CORE)[1]


@server.reads
def show_routes():
    """The devices of all routes, of IPv4 and IPv6."""
    four = [line.split()[0] for line in Path("/proc/net/route").read_text().splitlines()[1:]]
    six = [line.split()[-1] for line in Path("/proc/net/ipv6_route").read_text().splitlines()]
    return sorted({*four, *six})


# --- what only a whole run has ------------------------------------------------------------------------------------


@server.calls_out
def reach_the_hosts_service():
    return [address for address in FACTS["addresses"] if FACTS["marker"] in greeting(address, FACTS["port"])]


def greeting(address: str, port: int) -> str:
    """What a service says first."""
    with socket.socket() as client:
        client.settimeout(1)
        try:
            client.connect((address, port))
            return client.recv(256).decode(errors="replace")
        except OSError:
            return ""


@server.reads
def reach_sockets_of_a_container_engine():
    return [path for path in ENGINE_SOCKETS if os.path.lexists(path)]


ENGINE_SOCKETS = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/podman/podman.sock",
)


@server.reads
def reach_marks_of_a_container():
    return [path for path in ("/.dockerenv", "/run/.containerenv") if os.path.lexists(path)]


@server.reads
def reach_another_root_through_proc():
    """Roots and working folders of processes other than the server."""
    found = []
    for pid in range(1, 200):
        for name in ("root", "cwd"):
            try:
                names = os.listdir(f"/proc/{pid}/{name}")
            except OSError:
                continue
            if pid != os.getpid():
                found.append([pid, name, *names[:3]])
    return found


@server.reads
def reach_private_keys():
    """Files outside the home, with its planted ones, that are a private key."""
    found = []
    for top in ("/etc", "/tmp", "/run", "/var", "/dev/shm"):
        for folder, _, names in os.walk(top):
            found += [f"{folder}/{name}" for name in names if is_private_key(f"{folder}/{name}")]
    return found


def is_private_key(path: str) -> bool:
    try:
        with open(path, "rb") if os.path.isfile(path) else open(os.devnull, "rb") as file:
            return b"PRIVATE KEY-----" in file.readline(100)
    except OSError:
        return False
