"""What the instruments record."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Instrument(StrEnum):
    """One way of seeing. A verdict says which ones it rests on; a missing one is never silent."""

    FILES = "files"
    """The diff of the overlay's upper layer."""
    OBSERVER = "observer"
    """The system-call observer (attribution)."""
    TAP = "tap"
    """The packet tap on the box's loopback."""
    GATEWAY = "gateway"
    """The gateway that answers every address."""
    CANARIES = "canaries"
    """The watch over planted secrets."""
    PROCESSES = "processes"
    """Process facts: what was spawned and what is left."""


@dataclass(frozen=True, slots=True)
class SyscallEvent:
    """One system call as the observer read it, before it ran. Attribution only, never proof.

    ``at_ns`` is CLOCK_MONOTONIC; ``pid`` as the host sees it; ``name`` the call's name (``openat``,
    ``connect``, ``execve``, ...; ``mmap-shared`` for a shared mapping of a file). ``path`` is the absolute
    path inside the box where there is one, ``target`` the second path of a rename or link, ``address``
    ``ip:port``, ``[ip6]:port`` or ``unix:PATH`` of a socket call, ``argv`` the words of an exec, ``flags``
    the open flags, mode, signal number or the like. ``denied`` says that the filter refused the call.
    """

    at_ns: int
    pid: int
    executable: str
    name: str
    path: str = ""
    target: str = ""
    address: str = ""
    argv: tuple[str, ...] = ()
    flags: int = 0
    denied: bool = False


@dataclass(frozen=True, slots=True)
class Packet:
    """One outgoing packet that the tap saw: ``protocol`` is ``tcp`` (a SYN), ``udp`` or ``other``."""

    at_ns: int
    protocol: str
    address: str
    port: int
    size: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """One thing that the gateway saw: ``kind`` is ``dns``, ``tcp``, ``udp``, ``tls-failed``, ``http`` or ``relayed``.

    ``host`` is the name that was looked up or belongs to the address, ``address`` and ``port`` the
    destination. For ``http``: ``method``, ``url``, redacted ``headers``, ``body_digest``, ``body_head`` (at
    most 4,096 bytes as text) and ``body_size``. ``note`` says what else is known (SNI, the error, the query
    type). ``relayed`` is a connection that was passed on to the real host: ``body_size`` bytes there and
    ``answer_size`` back; ``end`` is the last record of a box that has a relay.
    """

    at_ns: int
    kind: str
    host: str = ""
    address: str = ""
    port: int = 0
    method: str = ""
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    body_digest: str = ""
    body_head: str = ""
    body_size: int = 0
    note: str = ""
    answer_size: int = 0


@dataclass(frozen=True, slots=True)
class ProcessFact:
    """A process of the box: host pid, parent, executable, command line, and CLOCK_MONOTONIC start."""

    pid: int
    parent: int
    executable: str
    argv: tuple[str, ...]
    started_ns: int


@dataclass(frozen=True, slots=True)
class CanaryRead:
    """A planted secret was opened: when (CLOCK_MONOTONIC) and which file, as a path in the box."""

    at_ns: int
    path: str


@dataclass(frozen=True, slots=True)
class Observed:
    """What the instruments of one box recorded during one step, before anyone gives it a meaning.

    ``started_ns`` and ``ended_ns`` are CLOCK_MONOTONIC. ``processes`` are those alive at the end.
    ``packets_dropped`` counts packets that the tap lost; ``quiet`` is False when the step ended at its bound
    while the server was still busy. ``limits_hit`` names limits of the box that were reached, with a sentence
    each.
    """

    started_ns: int
    ended_ns: int
    events: tuple[SyscallEvent, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    packets: tuple[Packet, ...] = ()
    processes: tuple[ProcessFact, ...] = ()
    canary_reads: tuple[CanaryRead, ...] = ()
    packets_dropped: int = 0
    quiet: bool = True
    limits_hit: tuple[tuple[str, str], ...] = ()

    def at_ms(self, at_ns: int) -> float:
        """A moment (CLOCK_MONOTONIC) as milliseconds from the start of the step; 0 for what came before it."""
        return max(0.0, (at_ns - self.started_ns) / 1e6)


class ChangeKind(StrEnum):
    """How one path differs between two looks at the upper layer."""

    CREATED = "created"
    MODIFIED = "modified"
    DELETED = "deleted"
    MOVED = "moved"
    REPLACED = "replaced"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One changed path. Bytes without meaning (a copy-up, an mtime) never become a FileChange.

    ``kind`` REPLACED means another file type now stands there. ``source`` is where a MOVED path came from;
    ``existed`` whether the path (of a move: the destination) was there before this look; ``type`` is
    ``file``, ``directory``, ``symlink``, ``fifo``, ``socket`` or ``device``; ``note`` says what else changed
    (``mode 644->600``, ``xattr user.x``, ``hard link``). ``before`` and ``after`` are digests of kept
    content, "" where not kept; sizes are bytes, -1 where unknown.
    """

    kind: ChangeKind
    path: str
    type: str = "file"
    source: str = ""
    existed: bool = False
    before: str = ""
    after: str = ""
    before_size: int = -1
    after_size: int = -1
    note: str = ""
