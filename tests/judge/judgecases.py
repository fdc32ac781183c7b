"""The judge's rules as a table: evidence, the hint that is looked at, and the verdict and reason that must
come out.

For every rule there is evidence that breaks it and evidence that does not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from trialbuilders import (
    ALL,
    APPENDED,
    CREATED,
    OVERWRITTEN,
    ROW_DELETED,
    call,
    confirm,
    contact,
    effect,
    evidence,
    first_use,
    idle,
    late,
    prepare,
    probe,
    repeat,
    request,
    settle,
    tool,
    twice,
)

from sandbox.model import (
    Confidence,
    Effect,
    EffectKind,
    Hint,
    Instrument,
    Outcome,
    Tool,
    ToolEvidence,
    Trial,
    Verdict,
    Weight,
)
from sandbox.policy import Reason

CONTRADICTED, CONSISTENT = Verdict.CONTRADICTED, Verdict.CONSISTENT
OVERCAUTIOUS, INCONCLUSIVE = Verdict.OVERCAUTIOUS, Verdict.INCONCLUSIVE
UNDECLARED, MOOT = Verdict.UNDECLARED, Verdict.MOOT

READS, ADDS = tool(read_only=True), tool(destructive=False)
CONVERGES, CLOSED = tool(idempotent=True), tool(open_world=False)
WRITES, DESTROYS = tool(read_only=False), tool(destructive=True)
REPEATS, OPEN = tool(idempotent=False), tool(open_world=True)


_ROW = effect(EffectKind.ROW_INSERTED, "/work/app.db#users[3]", detail={"place": "workspace"})
_TABLE = effect(EffectKind.SCHEMA_CHANGED, "/work/app.db#notes", detail={"place": "workspace", "empty": True})


def _new(place: str, *, empty: bool = False, after: str = "a", **facts: object) -> Effect:
    """A new file at a place of a kind, with or without something in it."""
    facts.setdefault("fingerprint", after)
    detail = {"place": place, "empty": empty}
    return effect(EffectKind.FILE_CREATED, "/some/file", own=True, after=after, detail=detail, **facts)


@dataclass(frozen=True, slots=True)
class Case:
    """What the judge must say of ``hint`` given ``evidence``."""

    name: str
    evidence: ToolEvidence
    hint: Hint
    verdict: Verdict
    reason: Reason | None = None


class _About:
    """Makes the cases of one tool and one hint."""

    def __init__(self, of: Tool, hint: Hint) -> None:
        self._of, self._hint = of, hint

    def __call__(
        self,
        name: str,
        *trials: Trial,
        verdict: Verdict,
        reason: Reason | None = None,
        notes: tuple[tuple[str, str], ...] = (),
        closed_world: tuple[str, ...] = (),
    ) -> Case:
        facts = evidence(self._of, *trials, notes=notes, closed_world=closed_world)
        return Case(name, facts, self._hint, verdict, reason)


_read_only = _About(READS, Hint.READ_ONLY)
_destructive = _About(ADDS, Hint.DESTRUCTIVE)
_idempotent = _About(CONVERGES, Hint.IDEMPOTENT)
_open_world = _About(CLOSED, Hint.OPEN_WORLD)


READ_ONLY_CASES = (
    _read_only("a read that left nothing is consistent", probe(call()), verdict=CONSISTENT),
    *(
        _read_only(
            f"a read with a reproduced {kind.value} is contradicted",
            *twice(call(effect(kind))),
            verdict=CONTRADICTED,
        )
        for kind in (
            EffectKind.FILE_CREATED,
            EffectKind.FILE_MODIFIED,
            EffectKind.FILE_DELETED,
            EffectKind.FILE_MOVED,
            EffectKind.FILE_METADATA,
            EffectKind.ROW_INSERTED,
            EffectKind.ROW_UPDATED,
            EffectKind.ROW_DELETED,
            EffectKind.SCHEMA_CHANGED,
            EffectKind.RECORD_ADDED,
            EffectKind.RECORD_UPDATED,
            EffectKind.RECORD_DELETED,
            EffectKind.REF_CREATED,
            EffectKind.REF_MOVED,
            EffectKind.REF_DELETED,
            EffectKind.INDEX_CHANGED,
            EffectKind.PROCESS_LEFT,
            EffectKind.STATE_CHANGED,
        )
    ),
    *(
        _read_only(
            f"a read with {kind.value} alone is consistent", *twice(call(effect(kind))), verdict=CONSISTENT
        )
        for kind in (
            EffectKind.PROCESS_SPAWNED,
            EffectKind.SECRET_READ,
            EffectKind.NET_LISTEN,
            EffectKind.IPC_CONNECT,
            EffectKind.PROCESS_SIGNALLED,
        )
    ),
    *(
        _read_only(
            f"a {weight.value} write does not contradict a read",
            *twice(call(replace(CREATED, weight=weight))),
            verdict=CONSISTENT,
        )
        for weight in (Weight.INCIDENTAL, Weight.FIRST_USE, Weight.TRANSIENT)
    ),
    _read_only(
        "a write that the idle control shows too does not contradict a read",
        *twice(idle(CREATED), call(replace(CREATED, weight=Weight.BACKGROUND))),
        verdict=CONSISTENT,
    ),
    _read_only(
        "a write that is only like one of the idle control leaves a read in doubt",
        *twice(
            idle(effect(EffectKind.FILE_CREATED, "/work/tmpab12cd34", own=True)),
            call(effect(EffectKind.FILE_CREATED, "/work/tmpef56gh78", own=True, weight=Weight.BACKGROUND)),
        ),
        verdict=INCONCLUSIVE,
        reason=Reason.IDLE_WRITES,
    ),
    _read_only(
        "a write on first use that alters what existed contradicts a read",
        *twice(call(replace(OVERWRITTEN, weight=Weight.FIRST_USE))),
        verdict=CONTRADICTED,
    ),
    _read_only(
        "a possible write does not contradict a read",
        *twice(call(effect(EffectKind.FILE_MODIFIED, confidence=Confidence.POSSIBLE))),
        verdict=CONSISTENT,
    ),
    _read_only(
        "a write that only a repeated call makes contradicts a read",
        *twice(call(), repeat(CREATED)),
        verdict=CONTRADICTED,
    ),
    _read_only(
        "a write of a preparing tool is not this tool's", probe(prepare(CREATED), call()), verdict=CONSISTENT
    ),
    _read_only(
        "a refused call that wrote contradicts a read",
        *twice(call(CREATED, outcome=Outcome.REFUSED)),
        verdict=CONTRADICTED,
    ),
    _read_only(
        "a contact does not contradict a read", *twice(call(contact("example.com"))), verdict=CONSISTENT
    ),
    _read_only("a GET request does not contradict a read", *twice(call(request("GET"))), verdict=CONSISTENT),
    _read_only(
        "a POST request leaves a read open",
        *twice(call(request("POST"))),
        verdict=INCONCLUSIVE,
        reason=Reason.REMOTE_UNCLASSIFIED,
    ),
    _read_only(
        "a datagram leaves a read open",
        *twice(call(contact("stats.example.com", EffectKind.NET_DATAGRAM))),
        verdict=INCONCLUSIVE,
        reason=Reason.REMOTE_UNCLASSIFIED,
    ),
    _read_only(
        "data in a protocol other than HTTP leaves a read open",
        *twice(call(effect(EffectKind.NET_CONNECT, "db.example.com:5432", detail={"body_size": 80}))),
        verdict=INCONCLUSIVE,
        reason=Reason.REMOTE_UNCLASSIFIED,
    ),
    _read_only(
        "a datagram to this machine leaves nothing open",
        *twice(call(contact("127.0.0.1", EffectKind.NET_DATAGRAM))),
        verdict=CONSISTENT,
    ),
    _read_only(
        "a POST request beside a write does not hide the write",
        *twice(call(request("POST"), CREATED)),
        verdict=CONTRADICTED,
    ),
)

REPRODUCTION_CASES = (
    _read_only(
        "a write without a confirming trial is unconfirmed",
        probe(call(CREATED)),
        verdict=INCONCLUSIVE,
        reason=Reason.UNCONFIRMED,
    ),
    _read_only(
        "a write that the confirming trial does not show was observed once",
        probe(call(CREATED)),
        confirm(call()),
        verdict=INCONCLUSIVE,
        reason=Reason.OBSERVED_ONCE,
    ),
    _read_only(
        "a write at random in a confirming trial alone was observed once",
        probe(call()),
        confirm(call(CREATED)),
        verdict=INCONCLUSIVE,
        reason=Reason.OBSERVED_ONCE,
    ),
    _read_only(
        "a changed answer that does not change again is not reproduced",
        probe(call(effect(EffectKind.STATE_CHANGED, "count"))),
        confirm(call()),
        verdict=INCONCLUSIVE,
        reason=Reason.NOT_REPRODUCED,
    ),
    _read_only(
        "a write to another random name is reproduced",
        probe(call(effect(EffectKind.FILE_CREATED, "/tmp/a1"))),
        confirm(call(effect(EffectKind.FILE_CREATED, "/tmp/b2"))),
        verdict=CONTRADICTED,
    ),
    _read_only(
        "a confirming trial of another call confirms nothing",
        probe(call(args={"n": 1}), call(CREATED, args={"n": 2})),
        confirm(call(args={"n": 1})),
        verdict=INCONCLUSIVE,
        reason=Reason.UNCONFIRMED,
    ),
    _read_only(
        "a smaller call that shows the write confirms it",
        probe(call(CREATED, args={"n": 1, "more": True})),
        confirm(call(CREATED, args={"n": 1})),
        verdict=CONTRADICTED,
    ),
    _read_only(
        "a smaller call that does not show the write leaves it observed once",
        probe(call(CREATED, args={"n": 1, "more": True})),
        confirm(call(args={"n": 1})),
        verdict=INCONCLUSIVE,
        reason=Reason.OBSERVED_ONCE,
    ),
    _read_only(
        "a confirming trial of another probe trial confirms nothing",
        probe(call(CREATED)),
        confirm(call(CREATED), of="p9"),
        verdict=INCONCLUSIVE,
        reason=Reason.OBSERVED_ONCE,
    ),
    _read_only(
        "what vanishes after an unrelated call was made on first use",
        *twice(call(CREATED)),
        first_use(prepare(), call()),
        verdict=CONSISTENT,
    ),
    _read_only(
        "the same file made on first use needs no control for every argument set",
        *twice(call(replace(CREATED, after="a"), args={"n": 1})),
        first_use(prepare(), call(args={"n": 1})),
        probe(call(replace(CREATED, after="a"), args={"n": 2}), name="p2"),
        verdict=CONSISTENT,
    ),
    _read_only(
        "another content in its place needs one",
        *twice(call(replace(CREATED, after="a"), args={"n": 1})),
        first_use(prepare(), call(args={"n": 1})),
        probe(call(replace(CREATED, after="b"), args={"n": 2}), name="p2"),
        verdict=INCONCLUSIVE,
        reason=Reason.UNCONFIRMED,
    ),
    *(
        _read_only(
            f"what vanishes after an unrelated call: {name}",
            *twice(*before, call(made)),
            first_use(prepare(*others), call()),
            verdict=verdict,
        )
        for name, made, others, before, verdict in (
            ("an empty store in the workspace", _new("workspace", empty=True), (), (), CONSISTENT),
            ("a file with something in it there", _new("workspace"), (), (), CONTRADICTED),
            ("a row in a store there", _ROW, (), (), CONTRADICTED),
            ("a table without rows there", _TABLE, (), (), CONSISTENT),
            ("a file that a shell reads later", _new("started", empty=True), (), (), CONTRADICTED),
            ("defaults in HOME", _new("other"), (), (), CONSISTENT),
            ("the same defaults that the other made", _new("other"), (_new("other"),), (), CONSISTENT),
            ("not what the other made there", _new("other"), (_new("other", after="b"),), (), CONTRADICTED),
            (
                "an empty store in the place of another one",
                _new("workspace", empty=True),
                (_new("workspace", empty=True, after="b"),),
                (),
                CONSISTENT,
            ),
            (
                "the same text with another time in it",
                _new("other", diff="+made", fingerprint="f"),
                (_new("other", after="b", diff="+made", fingerprint="f"),),
                (),
                CONSISTENT,
            ),
            (
                "a file made when a secret was read",
                _new("other"),
                (),
                (call(effect(EffectKind.SECRET_READ, "/home/user/.netrc"), outcome=Outcome.REFUSED),),
                CONTRADICTED,
            ),
        )
    ),
    _read_only(
        "what another tool left late in the probe and in the control is not confirmed by it",
        probe(call(CREATED)),
        confirm(call()),
        first_use(prepare(), call(CREATED)),
        verdict=INCONCLUSIVE,
        reason=Reason.OBSERVED_ONCE,
    ),
    _read_only(
        "what stays after an unrelated call contradicts",
        *twice(call(CREATED)),
        first_use(prepare(), call(CREATED)),
        verdict=CONTRADICTED,
    ),
    _read_only(
        "what stays under another random name contradicts",
        *twice(call(effect(EffectKind.FILE_CREATED, "/tmp/a1", fingerprint="a"))),
        first_use(prepare(), call(effect(EffectKind.FILE_CREATED, "/tmp/b2", fingerprint="b"))),
        verdict=CONTRADICTED,
    ),
    _read_only(
        "a loss is no matter of first use",
        *twice(call(OVERWRITTEN)),
        first_use(prepare(), call()),
        verdict=CONTRADICTED,
    ),
    _read_only(
        "an unrelated call that was refused proves no first use",
        *twice(call(CREATED)),
        first_use(prepare(outcome=Outcome.REFUSED), call()),
        verdict=CONTRADICTED,
    ),
    _read_only(
        "a tool that turns after calls of its own is not on first use",
        *twice(call(args={"n": 1}), call(CREATED, args={"n": 2})),
        first_use(prepare(), call(args={"n": 2})),
        verdict=CONTRADICTED,
    ),
    _read_only(
        "a late write that comes back after the call alone contradicts",
        probe(call(args={"n": 1}), call(args={"n": 2}), settle(CREATED)),
        late(call(args={"n": 2}), settle(CREATED)),
        verdict=CONTRADICTED,
    ),
    _read_only(
        "a late write in a box of one call is confirmed like any other",
        *twice(call(), settle(CREATED)),
        verdict=CONTRADICTED,
    ),
    _read_only(
        "a late write in a box of one call waits to be confirmed",
        probe(call(), settle(CREATED)),
        verdict=INCONCLUSIVE,
        reason=Reason.UNCONFIRMED,
    ),
    _read_only(
        "a late write that none of the calls brings back alone is not this tool's",
        probe(call(args={"n": 1}), call(args={"n": 2}), settle(CREATED)),
        late(call(args={"n": 1}), settle()),
        late(call(args={"n": 2}), settle(), name="l2"),
        verdict=CONSISTENT,
    ),
    _read_only(
        "a late write of several calls is unattributed",
        probe(call(args={"n": 1}), call(args={"n": 2}), settle(CREATED)),
        verdict=INCONCLUSIVE,
        reason=Reason.UNATTRIBUTED_LATE_EFFECT,
    ),
    _read_only(
        "a late effect that the run could not attribute keeps its tools open",
        probe(call()),
        notes=((Reason.UNATTRIBUTED_LATE_EFFECT, "something came late"),),
        verdict=INCONCLUSIVE,
        reason=Reason.UNATTRIBUTED_LATE_EFFECT,
    ),
)

DESTRUCTIVE_CASES = (
    _destructive("an addition is not destructive", probe(call(APPENDED)), verdict=CONSISTENT),
    _destructive("a reproduced loss is", *twice(call(ROW_DELETED)), verdict=CONTRADICTED),
    _destructive(
        "a loss of what the trial made itself is not",
        *twice(call(replace(ROW_DELETED, own=True))),
        verdict=CONSISTENT,
    ),
    _destructive(
        "a possible loss is listed and does not contradict",
        *twice(call(effect(EffectKind.FILE_MOVED, loses=True, confidence=Confidence.POSSIBLE))),
        verdict=CONSISTENT,
    ),
    _destructive(
        "a refused call that lost something is",
        *twice(call(ROW_DELETED, outcome=Outcome.REFUSED)),
        verdict=CONTRADICTED,
    ),
    _destructive(
        "without an effect nothing is known",
        probe(call()),
        verdict=INCONCLUSIVE,
        reason=Reason.NO_EFFECT_SEEN,
    ),
    _destructive(
        "an effect of a refused call is not the one that is needed",
        probe(call(), call(CREATED, outcome=Outcome.REFUSED)),
        verdict=INCONCLUSIVE,
        reason=Reason.NO_EFFECT_SEEN,
    ),
    _destructive(
        "a POST request leaves it open",
        probe(call(APPENDED, request("DELETE"))),
        verdict=INCONCLUSIVE,
        reason=Reason.REMOTE_UNCLASSIFIED,
    ),
    Case(
        "beside readOnlyHint true it is moot",
        evidence(tool(read_only=True, destructive=False), *twice(call(ROW_DELETED))),
        Hint.DESTRUCTIVE,
        MOOT,
    ),
)

IDEMPOTENT_CASES = (
    _idempotent("a second call that adds nothing holds", probe(call(CREATED), repeat()), verdict=CONSISTENT),
    _idempotent(
        "a refused second call that adds nothing holds",
        probe(call(CREATED), repeat(outcome=Outcome.REFUSED)),
        verdict=CONSISTENT,
    ),
    _idempotent(
        "a second call that appends contradicts",
        *twice(call(APPENDED), repeat(APPENDED)),
        verdict=CONTRADICTED,
    ),
    _idempotent(
        "an append to a file that the first call made contradicts",
        *twice(call(CREATED), repeat(replace(APPENDED, own=True))),
        verdict=CONTRADICTED,
    ),
    _idempotent(
        "a timestamp that moves again does not",
        *twice(call(CREATED), repeat(effect(EffectKind.ROW_UPDATED, volatile=True))),
        verdict=CONSISTENT,
    ),
    _idempotent(
        "an incidental second effect does not",
        *twice(call(CREATED), repeat(replace(APPENDED, weight=Weight.INCIDENTAL))),
        verdict=CONSISTENT,
    ),
    _idempotent(
        "a GET request in the second call does not",
        *twice(call(CREATED), repeat(request("GET"))),
        verdict=CONSISTENT,
    ),
    _idempotent(
        "a POST request in the second call leaves it open",
        *twice(call(CREATED), repeat(request("POST"))),
        verdict=INCONCLUSIVE,
        reason=Reason.REMOTE_UNCLASSIFIED,
    ),
    _idempotent(
        "an effect of the second call that is not confirmed waits",
        probe(call(APPENDED), repeat(APPENDED)),
        verdict=INCONCLUSIVE,
        reason=Reason.UNCONFIRMED,
    ),
    _idempotent(
        "a confirming trial without a second call confirms nothing about it",
        probe(call(APPENDED), repeat(APPENDED)),
        confirm(call(APPENDED)),
        verdict=INCONCLUSIVE,
        reason=Reason.UNCONFIRMED,
    ),
    _idempotent(
        "an effect of the second call that is not seen again was observed once",
        probe(call(APPENDED), repeat(APPENDED)),
        confirm(call(APPENDED), repeat()),
        verdict=INCONCLUSIVE,
        reason=Reason.OBSERVED_ONCE,
    ),
    _idempotent(
        "without an effect nothing is known",
        probe(call(), repeat()),
        verdict=INCONCLUSIVE,
        reason=Reason.NO_EFFECT_SEEN,
    ),
    _idempotent(
        "an effect without a second call is unconfirmed",
        probe(call(CREATED)),
        verdict=INCONCLUSIVE,
        reason=Reason.UNCONFIRMED,
    ),
    _idempotent(
        "an effect without a second call because the budget ended says so",
        probe(call(CREATED)),
        notes=((Reason.BUDGET_SPENT, "the budget ended"),),
        verdict=INCONCLUSIVE,
        reason=Reason.BUDGET_SPENT,
    ),
    _idempotent(
        "a second call in which the server died tells nothing",
        probe(call(CREATED), repeat(outcome=Outcome.CRASHED)),
        verdict=INCONCLUSIVE,
        reason=Reason.CRASHED,
    ),
    _idempotent(
        "a second call that is not answered tells nothing",
        probe(call(CREATED), repeat(outcome=Outcome.TIMED_OUT)),
        verdict=INCONCLUSIVE,
        reason=Reason.TIMED_OUT,
    ),
    Case(
        "beside readOnlyHint true it is moot",
        evidence(tool(read_only=True, idempotent=True), *twice(call(APPENDED), repeat(APPENDED))),
        Hint.IDEMPOTENT,
        MOOT,
    ),
)

OPEN_WORLD_CASES = (
    _open_world("a tool without contact is closed", probe(call()), verdict=CONSISTENT),
    *(
        _open_world(
            f"a reproduced {kind.value} contradicts",
            *twice(call(contact("a.example.com", kind), contact("b.example.net", kind))),
            verdict=CONTRADICTED,
        )
        for kind in (
            EffectKind.NET_LOOKUP,
            EffectKind.NET_CONNECT,
            EffectKind.NET_REQUEST,
            EffectKind.NET_DATAGRAM,
        )
    ),
    _open_world(
        "one fixed host contradicts and is named so",
        *twice(call(contact("api.example.co.uk"), contact("cdn.example.co.uk"))),
        verdict=CONTRADICTED,
        reason=Reason.FIXED_HOST,
    ),
    _open_world(
        "a host from the arguments contradicts and is named so",
        *twice(call(contact("site.example.org"), args={"url": "https://Site.example.org/x"})),
        verdict=CONTRADICTED,
        reason=Reason.HOST_FROM_ARGUMENT,
    ),
    _open_world(
        "an address of a looked-up name does not blur the fixed host",
        *twice(call(contact("api.example.com", EffectKind.NET_LOOKUP), contact("203.0.114.9"))),
        verdict=CONTRADICTED,
        reason=Reason.FIXED_HOST,
    ),
    _open_world(
        "hosts of two kinds have no reason",
        *twice(call(contact("a.example.com"), contact("b.example.org"), args={"host": "a.example.com"})),
        verdict=CONTRADICTED,
    ),
    *(
        _open_world(f"contact with {host} is none", *twice(call(contact(host))), verdict=CONSISTENT)
        for host in (
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "localhost",
            "app.localhost",
            "::ffff:127.0.0.1",
            "0.0.0.0",
        )
    ),
    _open_world(
        "contact with the closed world is none",
        *twice(call(contact("db.corp.example"), contact("10.1.2.3"))),
        closed_world=("corp.example", "10.1.2.3"),
        verdict=CONSISTENT,
    ),
    _open_world(
        "a name that only ends like the closed world is contact",
        *twice(call(contact("evilcorp.example"))),
        closed_world=("corp.example",),
        verdict=CONTRADICTED,
        reason=Reason.FIXED_HOST,
    ),
    _open_world(
        "a transient contact is contact",
        *twice(call(contact("example.com", weight=Weight.TRANSIENT))),
        verdict=CONTRADICTED,
        reason=Reason.FIXED_HOST,
    ),
    _open_world("a write is no contact", *twice(call(CREATED)), verdict=CONSISTENT),
    _open_world(
        "contact observed once stays open",
        probe(call(contact("example.com"))),
        confirm(call()),
        verdict=INCONCLUSIVE,
        reason=Reason.OBSERVED_ONCE,
    ),
    _open_world(
        "a server that calls out while idle keeps its tools open",
        probe(idle(contact("telemetry.example.com")), call()),
        verdict=INCONCLUSIVE,
        reason=Reason.IDLE_WRITES,
    ),
    _open_world(
        "a server that talks to the closed world while idle does not",
        probe(idle(contact("db.corp.example")), call()),
        closed_world=("corp.example",),
        verdict=CONSISTENT,
    ),
)

BLINDNESS_CASES = (
    _read_only(
        "a tool that was never accepted",
        probe(call(outcome=Outcome.REFUSED)),
        verdict=INCONCLUSIVE,
        reason=Reason.NEVER_ACCEPTED,
    ),
    _read_only("a tool that was never called", verdict=INCONCLUSIVE, reason=Reason.NEVER_ACCEPTED),
    _read_only(
        "a tool that was never called because the budget ended",
        notes=((Reason.BUDGET_SPENT, "the budget ended"),),
        verdict=INCONCLUSIVE,
        reason=Reason.BUDGET_SPENT,
    ),
    _read_only(
        "a tool that crashes in every call",
        probe(call(outcome=Outcome.CRASHED)),
        verdict=INCONCLUSIVE,
        reason=Reason.CRASHED,
    ),
    _read_only(
        "a tool that never answers",
        probe(call(outcome=Outcome.TIMED_OUT)),
        verdict=INCONCLUSIVE,
        reason=Reason.TIMED_OUT,
    ),
    _read_only(
        "a tool that crashes or refuses",
        probe(call(outcome=Outcome.CRASHED), call(outcome=Outcome.REFUSED)),
        verdict=INCONCLUSIVE,
        reason=Reason.NEVER_ACCEPTED,
    ),
    *(
        _read_only(
            f"a read without the {instrument.value}",
            probe(call(), instruments=ALL - {instrument}),
            verdict=INCONCLUSIVE,
            reason=Reason.MISSING_INSTRUMENT,
        )
        for instrument in (Instrument.FILES, Instrument.OBSERVER, Instrument.GATEWAY)
    ),
    _read_only(
        "a read without the tap", probe(call(), instruments=ALL - {Instrument.TAP}), verdict=CONSISTENT
    ),
    _destructive(
        "an addition without the files",
        probe(call(APPENDED), instruments=ALL - {Instrument.FILES}),
        verdict=INCONCLUSIVE,
        reason=Reason.MISSING_INSTRUMENT,
    ),
    _destructive(
        "an addition without the observer",
        probe(call(APPENDED), instruments=ALL - {Instrument.OBSERVER}),
        verdict=CONSISTENT,
    ),
    _idempotent(
        "a second call without the gateway",
        probe(call(CREATED), repeat(), instruments=ALL - {Instrument.GATEWAY}),
        verdict=INCONCLUSIVE,
        reason=Reason.MISSING_INSTRUMENT,
    ),
    *(
        _open_world(
            f"a closed tool without the {instrument.value}",
            probe(call(), instruments=ALL - {instrument}),
            verdict=INCONCLUSIVE,
            reason=Reason.MISSING_INSTRUMENT,
        )
        for instrument in (Instrument.TAP, Instrument.GATEWAY)
    ),
    _open_world(
        "a closed tool without the files",
        probe(call(), instruments=ALL - {Instrument.FILES}),
        verdict=CONSISTENT,
    ),
    _read_only(
        "a contradiction without an instrument is one all the same",
        probe(call(CREATED), instruments=ALL - {Instrument.OBSERVER}),
        confirm(call(CREATED)),
        verdict=CONTRADICTED,
    ),
    _read_only(
        "a read that was denied a write",
        probe(call(effect(EffectKind.REFUSED, detail={"syscall": "openat"}))),
        verdict=INCONCLUSIVE,
        reason=Reason.REFUSED_BY_BOX,
    ),
    _read_only(
        "a read that was denied something nobody described",
        probe(call(unreached=((Reason.REFUSED_BY_BOX, "a mount was denied"),))),
        verdict=INCONCLUSIVE,
        reason=Reason.REFUSED_BY_BOX,
    ),
    _read_only(
        "a read that was denied what the server tries while idle too",
        probe(
            call(
                effect(EffectKind.REFUSED, weight=Weight.BACKGROUND),
                unreached=((Reason.REFUSED_BY_BOX, "io_uring"),),
            )
        ),
        verdict=CONSISTENT,
    ),
    _read_only(
        "a read that was denied a raw socket",
        probe(call(effect(EffectKind.REFUSED, detail={"syscall": "socket"}))),
        verdict=CONSISTENT,
    ),
    _open_world(
        "a closed tool that was denied a raw socket",
        probe(call(effect(EffectKind.REFUSED, detail={"syscall": "socket"}))),
        verdict=INCONCLUSIVE,
        reason=Reason.REFUSED_BY_BOX,
    ),
    _open_world(
        "a closed tool that was denied a write",
        probe(call(effect(EffectKind.REFUSED, detail={"syscall": "openat"}))),
        verdict=CONSISTENT,
    ),
    _read_only(
        "a read that ran into a limit",
        probe(call(unreached=((Reason.BOX_LIMIT, "the disk was full"),))),
        verdict=INCONCLUSIVE,
        reason=Reason.BOX_LIMIT,
    ),
    _read_only(
        "a read whose service did not answer",
        probe(call(unreached=((Reason.WORLD_UNREACHABLE, "no answer"),))),
        verdict=INCONCLUSIVE,
        reason=Reason.WORLD_UNREACHABLE,
    ),
    _open_world(
        "a closed tool whose service did not answer",
        probe(call(unreached=((Reason.WORLD_UNREACHABLE, "no answer"),))),
        verdict=CONSISTENT,
    ),
    _read_only(
        "a server that writes to existing files while idle",
        probe(idle(effect(EffectKind.FILE_MODIFIED)), call()),
        verdict=INCONCLUSIVE,
        reason=Reason.IDLE_WRITES,
    ),
    _read_only(
        "a server that inserts into an existing table while idle",
        probe(idle(effect(EffectKind.ROW_INSERTED)), call()),
        verdict=INCONCLUSIVE,
        reason=Reason.IDLE_WRITES,
    ),
    _read_only(
        "a server that writes to its own new file while idle",
        probe(idle(effect(EffectKind.FILE_MODIFIED, own=True)), call()),
        verdict=CONSISTENT,
    ),
    _read_only(
        "a server that was found to write by itself",
        probe(call()),
        notes=((Reason.IDLE_WRITES, "it beats"),),
        verdict=INCONCLUSIVE,
        reason=Reason.IDLE_WRITES,
    ),
    _read_only(
        "a tool whose definition changes",
        probe(call()),
        notes=((Reason.UNSTABLE_DEFINITION, "the hints differ"),),
        verdict=CONSISTENT,
        reason=Reason.UNSTABLE_DEFINITION,
    ),
    _read_only(
        "a lie in a definition that changes",
        *twice(call(CREATED)),
        notes=((Reason.UNSTABLE_DEFINITION, "the hints differ"),),
        verdict=CONTRADICTED,
        reason=Reason.UNSTABLE_DEFINITION,
    ),
)

PERMISSION_CASES = (
    Case(
        "a writer that writes needs its value",
        evidence(WRITES, probe(call(CREATED))),
        Hint.READ_ONLY,
        CONSISTENT,
    ),
    Case(
        "a writer that never writes is overcautious",
        evidence(WRITES, probe(call())),
        Hint.READ_ONLY,
        OVERCAUTIOUS,
    ),
    Case(
        "a writer that was never accepted",
        evidence(WRITES, probe(call(outcome=Outcome.REFUSED))),
        Hint.READ_ONLY,
        INCONCLUSIVE,
        Reason.NEVER_ACCEPTED,
    ),
    Case(
        "a writer that nobody could see",
        evidence(WRITES, probe(call(), instruments=frozenset())),
        Hint.READ_ONLY,
        INCONCLUSIVE,
        Reason.MISSING_INSTRUMENT,
    ),
    Case(
        "a writer that posts",
        evidence(WRITES, probe(call(request("POST")))),
        Hint.READ_ONLY,
        INCONCLUSIVE,
        Reason.REMOTE_UNCLASSIFIED,
    ),
    Case(
        "a writer that may write",
        evidence(WRITES, probe(call(effect(EffectKind.FILE_MODIFIED, confidence=Confidence.POSSIBLE)))),
        Hint.READ_ONLY,
        CONSISTENT,
    ),
    Case(
        "a destroyer that destroys",
        evidence(DESTROYS, probe(call(ROW_DELETED))),
        Hint.DESTRUCTIVE,
        CONSISTENT,
    ),
    Case(
        "a destroyer that only adds",
        evidence(DESTROYS, probe(call(APPENDED))),
        Hint.DESTRUCTIVE,
        OVERCAUTIOUS,
    ),
    Case(
        "a destroyer without an effect",
        evidence(DESTROYS, probe(call())),
        Hint.DESTRUCTIVE,
        INCONCLUSIVE,
        Reason.NO_EFFECT_SEEN,
    ),
    Case(
        "a repeater that repeats",
        evidence(REPEATS, probe(call(APPENDED), repeat(APPENDED))),
        Hint.IDEMPOTENT,
        CONSISTENT,
    ),
    Case(
        "a repeater that converges",
        evidence(REPEATS, probe(call(CREATED), repeat())),
        Hint.IDEMPOTENT,
        OVERCAUTIOUS,
    ),
    Case(
        "a repeater without an effect",
        evidence(REPEATS, probe(call(), repeat())),
        Hint.IDEMPOTENT,
        INCONCLUSIVE,
        Reason.NO_EFFECT_SEEN,
    ),
    Case(
        "an open tool with contact",
        evidence(OPEN, probe(call(contact("example.com")))),
        Hint.OPEN_WORLD,
        CONSISTENT,
    ),
    Case("an open tool without contact", evidence(OPEN, probe(call())), Hint.OPEN_WORLD, OVERCAUTIOUS),
    *(
        Case(f"an absent {hint.value} is undeclared", evidence(tool(), probe(call())), hint, UNDECLARED)
        for hint in Hint
    ),
    *(
        Case(
            f"a malformed {hint.value} is undeclared",
            evidence(tool(read_only="true", destructive=1, idempotent=None, open_world=[]), probe(call())),
            hint,
            UNDECLARED,
            Reason.MALFORMED,
        )
        for hint in Hint
    ),
    Case(
        "a malformed value beside readOnlyHint true is malformed, not moot",
        evidence(tool(read_only=True, destructive="no"), probe(call())),
        Hint.DESTRUCTIVE,
        UNDECLARED,
        Reason.MALFORMED,
    ),
    Case(
        "an absent value beside readOnlyHint true is moot",
        evidence(READS, probe(call())),
        Hint.DESTRUCTIVE,
        MOOT,
    ),
)

CASES = (
    *READ_ONLY_CASES,
    *REPRODUCTION_CASES,
    *DESTRUCTIVE_CASES,
    *IDEMPOTENT_CASES,
    *OPEN_WORLD_CASES,
    *BLINDNESS_CASES,
    *PERMISSION_CASES,
)
