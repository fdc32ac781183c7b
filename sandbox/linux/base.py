"""The base of every box: made once by the daemon, in its own mount namespace, and never on disk.

A tmpfs covers /sys, a folder that every machine has and no box needs. It holds the skeleton (the root
overlay's lower layer: a filtered /etc and empty folders), the minimal /dev, and the point on which each box
mounts its own scratch.
"""

from __future__ import annotations

import errno
import glob
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from sandbox.linux import syscalls
from sandbox.linux.mounts import Parts, mount_points
from sandbox.linux.namespaces import Ids
from sandbox.linux.order import step
from sandbox.model import HOME

BASE = "/sys"
SKELETON = f"{BASE}/skeleton"
DEVICES = f"{BASE}/dev"
SCRATCH = f"{BASE}/box"
LAYERS = f"{BASE}/layers"

HOSTNAME = "box"

NAME_SERVER = "11.0.0.53"
"""A globally routable address, as programs expect one; the gateway answers on port 53 of every address."""

SYSTEM_FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Folders of the host that every box sees. Where one is a symlink, as on a merged-usr system, so it is in the box."""

_BASE_SIZE = 64 << 20
_BASE_INODES = 40_000
_PARTS_LIMIT = 512 << 20
"""Bytes of the system's files that may have to be copied, for they lie beside something that is mounted."""

_DEVICE_NODES = ("null", "zero", "full", "random", "urandom", "tty")
_DEVICE_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "ptmx": "pts/ptmx",
}

_FOLDERS = {
    "boot": 0o755,
    "dev": 0o755,
    "etc": 0o755,
    "home": 0o755,
    "media": 0o755,
    "mnt": 0o755,
    "opt": 0o755,
    "proc": 0o555,
    "root": 0o755,
    "run": 0o755,
    "srv": 0o755,
    "sys": 0o555,
    "tmp": 0o1777,
    "var": 0o755,
    "var/cache": 0o755,
    "var/lib": 0o755,
    "var/log": 0o755,
    "var/tmp": 0o1777,
}

_ETC = tuple(
    (
        "alternatives bash.bashrc debian_version default/locale ethertypes fonts gai.conf host.conf inputrc"
        " java* ld.so.cache ld.so.conf ld.so.conf.d locale.alias locale.conf localtime lsb-release magic"
        " magic.mime mime.types os-release perl profile protocols python3* redhat-release rpc services shells"
        " ssl/openssl.cnf terminfo timezone alpine-release"
    ).split()
)
"""What of the host's /etc a box sees: what runtimes need to start, nothing that tells who uses the machine."""

_ETC_FILE_LIMIT = 1 << 20

NETWORK_FILES = {
    "/etc/hostname": f"{HOSTNAME}\n",
    "/etc/hosts": f"127.0.0.1 localhost\n127.0.1.1 {HOSTNAME}\n::1 localhost ip6-localhost ip6-loopback\n",
    "/etc/resolv.conf": f"nameserver {NAME_SERVER}\n",
}
"""What tells a box where it is; it replaces an image's own files too."""

_OWN_ETC = {
    "machine-id": "b08dfa6083e7567a1921a715000001fb\n",  # the example of machine-id(5)
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nnetworks: files\nservices: files\nprotocols: files\n",
}


@dataclass(frozen=True, slots=True)
class Lower:
    """A lower layer: its path below the base, and a descriptor through which the engine sees it as the box does."""

    path: str
    descriptor: int


@dataclass(frozen=True, slots=True)
class Base:
    """What the daemon hands on to its boxes: the root's lower layer, and a descriptor of the host's /proc."""

    skeleton: Lower
    proc: int


