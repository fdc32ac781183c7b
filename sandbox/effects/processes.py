"""Effects on processes, and the calls that a box refused."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping

from sandbox.effects.volatile import fingerprint, mask_subject
from sandbox.model import CanaryRead, Effect, EffectKind, Observed, ProcessFact, SyscallEvent, Weight

_PROBED = frozenset({"io_uring_setup", "io_uring_enter", "io_uring_register", "memfd_secret", "clone3"})
"""Refused as missing features: runtimes try them and do without."""

_URGENT = 23
"""SIGURG: the Go runtime's way to interrupt its own threads."""

_COMMAND = 200


class Processes:
    """Follows which processes of one box were there before a step."""

    def __init__(self) -> None:
        self._alive: dict[int, ProcessFact] = {}
        self._own: set[int] = set()

    def begin(self) -> None:
        """The trial begins now: what runs is not its own."""
        self._own.clear()

    def effects(self, observed: Observed) -> Iterator[Effect]:
        """What was spawned, left and signalled in a step."""
        now = {process.pid: process for process in observed.processes}
        ended = self._alive.keys() - now.keys()
        fresh = {pid: p for pid, p in now.items() if self._alive and pid not in self._alive}
        for event in observed.events:
            if event.name in ("execve", "execveat") and not event.denied:
                yield self._spawned(observed, event)
        for process in fresh.values():
            yield _left(observed, process, attached=_descends(process, now, self._alive.keys()))
        yield from self._signals(observed, ended)
        self._own |= fresh.keys()
        self._alive = now

    def _spawned(self, observed: Observed, event: SyscallEvent) -> Effect:
        command = _command(event.argv) or event.path
        return Effect(
            kind=EffectKind.PROCESS_SPAWNED,
            subject=command,
            summary=f"ran {command}",
            at_ms=observed.at_ms(event.at_ns),
            pid=event.pid,
            executable=event.path or event.executable,
            # A process that is gone when the call ends has left nothing; one that stays is told as left.
            weight=Weight.TRANSIENT,
            fingerprint=fingerprint("spawned", mask_subject(command, [event.pid])),
            detail={"argv": [*event.argv], "path": event.path},
        )

    def _signals(self, observed: Observed, ended: set[int]) -> Iterator[Effect]:
        told: set[tuple[str, int]] = set()
        for event in observed.events:
            if event.name not in _SIGNALS or event.denied or event.flags in (0, _URGENT):
                continue
            if (event.target, event.flags) in told:
                continue
            told.add((event.target, event.flags))
            yield Effect(
                kind=EffectKind.PROCESS_SIGNALLED,
                subject=f"process {event.target}",
                summary=f"sent signal {event.flags} to process {event.target}"
                + (", and a process that ran before is gone" if ended else ""),
                at_ms=observed.at_ms(event.at_ns),
                pid=event.pid,
                executable=event.executable,
                weight=self._weight_of_signal(ended),
                loses=bool(ended),
                own=bool(ended) and ended <= self._own,
                fingerprint=fingerprint("signalled", str(event.flags)),
                detail={"signal": event.flags, "target": event.target},
            )

    def _weight_of_signal(self, ended: set[int]) -> Weight:
        """A server that ends a helper of its own (GitPython its cat-file) works as it did when it started it."""
        if not ended:
            return Weight.TRANSIENT
        helpers = all(self._alive[pid].parent in self._alive for pid in ended)
        return Weight.INCIDENTAL if helpers else Weight.MATERIAL


_SIGNALS = frozenset({"kill", "tkill", "tgkill", "pidfd_send_signal", "rt_sigqueueinfo", "rt_tgsigqueueinfo"})


def _descends(process: ProcessFact, now: Mapping[int, ProcessFact], old: Collection[int]) -> bool:
    """Whether a process is still a descendant of one that ran before: a helper that ends with its parent.

    One that detached itself (a daemon) has the box's init as its parent, which is not in the list.
    """
    parent = now.get(process.parent)
    while parent is not None and parent.pid not in old:
        parent = now.get(parent.parent)
    return parent is not None


def _left(observed: Observed, process: ProcessFact, *, attached: bool) -> Effect:
    command = _command(process.argv) or process.executable
    return Effect(
        kind=EffectKind.PROCESS_LEFT,
        subject=command,
        summary=f"{'keeps a helper process' if attached else 'left a process running'}: {command}",
        at_ms=observed.at_ms(process.started_ns),
        pid=process.pid,
        executable=process.executable,
        # A pipe to a helper of its own (GitPython's cat-file, a language server) is how the server works, not
        # what the call leaves in the world; strict readers count it all the same.
        weight=Weight.INCIDENTAL if attached else Weight.MATERIAL,
        fingerprint=fingerprint("left", mask_subject(command, [process.pid])),
        detail={"argv": [*process.argv], "parent": process.parent},
    )


def refusals(observed: Observed) -> Iterator[Effect]:
    """One effect for each kind of call that the box refused, where it may have mattered."""
    told: set[str] = set()
    for event in observed.events:
        if not event.denied or event.name in _PROBED or event.name in told:
            continue
        told.add(event.name)
        what = " ".join(filter(None, (event.path, event.target, event.address)))
        yield Effect(
            kind=EffectKind.REFUSED,
            subject=event.name,
            summary=f"was refused {event.name}" + (f" ({what})" if what else ""),
            at_ms=observed.at_ms(event.at_ns),
            pid=event.pid,
            executable=event.executable,
            fingerprint=fingerprint("refused", event.name),
            detail={"syscall": event.name, "flags": event.flags},
        )


def secrets_read(observed: Observed) -> Iterator[Effect]:
    """One effect for each planted secret that was opened."""
    first: dict[str, CanaryRead] = {}
    for read in observed.canary_reads:
        first.setdefault(read.path, read)
    for path, read in first.items():
        yield Effect(
            kind=EffectKind.SECRET_READ,
            subject=path,
            summary=f"opened the planted secret {path}",
            at_ms=observed.at_ms(read.at_ns),
            fingerprint=fingerprint("secret", path),
        )


def ipc_effects(observed: Observed, is_foreign: Callable[[str], bool]) -> Iterator[Effect]:
    """Connections to unix sockets that exist and that the server did not make; failed probes are nothing."""
    told: set[str] = set()
    for event in observed.events:
        path = event.address.removeprefix("unix:")
        if event.name != "connect" or path == event.address or not path.startswith("/") or path in told:
            continue
        if event.denied or not is_foreign(path):
            continue
        told.add(path)
        yield Effect(
            kind=EffectKind.IPC_CONNECT,
            subject=path,
            summary=f"connected to the socket {path}",
            at_ms=observed.at_ms(event.at_ns),
            pid=event.pid,
            executable=event.executable,
            fingerprint=fingerprint("ipc", mask_subject(path)),
        )


def _command(argv: tuple[str, ...]) -> str:
    text = shlex.join(argv)
    return text if len(text) <= _COMMAND else text[: _COMMAND - 1] + "…"
