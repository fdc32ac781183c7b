"""The ladder: the ways in which a box can be built on this machine, tried from the top, and what to change
where none works."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path

from sandbox.boxes.canaries import CanaryWatch
from sandbox.boxes.daemon import Daemon
from sandbox.boxes.exposures import lay_out
from sandbox.errors import BoxLostError, NoSandboxError
from sandbox.linux import powers
from sandbox.linux.namespaces import RungName
from sandbox.linux.order import LayerOrder, Order, StepError
from sandbox.model import HOME, Limits

_MEANING: dict[RungName, str] = {
    "root": "namespaces made by root, servers under an id of nobody",
    "mapped": "the same by a root with few capabilities, in a user namespace of its own",
    "user": "namespaces made by an unprivileged user",
    "plain": "namespaces made by root but no user namespaces, servers under an id of nobody",
}

_TO_READ = ("DAC_OVERRIDE",)

_NEEDED: dict[RungName, tuple[str, ...]] = {
    "root": powers.TO_BE_ROOT,
    "mapped": powers.TO_MAP,
    "plain": powers.TO_DO_WITHOUT,
}
"""The capabilities without which a rung is not even tried."""


@dataclass(frozen=True, slots=True)
class Rung:
    """One way to build a box, or one instrument, as it was tried: why it does not work, and what would cure that."""

    name: str
    works: bool
    meaning: str
    why_not: str = ""
    cure: str = ""


def climb() -> Daemon:
    """Start a daemon on the first rung that carries a trial box.

    Raises NoSandboxError with every rung's reason and cure.
    """
    failed = []
    for name in _order():
        outcome = _try(name)
        if isinstance(outcome, Daemon):
            return outcome
        failed.append(outcome)
    reasons = "\n".join(f"  {rung.name}: {rung.why_not}\n    cure: {rung.cure}" for rung in failed)
    raise NoSandboxError(f"no sandbox can be built on this machine, so no server was started:\n{reasons}")


def ladder() -> list[Rung]:
    """Try every rung and, on the first that carries, every instrument; for ``hintproof doctor``."""
    rungs = []
    carried = False
    for name in _order():
        outcome = _try(name)
        if isinstance(outcome, Rung):
            rungs.append(outcome)
            continue
        rungs.append(Rung(name, True, _MEANING[name]))
        if not carried:
            rungs += _instruments(outcome)
        carried = True
        outcome.close()
    return rungs


def _order() -> tuple[RungName, ...]:
    return ("root", "mapped" if os.geteuid() == 0 else "user", "plain")


def _try(name: RungName) -> Daemon | Rung:
    refused = _refusal(name)
    if refused is not None:
        return refused
    daemon = None
    try:
        daemon = Daemon(name)
        ends = daemon.launch(_trial_order())
        try:
            ends.go()
        finally:
            ends.close()
    except (StepError, BoxLostError) as failure:
        if daemon is not None:
            daemon.close()
        return _failed(name, failure)
    return daemon


def _refusal(name: RungName) -> Rung | None:
    """Why a rung cannot be, as far as that is known without trying it."""
    needed = _NEEDED.get(name, ())
    if needed and os.geteuid() != 0:
        cure = "run hintproof as root, or make another rung work"
        return Rung(name, False, _MEANING[name], "hintproof does not run as root", cure)
    lacked = powers.missing(needed)
    if lacked:
        why = f"root lacks the capabilities {' '.join(lacked)} here"
        cure = f"inside a container, start it with {' '.join(f'--cap-add {one}' for one in lacked)}"
        return Rung(name, False, _MEANING[name], why, cure)
    if name == "mapped" and not powers.has_settled() and powers.missing(_TO_READ):
        why = "this process cannot read what servers write, for it entered no user namespace when it started"
        cure = (
            "call sandbox.linux.powers.settle() before the first thread, or add the capability DAC_OVERRIDE"
        )
        return Rung(name, False, _MEANING[name], why, cure)
    return None


def _trial_order() -> Order:
    limits = Limits()
    return Order(
        argv=("true",),
        env={"PATH": "/bin:/usr/bin"},
        cwd="/",
        home=HOME,
        layers=tuple(LayerOrder(path, path) for path in lay_out(()).layers),
        folders=(),
        links=(),
        files=(),
        seeds="",
        processes=limits.processes,
        file_size=1 << 20,
        open_files=limits.open_files,
        disk_size=4 << 20,
    )


def _failed(name: RungName, failure: Exception) -> Rung:
    cure = (
        _cure(failure)
        if isinstance(failure, StepError)
        else "report this: it is a fault of hintproof, not of this machine"
    )
    return Rung(name, False, _MEANING[name], str(failure), cure)


def _cure(failure: StepError) -> str:
    """What to change on this machine so that a step of building works."""
    if failure.step in (
        "create a user namespace",
        "create the namespaces",
        "map the user",
        "map the box's users",
        "mount a tmpfs",
    ):
        for setting, blocks, value in (
            ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
            ("kernel/unprivileged_userns_clone", "0", "1"),
            ("user/max_user_namespaces", "0", "15000"),
        ):
            if _setting(setting) == blocks:
                return f"sudo sysctl -w {setting.replace('/', '.')}={value}, or run hintproof as root"
        if failure.number == errno.ENOSPC:
            return "raise sysctl user.max_user_namespaces and its siblings: the user's namespaces are used up"
        return (
            "inside a container, allow it user namespaces: --security-opt seccomp= with unshare, mount, umount2, pivot_root,"
            " setns, sethostname and pidfd_getfd allowed, --security-opt systempaths=unconfined, and for root"
            " --cap-add SETFCAP,SETUID,SETGID"
        )
    if failure.step == "mount an overlay":
        return "load the overlay module (sudo modprobe overlay); in a user namespace it needs Linux 5.11 or newer"
    if failure.step == "mount /proc":
        return "inside a container, start it with --security-opt systempaths=unconfined: a masked /proc cannot be mounted anew"
    if failure.step in ("put the server under observation", "take the listener of the server's filter"):
        return "seccomp user notification needs Linux 5.6 or newer and a filter above that allows seccomp and pidfd_getfd"
    return "report this with the output of hintproof doctor"


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text(encoding="ascii").strip()
    except OSError:  # this kernel does not have it
        return ""


def _instruments(daemon: Daemon) -> list[Rung]:
    """The instruments of a box; without the first three no trial box would have come up."""
    found = [
        Rung("files", True, "what a server changed, from the upper layers of its overlays"),
        Rung("observer", True, "system calls, recorded before they run by seccomp user notification"),
        Rung("tap", True, "every packet to an address that is not the box's own"),
    ]
    meaning = "planted secrets that were opened, by inotify"
    ends = daemon.launch(_trial_order())
    try:
        watch = CanaryWatch()
        try:
            watch.watch(ends.root, ["/etc/hostname"]).close()
        finally:
            watch.close()
    except OSError as failure:
        cure = "raise sysctl fs.inotify.max_user_instances and fs.inotify.max_user_watches"
        return [*found, Rung("canaries", False, meaning, str(failure), cure)]
    finally:
        ends.close()
    return [*found, Rung("canaries", True, meaning)]
