"""The other words of a report, each with a title and an explanation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from sandbox.model import Confidence, EffectKind, Hint, Instrument, Severity, Verdict, Weight


@dataclass(frozen=True, slots=True)
class Word:
    """One explained word: what sort of word it is (``verdict``), a title, and a paragraph."""

    sort: str
    title: str
    explanation: str


HINTS: Mapping[Hint, Word] = MappingProxyType(
    {
        Hint.READ_ONLY: Word(
            "hint",
            "true claims that the tool does not modify its environment (default when absent: false)",
            "Contradicted by any material effect that lasts: a file, a row, a process left running, state that another "
            "tool can see. Not by what is gone when the call ends, by what the server does while idle, by bytes that "
            "change while their meaning does not, or by reading a secret (reported on its own). Needs the file diff, "
            "the observer and the gateway. False only permits.",
        ),
        Hint.DESTRUCTIVE: Word(
            "hint",
            "false claims that the tool only adds (default when absent: true)",
            "Contradicted when something that existed before is gone, overwritten, truncated or replaced. Not by "
            "additions, by counters and pointers that follow an addition, or by data that the tool's own calls made. Says "
            "nothing beside readOnlyHint true (verdict moot). Needs the file diff and the gateway. True only permits.",
        ),
        Hint.IDEMPOTENT: Word(
            "hint",
            "true claims that a second identical call has no additional effect (default when absent: false)",
            "Contradicted when the second identical call adds an effect that the first did not already leave. It is "
            "judged on effects, never on replies: a different answer with equal state is fine, and so is a refused "
            "second call. Says nothing beside readOnlyHint true (verdict moot). False only permits.",
        ),
        Hint.OPEN_WORLD: Word(
            "hint",
            "false claims that the tool deals with a closed domain (default when absent: true)",
            "Contradicted by contact: a DNS query, or a TCP connection, a datagram or a request to an address that is not "
            "loopback, unless its host belongs to the closed world that you named. Needs the packet tap and the "
            "gateway. True only permits.",
        ),
    }
)

VERDICTS: Mapping[Verdict, Word] = MappingProxyType(
    {
        Verdict.CONTRADICTED: Word(
            "verdict",
            "The behaviour goes against the declared value",
            "What the tool did was seen, seen again in a fresh box, and cannot be squared with the hint. The finding "
            "carries the smallest arguments found, the effects, and the command that runs it again.",
        ),
        Verdict.CONSISTENT: Word(
            "verdict",
            "Nothing that was seen goes against the declared value",
            "Calls were accepted, the instruments worked, and nothing contradicted the hint in the parts of the input "
            "space that the finding names. It is no proof for the rest. A permissive value that the behaviour needs is "
            "consistent too.",
        ),
        Verdict.OVERCAUTIOUS: Word(
            "verdict",
            "A permissive value that nothing observed needed",
            "The hint warns of something that no accepted call did. Clients may prompt more than they must. Never a "
            "failure unless `--fail-on overcautious`.",
        ),
        Verdict.INCONCLUSIVE: Word(
            "verdict",
            "The run could not tell",
            "The reason code beside it says why and `hintproof explain CODE` says what to do.",
        ),
        Verdict.UNDECLARED: Word(
            "verdict",
            "The server sent no usable value",
            "Absent is not false: a hint that was not sent claims nothing that behaviour can contradict. The finding "
            "says which value the evidence supports.",
        ),
        Verdict.MOOT: Word(
            "verdict",
            "The hint says nothing beside readOnlyHint true",
            "destructiveHint and idempotentHint are meaningful only when readOnlyHint is false.",
        ),
    }
)

WEIGHTS: Mapping[Weight, Word] = MappingProxyType(
    {
        Weight.MATERIAL: Word("weight", "An effect that counts", "It lasts and it has a meaning."),
        Weight.INCIDENTAL: Word(
            "weight",
            "Bookkeeping of the server",
            "Caches, logs, history and usage counters in files that this run's server made itself; never in the "
            "workspace, never a planted secret, never anything that is executed or started by itself later. Listed; "
            "it contradicts only under a profile that tolerates no bookkeeping.",
        ),
        Weight.FIRST_USE: Word(
            "weight",
            "Made lazily on the first call",
            "It vanishes when an unrelated accepted call comes first: a schema, a cache folder. Listed, not "
            "contradicting, unless it alters what existed before.",
        ),
        Weight.TRANSIENT: Word(
            "weight",
            "Gone when the call ended",
            "A temporary file that was removed again. Recorded with what it was.",
        ),
        Weight.BACKGROUND: Word(
            "weight",
            "The server does it while idle too",
            "The same path and the same kind of record also changes in the idle control.",
        ),
    }
)

SEVERITIES: Mapping[Severity, Word] = MappingProxyType(
    {
        Severity.HIGH: Word(
            "severity",
            "Something existing lost, secrets sent, or code left running",
            "What a client that trusted the hint could not take back.",
        ),
        Severity.MEDIUM: Word(
            "severity", "A write, a remote write, or a contact", "Nothing that existed was lost."
        ),
        Severity.LOW: Word("severity", "The rest", "For example only the mode of a file."),
    }
)

CONFIDENCES: Mapping[Confidence, Word] = MappingProxyType(
    {
        Confidence.CERTAIN: Word(
            "confidence",
            "The same effect was seen again in a fresh box",
            "Same kind, and same subject or content.",
        ),
        Confidence.LIKELY: Word(
            "confidence",
            "An effect of the same kind was seen again in a fresh box",
            "Its subject or content differed, as random names do. A verdict without a contradiction is never more "
            "than likely.",
        ),
        Confidence.POSSIBLE: Word("confidence", "It may be so", "Listed; it never contradicts."),
    }
)

INSTRUMENTS: Mapping[Instrument, Word] = MappingProxyType(
    {
        Instrument.FILES: Word(
            "instrument", "The diff of the box's change set", "Sees every file that was written."
        ),
        Instrument.OBSERVER: Word(
            "instrument",
            "The system-call observer",
            "Says which process did it and when: attribution, never proof.",
        ),
        Instrument.TAP: Word(
            "instrument", "The packet tap", "Sees every packet that leaves for another address."
        ),
        Instrument.GATEWAY: Word(
            "instrument", "The gateway", "Answers every address in the world and records what was sent."
        ),
        Instrument.CANARIES: Word(
            "instrument", "The watch over planted secrets", "Sees which were opened and when."
        ),
        Instrument.PROCESSES: Word(
            "instrument", "Process facts", "Sees what was spawned and what is left running."
        ),
    }
)

EFFECTS: Mapping[EffectKind, str] = MappingProxyType(
    {
        EffectKind.FILE_CREATED: "A file or folder that was not there is there now.",
        EffectKind.FILE_MODIFIED: "The content of a file is different, in a file without a reader that knows its meaning.",
        EffectKind.FILE_DELETED: "A file or folder is gone.",
        EffectKind.FILE_MOVED: "A file or folder has another path.",
        EffectKind.FILE_METADATA: "The mode, the owner or an extended attribute of a path is different.",
        EffectKind.ROW_INSERTED: "A table of a database has a row more.",
        EffectKind.ROW_UPDATED: "A row of a database has other values.",
        EffectKind.ROW_DELETED: "A row of a database is gone.",
        EffectKind.SCHEMA_CHANGED: "The tables, indexes or columns of a database are different.",
        EffectKind.RECORD_ADDED: "A structured file (JSON, JSON Lines and the like) has a record more.",
        EffectKind.RECORD_UPDATED: "A record of a structured file has other values.",
        EffectKind.RECORD_DELETED: "A record of a structured file is gone.",
        EffectKind.REF_CREATED: "A git repository has a branch, a tag or another ref more.",
        EffectKind.REF_MOVED: "A ref of a git repository points elsewhere.",
        EffectKind.REF_DELETED: "A ref of a git repository is gone.",
        EffectKind.INDEX_CHANGED: "The staged content of a git repository is different; a stat refresh is not.",
        EffectKind.NET_LOOKUP: "A name was looked up.",
        EffectKind.NET_CONNECT: "A TCP connection to an address that is not loopback was opened.",
        EffectKind.NET_REQUEST: "An HTTP request was sent.",
        EffectKind.NET_DATAGRAM: "A datagram was sent to an address that is not loopback.",
        EffectKind.NET_LISTEN: "A port was opened for others to connect to.",
        EffectKind.PROCESS_SPAWNED: "A program was started; by itself that changes nothing.",
        EffectKind.PROCESS_LEFT: "A program that the call started still runs after it.",
        EffectKind.PROCESS_SIGNALLED: "A signal was sent to a process.",
        EffectKind.IPC_CONNECT: "A unix socket that the server did not make was connected to.",
        EffectKind.SECRET_READ: "A planted secret was opened. It contradicts no hint and is reported on its own.",
        EffectKind.STATE_CHANGED: "Another tool or resource answers differently now.",
        EffectKind.REFUSED: "The box denied something that the server tried.",
    }
)
