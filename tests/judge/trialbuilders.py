"""Small builders for evidence: a tool, steps, trials, and what they add up to."""

from __future__ import annotations

from sandbox.model import (
    Call,
    Effect,
    EffectKind,
    Instrument,
    Json,
    Outcome,
    Purpose,
    Reply,
    Step,
    StepKind,
    Tool,
    ToolEvidence,
    Trial,
)

ALL = frozenset(Instrument)
WIRE = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}
Unreached = tuple[tuple[str, str], ...]


def tool(**hints: Json) -> Tool:
    """A tool that declares exactly the given hints (``read_only=True``)."""
    return Tool.read({"name": "act", "annotations": {WIRE[name]: value for name, value in hints.items()}})


def effect(kind: EffectKind, subject: str = "/work/a.txt", **facts: object) -> Effect:
    """An effect whose fingerprint is its kind and subject unless told otherwise."""
    facts.setdefault("fingerprint", f"{kind}@{subject}")
    return Effect(kind, subject, f"{kind.value} {subject}", **facts)  # type: ignore[arg-type]


CREATED = effect(EffectKind.FILE_CREATED, own=True)
APPENDED = effect(EffectKind.RECORD_ADDED, "/work/a.jsonl#3")
OVERWRITTEN = effect(EffectKind.FILE_MODIFIED, loses=True)
ROW_DELETED = effect(EffectKind.ROW_DELETED, "/work/app.db#users[2]", loses=True)


def contact(host: str, kind: EffectKind = EffectKind.NET_CONNECT, **facts: object) -> Effect:
    """Contact with a host."""
    return effect(kind, host, detail={"host": host}, **facts)


def request(method: str, host: str = "api.example.com") -> Effect:
    """An HTTP request."""
    url = f"https://{host}/v1"
    return effect(EffectKind.NET_REQUEST, url, detail={"host": host, "method": method})


def _step(
    kind: StepKind,
    effects: tuple[Effect, ...],
    arguments: dict[str, Json] | None,
    outcome: Outcome | None,
    unreached: Unreached = (),
) -> Step:
    made = None if arguments is None else Call("act", arguments)
    reply = None if outcome is None else Reply(outcome, {}, "", 3.0)
    return Step(kind, made, reply, effects, 0.0, 5.0, unreached=unreached)


def call(
    *effects: Effect,
    args: dict[str, Json] | None = None,
    outcome: Outcome = Outcome.ACCEPTED,
    unreached: Unreached = (),
) -> Step:
    """The tool is called."""
    return _step(StepKind.CALL, effects, args or {"x": 1}, outcome, unreached)


def repeat(
    *effects: Effect,
    args: dict[str, Json] | None = None,
    outcome: Outcome = Outcome.ACCEPTED,
    unreached: Unreached = (),
) -> Step:
    """The same call once more."""
    return _step(StepKind.REPEAT, effects, args or {"x": 1}, outcome, unreached)


def prepare(*effects: Effect, outcome: Outcome = Outcome.ACCEPTED) -> Step:
    """Another tool is called first."""
    return _step(StepKind.PREPARE, effects, {"other": True}, outcome)


def idle(*effects: Effect) -> Step:
    """The idle control."""
    return _step(StepKind.IDLE, effects, None, None)


def settle(*effects: Effect) -> Step:
    """The long idle at the end."""
    return _step(StepKind.SETTLE, effects, None, None)


def probe(*steps: Step, name: str = "p1", instruments: frozenset[Instrument] = ALL) -> Trial:
    """A probe trial in a box of its own."""
    return Trial(name, "act", Purpose.PROBE, f"box-{name}", steps, instruments)


def confirm(*steps: Step, of: str = "p1", name: str = "c1") -> Trial:
    """A trial that tries a probe trial's effects again."""
    return Trial(name, "act", Purpose.CONFIRM, f"box-{name}", steps, ALL, of)


def first_use(*steps: Step, of: str = "p1", name: str = "f1") -> Trial:
    """The same call after an unrelated one."""
    return Trial(name, "act", Purpose.FIRST_USE, f"box-{name}", steps, ALL, of)


def late(*steps: Step, of: str = "p1", name: str = "l1") -> Trial:
    """One call alone, then the long idle."""
    return Trial(name, "act", Purpose.LATE, f"box-{name}", steps, ALL, of)


def twice(*steps: Step) -> tuple[Trial, Trial]:
    """A probe trial and the one that confirms it, with the same steps."""
    return probe(*steps), confirm(*steps)


def evidence(
    of: Tool,
    *trials: Trial,
    accepted: int | None = None,
    tried: int | None = None,
    notes: Unreached = (),
    closed_world: tuple[str, ...] = (),
    refusals: tuple[str, ...] = (),
    space: tuple[str, ...] = ("minimal",),
) -> ToolEvidence:
    """Evidence whose counts follow from its probe trials unless they are given."""
    calls = [
        step
        for trial in trials
        if trial.purpose is Purpose.PROBE
        for step in trial.steps
        if step.kind is StepKind.CALL
    ]
    good = sum(step.reply is not None and step.reply.outcome is Outcome.ACCEPTED for step in calls)
    return ToolEvidence(
        of,
        trials,
        len(calls) if tried is None else tried,
        good if accepted is None else accepted,
        space=space,
        refusals=refusals,
        notes=notes,
        closed_world=closed_world,
    )
