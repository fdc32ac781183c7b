"""The capabilities of this process (capabilities(7)), and how root that lacks some has them in a user namespace.

Root in a container is often root in name alone. Three capabilities are enough: with them it makes a user namespace
in which every id means itself, and there it may do what root may, but to the machine. The engine has to be inside
as well: it reads files and processes of servers, which run under another id.
"""

from __future__ import annotations

import os
from pathlib import Path

from sandbox.linux import syscalls

NUMBERS = {
    "CHOWN": 0,
    "DAC_OVERRIDE": 1,
    "FOWNER": 3,
    "KILL": 5,
    "SETGID": 6,
    "SETUID": 7,
    "SETPCAP": 8,
    "NET_BIND_SERVICE": 10,
    "NET_ADMIN": 12,
    "NET_RAW": 13,
    "SYS_PTRACE": 19,
    "SYS_ADMIN": 21,
    "SETFCAP": 31,
}
"""The capabilities that some way of building boxes needs, as linux/capability.h numbers them."""

TO_MAP = ("SETUID", "SETGID", "SETFCAP")
"""What it takes to map ids other than one's own into a user namespace, root's among them."""

TO_BE_ROOT = (*TO_MAP, "SYS_ADMIN", "CHOWN", "DAC_OVERRIDE")
"""What the engine and its daemon use as the machine's root, where each box has a user namespace."""

TO_DO_WITHOUT = (
    *("SYS_ADMIN", "NET_ADMIN", "NET_RAW", "NET_BIND_SERVICE", "SETUID", "SETGID", "SETPCAP"),
    *("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SYS_PTRACE"),
)
"""What they use where there are no user namespaces, in which a box's own processes would have all of it."""

_held_before: int | None = None


def missing(needed: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the capabilities that this process does not have, or that it has only since :func:`settle`."""
    held = _effective() if _held_before is None else _held_before
    return tuple(name for name in needed if not held >> NUMBERS[name] & 1)


def settle() -> None:
    """Enter a user namespace where that gives this process the powers that its root lacks; else do nothing.

    To be called before there is a second thread, which the kernel would not let in. Where it does not work, the
    ladder tells why.
    """
    global _held_before  # noqa: PLW0603 (a process enters once, and cannot ask the kernel what it was before)
    if os.geteuid() != 0 or has_settled() or not missing(TO_BE_ROOT) or missing(TO_MAP):
        return
    held = _effective()
    try:
        enter_user_namespace()
    except OSError:
        return
    _held_before = held


def held_before() -> int | None:
    """What this process held before :func:`settle` gave it more, to be told to a process that it starts; else None."""
    return _held_before


def inherit(held: int | None) -> None:
    """Take over what the process that started this one held before it settled; with None, settle here.

    To be called before there is a second thread.
    """
    global _held_before  # noqa: PLW0603 (as for settle)
    if held is None:
        settle()
    else:
        _held_before = held


def has_settled() -> bool:
    """Whether this process is in a user namespace that it made for itself."""
    return _held_before is not None


def enter_user_namespace(flags: int = 0) -> None:
    """Make a user namespace (with ``flags`` others as well) in which every id of this one means itself, and enter it.

    The caller must be root with :data:`TO_MAP` and have a single thread. Raises OSError.
    """
    maps = {name: _identity(Path(f"/proc/self/{name}").read_text()) for name in ("uid_map", "gid_map")}
    read, write = os.pipe2(os.O_CLOEXEC)
    target = os.getpid()
    # Only a process that stayed outside may map more than one id.
    outside = os.fork()
    if outside == 0:
        os.close(write)
        os._exit(_write_maps(target, maps) if os.read(read, 1) else 0)
    os.close(read)
    try:
        syscalls.unshare(syscalls.CLONE_NEWUSER | flags)
        os.write(write, b"u")
    finally:
        os.close(write)
        _, status = os.waitpid(outside, 0)
    if number := os.waitstatus_to_exitcode(status):
        raise OSError(number, f"write the id maps: {os.strerror(number)}")
    # The new powers made the process undumpable, and its own files in /proc another's.
    syscalls.prctl(syscalls.PR_SET_DUMPABLE, 1)


def _write_maps(target: int, maps: dict[str, str]) -> int:
    """Returns the errno of a failure, or 0."""
    try:
        for name, lines in maps.items():
            syscalls.write_setting(f"/proc/{target}/{name}", lines)
    except OSError as error:
        return error.errno or 1
    return 0


def _identity(ranges: str) -> str:
    """An id map in which each id of the present map stands for itself (user_namespaces(7))."""
    lines = (line.split() for line in ranges.splitlines())
    return "".join(f"{first} {first} {count}\n" for first, _, count in lines)


def _effective() -> int:
    for line in Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0
