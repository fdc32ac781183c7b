"""Reports to render: an ordinary one, and one in which the server controls every text it can."""

from __future__ import annotations

from collections.abc import Mapping

from sandbox.model import (
    Call,
    Confidence,
    Declared,
    Effect,
    EffectKind,
    Evidence,
    Finding,
    Hint,
    Instrument,
    Json,
    Outcome,
    Purpose,
    Remark,
    Reply,
    Report,
    ServerFacts,
    Severity,
    Step,
    StepKind,
    Tool,
    ToolReport,
    Trial,
    Verdict,
    Weight,
)

PROPOSED = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": True, "openWorldHint": False}


def deletion(**texts: str) -> Effect:
    """A deleted row; ``texts`` replace what a server can choose."""
    said = {
        "subject": "/home/user/workspace/app.db#users[2]",
        "summary": "row 2 of users in app.db was deleted",
        "executable": "/usr/bin/python3.11",
        "diff": "users[2]\n-2 | bob | bob@example.org | admin\n",
    } | texts
    return Effect(
        EffectKind.ROW_DELETED,
        said["subject"],
        said["summary"],
        3.9,
        4312,
        said["executable"],
        loses=True,
        fingerprint="f" * 32,
        diff=said["diff"],
        detail={"table": said["subject"]},
    )


def finding(
    tool: str, hint: Hint, verdict: Verdict, *, reason: str = "", why: str = "", **facts: object
) -> Finding:
    """A finding that rests on nothing unless ``facts`` say more."""
    declared = Declared.ABSENT if verdict is Verdict.UNDECLARED else Declared.TRUE
    known = {"declared": declared, "severity": Severity.LOW, "confidence": Confidence.LIKELY} | facts
    return Finding(
        id="3f2a9c01de",
        tool=tool,
        hint=hint,
        verdict=verdict,
        reason=reason,
        why=why or f"because {verdict.value}",
        **known,  # type: ignore[arg-type]
    )


def lie(tool: str, effect: Effect, arguments: Mapping[str, Json]) -> Finding:
    """A contradicted readOnlyHint with evidence."""
    proof = Evidence("b1.2", 1, Call(tool, dict(arguments)), (effect,))
    return finding(
        tool,
        Hint.READ_ONLY,
        Verdict.CONTRADICTED,
        why=f"{effect.summary}; seen again in a fresh box",
        severity=Severity.HIGH,
        confidence=Confidence.CERTAIN,
        evidence=(proof,),
        supports=False,
        replay="hintproof replay 3f2a9c01de",
    )


def tool_report(name: str, *findings: Finding, accepted: int = 6, **facts: object) -> ToolReport:
    """A report on one tool."""
    known = {"refusals": (), "listed": (), "space": ("minimal",)} | facts
    definition: dict[str, Json] = {"name": name, "annotations": {"readOnlyHint": True}, "description": name}
    return ToolReport(
        Tool.read(definition),
        findings,
        6,
        accepted,
        space_missed=(),
        proposed=PROPOSED,
        **known,  # type: ignore[arg-type]
    )


def in_order(name: str) -> ToolReport:
    """A tool with nothing wrong."""
    return tool_report(
        name,
        finding(name, Hint.READ_ONLY, Verdict.CONSISTENT),
        finding(name, Hint.DESTRUCTIVE, Verdict.MOOT),
        finding(name, Hint.IDEMPOTENT, Verdict.MOOT),
        finding(name, Hint.OPEN_WORLD, Verdict.UNDECLARED, supports=False),
    )


def lying(
    name: str = "delete_user", effect: Effect | None = None, arguments: Mapping[str, Json] | None = None
) -> ToolReport:
    """A tool whose readOnlyHint is a lie."""
    return tool_report(
        name,
        lie(name, effect or deletion(), {"user_id": 2} if arguments is None else arguments),
        finding(name, Hint.DESTRUCTIVE, Verdict.MOOT),
        finding(name, Hint.IDEMPOTENT, Verdict.MOOT),
        finding(name, Hint.OPEN_WORLD, Verdict.CONSISTENT),
    )


def run(*tools: ToolReport, **facts: object) -> Report:
    """A run over a small server."""
    known = {
        "target": "python server.py",
        "command": ("python", "server.py"),
        "server": ServerFacts("user-admin", "1.0", "2025-11-25", "legacy", tool_count=len(tools)),
        "remarks": (),
        "unreached": (),
        "missing": (),
    } | facts
    return Report(
        run="20261130-121445-3fa9",
        invocation=("hintproof", "verify"),
        seed=7,
        profile="spec",
        started_at="2026-11-30T12:14:45Z",
        duration_ms=3210.0,
        instruments=tuple(Instrument),
        tools=tools,
        **known,  # type: ignore[arg-type]
    )


def trial(effect: Effect, *, tool: str = "delete_user", text: str = "deleted") -> Trial:
    """A trial with an idle, a call and a long idle."""
    call = Step(
        StepKind.CALL,
        Call(tool, {"user_id": 2}),
        Reply(Outcome.ACCEPTED, {}, text, 4.5),
        (effect,),
        120.0,
        8.0,
        unreached=(("box-limit", text),),
    )
    idle = Step(StepKind.IDLE, None, None, (), 0.0, 120.0)
    return Trial("b1.2", tool, Purpose.PROBE, "b1", (idle, call), frozenset(Instrument))


def controlled(text: str) -> Report:
    """A run in which the server has put ``text`` wherever it can."""
    effect = deletion(subject=text, summary=text, executable=text, diff=f"-{text}\n+{text}")
    listed = Effect(EffectKind.SECRET_READ, text, text, weight=Weight.MATERIAL, executable=text)
    refused = tool_report(
        text,
        *(finding(text, hint, Verdict.INCONCLUSIVE, reason="never-accepted", why=text) for hint in Hint),
        accepted=0,
        refusals=(text,),
        listed=(listed,),
    )
    return run(
        lying(text, effect, {"path": text, text: [text]}),
        refused,
        target=text,
        command=(text,),
        server=ServerFacts(text, text, text, "legacy", instructions=text, tool_count=2),
        remarks=(Remark("junk", text, text),),
        unreached=(text,),
        missing=((Instrument.TAP, text),),
    )
