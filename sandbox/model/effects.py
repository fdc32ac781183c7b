"""Effects: what a call did, and how much it weighs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from sandbox.model.wire import Json


class EffectKind(StrEnum):
    """The closed list of effects (design, section 2)."""

    FILE_CREATED = "file.created"
    FILE_MODIFIED = "file.modified"
    FILE_DELETED = "file.deleted"
    FILE_MOVED = "file.moved"
    FILE_METADATA = "file.metadata"
    ROW_INSERTED = "row.inserted"
    ROW_UPDATED = "row.updated"
    ROW_DELETED = "row.deleted"
    SCHEMA_CHANGED = "schema.changed"
    RECORD_ADDED = "record.added"
    RECORD_UPDATED = "record.updated"
    RECORD_DELETED = "record.deleted"
    REF_CREATED = "ref.created"
    REF_MOVED = "ref.moved"
    REF_DELETED = "ref.deleted"
    INDEX_CHANGED = "index.changed"
    NET_LOOKUP = "net.lookup"
    NET_CONNECT = "net.connect"
    NET_REQUEST = "net.request"
    NET_DATAGRAM = "net.datagram"
    NET_LISTEN = "net.listen"
    PROCESS_SPAWNED = "process.spawned"
    PROCESS_LEFT = "process.left"
    PROCESS_SIGNALLED = "process.signalled"
    IPC_CONNECT = "ipc.connect"
    SECRET_READ = "secret.read"
    STATE_CHANGED = "state.changed"
    REFUSED = "refused"


class Weight(StrEnum):
    """What an effect counts for, the same for every hint (design, section 2)."""

    MATERIAL = "material"
    INCIDENTAL = "incidental"
    FIRST_USE = "first-use"
    TRANSIENT = "transient"
    BACKGROUND = "background"


class Confidence(StrEnum):
    """How sure a fact or a finding is. ``possible`` is listed and never contradicts."""

    CERTAIN = "certain"
    LIKELY = "likely"
    POSSIBLE = "possible"


@dataclass(frozen=True, slots=True)
class Effect:
    """One observed fact.

    ``subject`` is what it happened to: a path, ``PATH#table[key]`` for a row, ``PATH#record`` for a record,
    ``REPO@refs/...`` for a ref, a host name or ``ip:port``, a URL, a command line. ``summary`` is one line
    for people. ``at_ms`` counts from the start of the step; ``pid`` and ``executable`` say who, where known.
    ``loses``: something that existed before this step is gone, overwritten, truncated or replaced (never set
    for additions, appends, counters, pointers and timestamps that follow an addition). ``own``: the thing
    concerned did not exist when the trial began (the probe or the server made it). ``volatile``: only values
    that differ from run to run by nature changed (timestamps, random ids). ``fingerprint`` is a digest of
    what happened with volatile values masked: equal effects of two boxes have equal fingerprints. ``before``
    and ``after`` are digests of kept content; ``diff`` a text diff of at most 16 KiB; ``detail`` further
    facts by kind, for files among them ``place`` (``workspace``, ``started``: read or run by something else later,
    ``secret`` or ``other``) and ``empty`` (what was made is a folder, or a store that holds nothing yet).
    """

    kind: EffectKind
    subject: str
    summary: str
    at_ms: float = 0.0
    pid: int = 0
    executable: str = ""
    weight: Weight = Weight.MATERIAL
    confidence: Confidence = Confidence.CERTAIN
    loses: bool = False
    own: bool = False
    volatile: bool = False
    fingerprint: str = ""
    before: str = ""
    after: str = ""
    diff: str = ""
    detail: Mapping[str, Json] = field(default_factory=dict)
