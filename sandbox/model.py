"""The facts that every room shares: frozen dataclasses and closed vocabularies, standard library only.

Facts flow one way: Target -> Session -> Tools -> Calls -> Effects -> Trials -> Findings -> Report.
Times are milliseconds unless a name says otherwise; digests are hex blake2b of 16 bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""Any JSON value, exactly as it was sent."""


def digest_of(content: bytes) -> str:
    """The digest that content is known by everywhere: hex blake2b of 16 bytes."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


# --- what the server says -----------------------------------------------------------------------


class Hint(StrEnum):
    """The four hints of a tool, by their wire names (MCP schema 2026-07-28, ``ToolAnnotations``)."""

    READ_ONLY = "readOnlyHint"
    DESTRUCTIVE = "destructiveHint"
    IDEMPOTENT = "idempotentHint"
    OPEN_WORLD = "openWorldHint"


class Declared(Enum):
    """What was sent for one hint. Absent is not false; anything but a JSON boolean is malformed."""

    TRUE = "true"
    FALSE = "false"
    ABSENT = "absent"
    MALFORMED = "malformed"

    @property
    def wire(self) -> bool | str | None:
        """The value as reports spell it: true, false, null (absent) or ``"malformed"``."""
        return {"true": True, "false": False, "absent": None, "malformed": "malformed"}[self.value]


@dataclass(frozen=True, slots=True)
class Hints:
    """The declared value of each hint."""

    read_only: Declared = Declared.ABSENT
    destructive: Declared = Declared.ABSENT
    idempotent: Declared = Declared.ABSENT
    open_world: Declared = Declared.ABSENT

    def of(self, hint: Hint) -> Declared:
        """The declared value of one hint."""
        return {
            Hint.READ_ONLY: self.read_only,
            Hint.DESTRUCTIVE: self.destructive,
            Hint.IDEMPOTENT: self.idempotent,
            Hint.OPEN_WORLD: self.open_world,
        }[hint]

    @classmethod
    def read(cls, annotations: Json) -> Hints:
        """Read the raw ``annotations`` value of a tool definition; never coerces.

        A missing object, or one that is not an object, declares nothing; a wire ``null`` is malformed.
        """
        raw = annotations if isinstance(annotations, dict) else {}

        def one(hint: Hint) -> Declared:
            if hint.value not in raw:
                return Declared.ABSENT
            value = raw[hint.value]
            if isinstance(value, bool):
                return Declared.TRUE if value else Declared.FALSE
            return Declared.MALFORMED

        return cls(one(Hint.READ_ONLY), one(Hint.DESTRUCTIVE), one(Hint.IDEMPOTENT), one(Hint.OPEN_WORLD))


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool as listed: its name, and its definition exactly as it was on the wire."""

    name: str
    definition: Mapping[str, Json]
    hints: Hints

    @classmethod
    def read(cls, definition: Mapping[str, Json]) -> Tool:
        """Read one raw entry of a ``tools/list`` result. The entry must have a string ``name``."""
        return cls(str(definition["name"]), definition, Hints.read(definition.get("annotations")))

    @property
    def description(self) -> str:
        """The tool's description, or an empty string."""
        value = self.definition.get("description")
        return value if isinstance(value, str) else ""

    @property
    def input_schema(self) -> Mapping[str, Json]:
        """The tool's ``inputSchema``; an empty object schema where it is missing or not an object."""
        value = self.definition.get("inputSchema")
        return value if isinstance(value, dict) else {"type": "object"}

    @property
    def needs_task(self) -> bool:
        """Whether the tool can only be called as a task (``execution.taskSupport``, 2025-11-25)."""
        execution = self.definition.get("execution")
        return isinstance(execution, dict) and execution.get("taskSupport") == "required"


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about the server worth telling that is not a verdict: junk on stdout, a flood, ...

    ``code`` is a stable slug, ``text`` one line for people (server-controlled parts unescaped: reports
    escape), ``tool`` the tool concerned or None.
    """

    code: str
    text: str
    tool: str | None = None


# --- what is put into a box -------------------------------------------------------------------------

HOME = "/home/user"
"""The home folder of the server's user, fresh in every box."""


@dataclass(frozen=True, slots=True)
class SeedEntry:
    """One entry that is written into a box before its server starts, owned by the server's user.

    ``path`` is absolute in the box; ``kind`` is ``dir``, ``file`` or ``symlink``; ``mode`` the permission
    bits; ``content`` the bytes of a file; ``target`` where a symlink points; ``mtime`` seconds since the
    epoch.
    """

    path: str
    kind: str
    mode: int = 0o644
    content: bytes = b""
    target: str = ""
    mtime: float = 1_700_000_000.0


@dataclass(frozen=True, slots=True)
class ImageRoot:
    """An image's root file system, unpacked: the lower layer of a box's root, of which nothing is changed.

    ``path`` is an absolute folder where the engine runs. ``user`` and ``group`` are the ids that the server has
    inside, ``home`` is its HOME there, made where the image has none.
    """

    path: str
    user: int = 0
    group: int = 0
    home: str = "/"