def build(server: int, ids: Ids) -> Base:
    """Build the base. ``server`` is the server's id as the daemon sees it, ``ids`` are those of a box of the
    host's system. Raises StepError."""
    with step("take the system's folders apart"):
        parts = _system_parts()
        size = sum(os.stat(path).st_size for path in parts.files)
        if size > _PARTS_LIMIT:
            told = f"{size >> 20} MiB of files lie beside something that is mounted below {' '.join(SYSTEM_FOLDERS)}"
            raise OSError(errno.EFBIG, told)
    with step("mount a tmpfs"):
        proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        options = f"size={_BASE_SIZE + size},nr_inodes={_BASE_INODES + len(parts.files)},mode=755"
        syscalls.mount("tmpfs", BASE, "tmpfs", syscalls.MS_NOSUID, options)
        for path in (SKELETON, DEVICES, LAYERS, SCRATCH):
            os.mkdir(path, 0o755)
    with step("bind the devices"):
        _build_devices()
    with step("copy the system's settings"):
        _build_skeleton(server, ids, parts)
        skeleton = os.open(SKELETON, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return Base(Lower(SKELETON, skeleton), proc)


def _build_devices() -> None:
    for name in _DEVICE_NODES:
        if not os.path.exists(f"/dev/{name}"):
            continue
        # A user namespace cannot make device nodes; a bind mount of the host's keeps working.
        Path(DEVICES, name).touch()
        syscalls.mount(f"/dev/{name}", f"{DEVICES}/{name}", None, syscalls.MS_BIND)
    for name in ("pts", "shm"):
        os.mkdir(f"{DEVICES}/{name}", 0o755)
    for name, target in _DEVICE_LINKS.items():
        os.symlink(target, f"{DEVICES}/{name}")


def _system_parts() -> Parts:
    parts = Parts()
    mounts = mount_points()
    for folder in SYSTEM_FOLDERS:
        if os.path.isdir(folder) and not os.path.islink(folder):
            parts.add(folder, mounts)
    return parts


def _build_skeleton(server: int, ids: Ids, parts: Parts) -> None:
    for name, mode in _FOLDERS.items():
        path = f"{SKELETON}/{name}"
        os.mkdir(path)
        os.chmod(path, mode)
    for folder in SYSTEM_FOLDERS:
        if os.path.islink(folder):
            os.symlink(os.readlink(folder), SKELETON + folder)
        elif os.path.isdir(folder):
            os.mkdir(SKELETON + folder, 0o755)
    for path, mode in parts.folders:
        os.makedirs(SKELETON + path, exist_ok=True)
        os.chmod(SKELETON + path, mode)
    for path, target in parts.links:
        os.symlink(target, SKELETON + path)
    for path in parts.files:
        # Not by shutil, whose imports every box's forks would pay for.
        Path(SKELETON + path).write_bytes(Path(path).read_bytes())
        os.chmod(SKELETON + path, stat.S_IMODE(os.stat(path).st_mode))
    os.symlink("/run", f"{SKELETON}/var/run")
    os.symlink("/proc/mounts", f"{SKELETON}/etc/mtab")
    for pattern in _ETC:
        for path in glob.glob(f"/etc/{pattern}"):
            _copy(path, SKELETON + path)
    for path, text in NETWORK_FILES.items():
        Path(SKELETON + path).write_text(text)
    for name, text in {**_OWN_ETC, **_accounts(ids)}.items():
        Path(SKELETON, "etc", name).write_text(text)
    os.makedirs(f"{SKELETON}/etc/ssl/certs", exist_ok=True)
    os.mkdir(SKELETON + HOME)
    os.chown(SKELETON + HOME, server, server)
    if server == os.geteuid():
        _write_protect(SKELETON)


def _accounts(ids: Ids) -> dict[str, str]:
    return {
        "passwd": (
            "root:x:0:0:root:/root:/bin/sh\n"
            f"user:x:{ids.user}:{ids.group}:user:{HOME}:/bin/sh\n"
            "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
        ),
        "group": f"root:x:0:\nuser:x:{ids.group}:\nnogroup:x:65534:\n",
    }


def _write_protect(skeleton: str) -> None:
    """Take the owner's write permission from all that is the system's.

    A user namespace with one user has no other owner to give it to.
    """
    kept = {f"{skeleton}/tmp", f"{skeleton}/var/tmp", f"{skeleton}{HOME}"}
    for folder, _, files in os.walk(skeleton):
        for path in (folder, *(f"{folder}/{name}" for name in files)):
            mode = os.lstat(path).st_mode
            if path not in kept and not stat.S_ISLNK(mode):
                os.chmod(path, stat.S_IMODE(mode) & ~0o222)


def _copy(source: str, target: str) -> None:
    """Copy a file, symlink or tree of /etc; what is private, huge or just vanished is left out."""
    try:
        facts = os.lstat(source)
        if stat.S_ISLNK(facts.st_mode):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.symlink(os.readlink(source), target)
        elif stat.S_ISDIR(facts.st_mode):
            os.makedirs(target, exist_ok=True)
            for name in os.listdir(source):
                _copy(f"{source}/{name}", f"{target}/{name}")
        elif (
            stat.S_ISREG(facts.st_mode) and facts.st_mode & stat.S_IROTH and facts.st_size <= _ETC_FILE_LIMIT
        ):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            Path(target).write_bytes(Path(source).read_bytes())
            os.chmod(target, 0o644)
    except (FileNotFoundError, PermissionError):
        return
