"""The root file system of one box, built by its init in a mount namespace of its own.

One tmpfs, the scratch, holds the upper layers of all overlays: the root over the skeleton, and one per folder
of the host. What a server changes is in an upper layer and nowhere else. The scratch is mounted inside the
daemon's base, so nothing of a box ever has a name on the host, and the kernel drops all of it with the last
process.

The order of steps matters (user_namespaces(7), overlayfs.rst): upper layers are filled before their overlay
is mounted; ``userxattr`` is needed in a user namespace, else a removed folder cannot come back; procfs has to
be mounted while the host's is still visible.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.linux import syscalls
from sandbox.linux.assignment import Assignment
from sandbox.linux.base import DEVICES, NETWORK_FILES, SCRATCH
from sandbox.linux.namespaces import Ids
from sandbox.linux.order import step
from sandbox.linux.seeds import Place, Planter, copy_attributes

_ROOT = f"{SCRATCH}/root"

_INODES_PER_MIB = 200
_SHARED_MEMORY = "size=64m,nr_inodes=10k,mode=1777"

_IMAGE_FOLDERS = {"/dev": 0o755, "/proc": 0o555, "/sys": 0o555, "/tmp": 0o1777, "/var/tmp": 0o1777}
"""What a box has of its own on top of an image, which need not have any of it."""

_SEALED = ("sys", "irq", "bus", "fs", "sysrq-trigger", "acpi", "scsi", "asound", "driver", "mtrr")
"""Parts of /proc that are readable, never writable, whoever asks."""

_HIDDEN = (
    "kcore",
    "keys",
    "key-users",
    "kallsyms",
    "kmsg",
    "kpagecgroup",
    "kpagecount",
    "kpageflags",
    "sched_debug",
    "timer_list",
)
"""Files of /proc that tell about the machine or its other users: they read as empty."""


@dataclass(frozen=True, slots=True)
class Root:
    """Descriptors of a finished root: its folder, its /proc, its /dev/shm, and the upper layers (the root's,
    then the order's)."""

    root: int
    proc: int
    shared_memory: int
    uppers: tuple[int, ...]

    @property
    def descriptors(self) -> list[int]:
        """All of them, in the order of the fields."""
        return [self.root, self.proc, self.shared_memory, *self.uppers]


def build(assignment: Assignment) -> Root:
    """Build the box's root and make it the caller's, the first process of its pid namespace. Raises StepError."""
    with step("create a mount namespace"):
        syscalls.unshare(syscalls.CLONE_NEWNS)
        syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
    with step("mount the scratch"):
        _mount_scratch(assignment)
    with step("fill the upper layers"):
        uppers = _make_uppers([lower.path for lower in assignment.sources.lowers])
        _fill(assignment, uppers)
    with step("mount an overlay"):
        os.mkdir(_ROOT)
        prefixes = ("", *(layer.path for layer in assignment.order.layers))
        for number, lower in enumerate(assignment.sources.lowers):
            _mount_overlay(number, lower.path, _ROOT + prefixes[number])
    with step("mount /dev"):
        shared_memory = _mount_devices()
    with step("mount /proc"):
        _mount_proc(own_users=assignment.ids.maps is not None)
    with step("change the root"):
        opened = tuple(_open_folder(path) for path in uppers)
        os.chdir(_ROOT)
        syscalls.pivot_root(".", ".")
        syscalls.unmount(".", syscalls.MNT_DETACH)
        os.chdir("/")
    with step("open the new root"):
        return Root(_open_folder("/"), _open_folder("/proc"), shared_memory, opened)


def _mount_scratch(assignment: Assignment) -> None:
    size = assignment.order.disk_size + assignment.extra_size
    inodes = (size >> 20) * _INODES_PER_MIB + len(assignment.seeds)
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV
    syscalls.mount("tmpfs", SCRATCH, "tmpfs", flags, f"size={size},nr_inodes={inodes},mode=755")


def _open_folder(path: str) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _upper(number: int) -> str:
    return f"{SCRATCH}/upper/{number}"


def _make_uppers(lowers: Sequence[str]) -> list[str]:
    for folder in ("upper", "work"):
        os.mkdir(f"{SCRATCH}/{folder}", 0o755)
    uppers = []
    for number, lower in enumerate(lowers):
        os.mkdir(f"{SCRATCH}/work/{number}", 0o755)
        os.mkdir(_upper(number), 0o755)
        copy_attributes(os.stat(lower), _upper(number))
        uppers.append(_upper(number))
    return uppers


def _fill(assignment: Assignment, uppers: Sequence[str]) -> None:
    order, ids, sources = assignment.order, assignment.ids, assignment.sources
    prefixes = ("/", *(layer.path for layer in order.layers))
    lowers = [lower.path for lower in sources.lowers]
    places = [Place(*place) for place in zip(prefixes, uppers, lowers, strict=True)]
    # A mount point lies in the layer that will be covered there.
    root_only = Planter(places[:1], (ids.user, ids.group))
    if order.image:
        _complete_image(root_only, ids)
    for path, mode in order.folders:
        root_only.folder(path, mode, ids.system)
    for layer in order.layers:
        root_only.mount_point(layer.path)
    for path, target in order.links:
        root_only.link(path, target)
    for (path, _), source in zip(order.files, sources.files, strict=True):
        root_only.copy(path, source)
    planter = Planter(places, (ids.user, ids.group))
    if not (order.image and planter.has_below(order.home)):
        planter.folder(order.home, 0o755, (ids.user, ids.group))
    for seed in assignment.seeds:
        planter.plant(seed)
    planter.finish()


def _complete_image(planter: Planter, ids: Ids) -> None:
    for path, mode in _IMAGE_FOLDERS.items():
        planter.folder(path, mode, ids.system)
    mode = 0o444 if ids.system_is_servers else 0o644
    for path, text in NETWORK_FILES.items():
        planter.write(path, text.encode(), mode, ids.system)


def _mount_overlay(number: int, lower: str, target: str) -> None:
    options = f"lowerdir={lower},upperdir={_upper(number)},workdir={SCRATCH}/work/{number},userxattr"
    syscalls.mount("overlay", target, "overlay", syscalls.MS_NOSUID | syscalls.MS_NODEV, options)


def _mount_devices() -> int:
    """Mount the minimal /dev; returns a descriptor of its shm."""
    target = f"{_ROOT}/dev"
    syscalls.mount(DEVICES, target, None, syscalls.MS_BIND | syscalls.MS_REC)
    syscalls.mount(
        "devpts",
        f"{target}/pts",
        "devpts",
        syscalls.MS_NOSUID | syscalls.MS_NOEXEC,
        "newinstance,ptmxmode=0666,mode=620",
    )
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV
    syscalls.mount("tmpfs", f"{target}/shm", "tmpfs", flags, _SHARED_MEMORY)
    # The base's /dev is shared by all boxes.
    syscalls.mount(
        None, target, None, syscalls.MS_REMOUNT | syscalls.MS_BIND | syscalls.MS_RDONLY | syscalls.MS_NOSUID
    )
    return _open_folder(f"{target}/shm")


def _mount_proc(*, own_users: bool) -> None:
    target = f"{_ROOT}/proc"
    flags = syscalls.MS_NOSUID | syscalls.MS_NODEV | syscalls.MS_NOEXEC
    # A server sees its own processes, not init, which was forked from the daemon and shows its command line.
    syscalls.mount("proc", target, "proc", flags, "hidepid=2")
    if own_users:  # else it is the machine's setting, and the server's filter has to do
        syscalls.write_setting(f"{target}/sys/user/max_user_namespaces", "0")
    for name in _SEALED:
        path = f"{target}/{name}"
        if os.path.exists(path):
            syscalls.mount(path, path, None, syscalls.MS_BIND)
            syscalls.mount(
                None, path, None, syscalls.MS_REMOUNT | syscalls.MS_BIND | syscalls.MS_RDONLY | flags
            )
    for name in _HIDDEN:
        path = f"{target}/{name}"
        if os.path.exists(path):
            syscalls.mount(f"{DEVICES}/null", path, None, syscalls.MS_BIND)