@dataclass(frozen=True, slots=True)
class Limits:
    """What a box may use: memory of all its processes together (MiB), processes and threads, the size of one
    file (MiB), the scratch on which all its files lie (MiB, a tmpfs), and open files per process.

    The defaults let the real servers and their tools (node, git, pip) run; no more than a few of them fit a
    small machine.
    """

    memory_mb: int = 2048
    processes: int = 512
    file_mb: int = 256
    disk_mb: int = 512
    open_files: int = 4096


# --- calls --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Call:
    """One tools/call to send: the tool's name, its arguments and why these arguments were chosen."""

    tool: str
    arguments: Mapping[str, Json]
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One set of arguments to send.

    ``label`` names the parts of the input space that it covers (``minimal``, ``full``, ``mode=append``,
    ``flag=true``, ``with limit``, ``limit=null``, ``path: existing file``), joined by commas where it covers
    several. ``origin`` says on one line why each value was chosen.
    """

    arguments: Mapping[str, Json]
    label: str
    origin: str


class Outcome(StrEnum):
    """How a call ended."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    TIMED_OUT = "timed-out"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, judged from raw JSON.

    ``raw`` is the result object, or the JSON-RPC error object of a refused call, or None.
    ``reason`` says how a refusal was told: ``is-error``, ``jsonrpc-error``, ``error-text`` (an error
    text behind ``isError: false``), or empty. ``text`` is the joined text content, at most 4,096
    characters. ``elapsed_ms`` runs from the request's last byte to the reply's.
    """

    outcome: Outcome
    raw: Mapping[str, Json] | None
    text: str
    elapsed_ms: float
    reason: str = ""


# --- what the instruments record ------------------------------------------------------------------


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


# --- effects ----------------------------------------------------------------------------------------


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


# --- trials -----------------------------------------------------------------------------------------


class StepKind(StrEnum):
    """What was done in one step of a trial."""

    IDLE = "idle"
    """The control: nothing is called, for as long as a call takes."""
    PREPARE = "prepare"
    """Another tool is called so that this one has something to work on."""
    CALL = "call"
    REPEAT = "repeat"
    """The same call with the same arguments once more."""
    SETTLE = "settle"
    """The long idle at the end of a box, for what happens late."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a trial: what was sent, what came back, and everything that changed.

    ``started_ms`` counts from the start of the trial. ``unreached`` names what the box prevented or could not
    do during the step (``refused-by-box``, ``box-limit``, ``world-unreachable``) with a sentence each.
    """

    kind: StepKind
    call: Call | None
    reply: Reply | None
    effects: tuple[Effect, ...]
    started_ms: float
    duration_ms: float
    quiet: bool = True
    unreached: tuple[tuple[str, str], ...] = ()


class Purpose(StrEnum):
    """Why a trial was made."""

    PROBE = "probe"
    CONFIRM = "confirm"
    FIRST_USE = "first-use"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class Trial:
    """A session in one box and the steps made in it, as they concern one tool.

    ``id`` is unique in the run; ``box`` names the box, which trials of read-only tools share;
    ``instruments`` those that worked for the whole trial. ``confirms`` is the id of the trial whose
    effects this one tried to reproduce.
    """

    id: str
    tool: str
    purpose: Purpose
    box: str
    steps: tuple[Step, ...]
    instruments: frozenset[Instrument]
    confirms: str = ""


@dataclass(frozen=True, slots=True)
class ToolEvidence:
    """All that was found out about one tool: the judge's whole input, saved as JSON.

    ``tried`` and ``accepted`` count calls (repeats and confirmations left out); ``space`` names the parts of
    the input space that accepted calls covered (``minimal``, ``full``, ``mode=append``, ...),
    ``space_missed`` those that were refused or never sent. ``refusals`` are the last refusal texts. ``notes``
    are reason codes that bear on the tool as a whole (``budget-spent``, ``unstable-definition``,
    ``unattributed-late-effect``, ``crashed``, ``timed-out``, ``idle-writes``) with a sentence each.
    """

    tool: Tool
    trials: tuple[Trial, ...]
    tried: int
    accepted: int
    space: tuple[str, ...] = ()
    space_missed: tuple[str, ...] = ()
    refusals: tuple[str, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    closed_world: tuple[str, ...] = ()


# --- findings and reports -----------------------------------------------------------------------------


class Verdict(StrEnum):
    """What a run says of one hint of one tool (design, section 3)."""

    CONTRADICTED = "contradicted"
    CONSISTENT = "consistent"
    OVERCAUTIOUS = "overcautious"
    INCONCLUSIVE = "inconclusive"
    UNDECLARED = "undeclared"
    MOOT = "moot"


class Severity(StrEnum):
    """How bad a contradiction is: high (loss, secrets sent, code run), medium (a write, contact), low."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class FailOn(StrEnum):
    """The least serious verdict that makes a run fail; each rung includes the ones above it."""

    CONTRADICTED = "contradicted"
    """A contradiction at certain or likely, and an effect that was observed once."""
    INCONCLUSIVE = "inconclusive"
    OVERCAUTIOUS = "overcautious"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a finding rests on: the trial, the deciding step's index, and the effects that decided."""

    trial: str
    step: int
    call: Call | None
    effects: tuple[Effect, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """The verdict on one hint of one tool.

    ``id`` is the short digest that ``hintproof replay`` takes. ``reason`` is a code of the closed list in
    ``policy``, "" where the verdict needs none. ``why`` is one line for people. ``supports`` is the value of
    the hint that the evidence supports, or None. ``replay`` is the literal command that runs the finding
    again.
    """

    id: str
    tool: str
    hint: Hint
    declared: Declared
    verdict: Verdict
    reason: str
    why: str
    severity: Severity
    confidence: Confidence
    evidence: tuple[Evidence, ...] = ()
    supports: bool | None = None
    replay: str = ""


@dataclass(frozen=True, slots=True)
class ToolReport:
    """One tool in the report: its findings, its calls, and the annotations that the evidence supports."""

    tool: Tool
    findings: tuple[Finding, ...]
    tried: int
    accepted: int
    space: tuple[str, ...]
    space_missed: tuple[str, ...]
    refusals: tuple[str, ...]
    proposed: Mapping[str, bool]
    listed: tuple[Effect, ...] = ()
    """Effects worth showing that contradict nothing (incidental, first-use, secrets read, processes left)."""


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What the server said of itself in the handshake, plus how it was reached."""

    name: str
    version: str
    protocol: str
    era: str
    instructions: str = ""
    transport: str = "stdio"
    tool_count: int = 0


@dataclass(frozen=True, slots=True)
class Installation:
    """How the package that a server comes from was installed, in a box of its own and before anything was verified.

    ``package`` is ``npm:NAME@VERSION`` or ``pypi:NAME==VERSION``; ``installed_at`` is ISO 8601, UTC, and ``fresh``
    says that it was this run. ``packages`` is everything that was installed, as ``NAME==VERSION``; ``digest`` is that of
    the installed files, ``lock`` that of the exact versions. ``runtime`` are the versions of what it runs on.
    ``scripts`` says whether what a package wants run at its installation could run. ``before`` is a date (ISO) where
    dependencies are those of that day, for the server does not start on newer ones. ``effects`` are what
    the installation did outside the package's own folder; ``notes`` are sentences for people.
    """

    package: str
    installed_at: str
    packages: tuple[str, ...] = ()
    digest: str = ""
    lock: str = ""
    runtime: Mapping[str, str] = field(default_factory=dict)
    scripts: bool = True
    before: str = ""
    effects: tuple[Effect, ...] = ()
    notes: tuple[str, ...] = ()
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """One run over one target.

    ``command`` is the literal command line of the server, ``invocation`` of hintproof. ``instruments`` are
    those that worked; ``missing`` those that did not, with the reason. ``unreached`` names what was not
    reached (tools that were never called, a budget spent). ``complete`` is False when the run died or was
    stopped before its end. ``host`` is where the engine ran, ``local`` or ``docker``; ``host_image`` the digest
    of the container's image, "" without a container. ``installation`` is how the server's package came to be
    there, where hintproof installed it.
    """

    run: str
    target: str
    command: tuple[str, ...]
    invocation: tuple[str, ...]
    server: ServerFacts | None
    seed: int
    profile: str
    started_at: str
    duration_ms: float
    instruments: tuple[Instrument, ...]
    missing: tuple[tuple[Instrument, str], ...]
    tools: tuple[ToolReport, ...]
    remarks: tuple[Remark, ...] = ()
    unreached: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    complete: bool = True
    exit_code: int = 0
    host: str = "local"
    host_image: str = ""
    installation: Installation | None = None


# --- other answers ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Investigation:
    """What one suspected tool did: the evidence with its trials, and a report of this tool alone."""

    report: Report
    evidence: ToolEvidence


@dataclass(frozen=True, slots=True)
class Listing:
    """The server's own words: its facts, its tools in its order, and what was odd about the listing.

    ``proposals`` are the arguments that would be sent to each tool first, where they were asked for.
    """

    facts: ServerFacts
    tools: tuple[Tool, ...]
    remarks: tuple[Remark, ...]
    proposals: Mapping[str, tuple[Proposal, ...]]


@dataclass(frozen=True, slots=True)
class SavedFinding:
    """A finding of an earlier run: its id and hint, the evidence of its tool, and the deciding trial."""

    id: str
    hint: Hint
    evidence: ToolEvidence
    trial: Trial


@dataclass(frozen=True, slots=True)
class Replay:
    """What came of a finding that was run again: the new trial, whether the contradiction was seen again, and
    the two trials as evidence."""

    trial: Trial
    again: bool
    evidence: ToolEvidence
