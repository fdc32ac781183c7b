"""The JSON report, ``hintproof.report/1``: its shape, its published JSON Schema, and how it is written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from sandbox.evidence.runs import write_atomically
from sandbox.model import (
    Call,
    Effect,
    Evidence,
    Finding,
    Installation,
    Report,
    ServerFacts,
    ToolReport,
    Verdict,
)
from sandbox.report.escaping import Masker, plain_json

FORMAT = "hintproof.report/1"


def to_json(report: Report, secrets: Sequence[str] = ()) -> dict[str, Any]:
    """The report as plain JSON values, valid against :func:`report_schema`; ``secrets`` are masked everywhere."""
    findings = [finding for tool in report.tools for finding in tool.findings]
    document = {
        "schema": FORMAT,
        "run": report.run,
        "target": report.target,
        "command": report.command,
        "invocation": report.invocation,
        "host": report.host,
        "host_image": report.host_image or None,
        "server": _server(report.server) if report.server else None,
        "seed": report.seed,
        "profile": report.profile,
        "started_at": report.started_at,
        "duration_ms": round(report.duration_ms, 3),
        "complete": report.complete,
        "exit_code": int(report.exit_code),
        "instruments": [instrument.value for instrument in report.instruments],
        "missing": [{"instrument": instrument.value, "why": why} for instrument, why in report.missing],
        "summary": {
            "listed": max(len(report.tools), report.server.tool_count if report.server else 0),
            "accepted": sum(1 for tool in report.tools if tool.accepted),
            "calls": {
                "tried": sum(tool.tried for tool in report.tools),
                "accepted": sum(tool.accepted for tool in report.tools),
            },
            "verdicts": {
                verdict.value: sum(1 for finding in findings if finding.verdict is verdict)
                for verdict in Verdict
            },
        },
        "tools": [_tool(tool) for tool in report.tools],
        "remarks": [
            {"code": remark.code, "text": remark.text, "tool": remark.tool} for remark in report.remarks
        ],
        "unreached": report.unreached,
        "versions": report.versions,
        "digests": report.digests,
        "installation": _installation(report.installation) if report.installation else None,
    }
    masked: dict[str, Any] = plain_json(document, Masker(secrets))
    return masked


def dumps(report: Report, secrets: Sequence[str] = ()) -> str:
    """The report as JSON text in pure ASCII, indented, with a final newline."""
    return json.dumps(to_json(report, secrets), indent=2, allow_nan=False) + "\n"


def write_report(path: Path, report: Report, secrets: Sequence[str] = ()) -> None:
    """Write the JSON report so that a reader sees the old one or the new one, never half of it.

    Raises:
        DiskFullError: the folder cannot be written.
    """
    write_atomically(path, dumps(report, secrets))


@cache
def report_schema() -> dict[str, Any]:
    """The published JSON Schema of the report (``report.schema.json`` in this package)."""
    text = resources.files("sandbox.report").joinpath("report.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _server(server: ServerFacts) -> dict[str, Any]:
    return {
        "name": server.name,
        "version": server.version,
        "protocol": server.protocol,
        "era": server.era,
        "transport": server.transport,
        "instructions": server.instructions,
        "tool_count": server.tool_count,
    }


def _installation(installation: Installation) -> dict[str, Any]:
    return {
        "package": installation.package,
        "installed_at": installation.installed_at,
        "fresh": installation.fresh,
        "scripts": installation.scripts,
        "dependencies_before": installation.before or None,
        "runtime": installation.runtime,
        "packages": installation.packages,
        "digest": installation.digest,
        "lock": installation.lock,
        "effects": [_effect(effect) for effect in installation.effects],
        "notes": installation.notes,
    }


def _tool(tool: ToolReport) -> dict[str, Any]:
    return {
        "name": tool.tool.name,
        "annotations": tool.tool.definition.get("annotations"),
        "calls": {"tried": tool.tried, "accepted": tool.accepted},
        "space": {"covered": tool.space, "missed": tool.space_missed},
        "refusals": tool.refusals,
        "findings": [_finding(finding) for finding in tool.findings],
        "proposed": tool.proposed,
        "effects": [_effect(effect) for effect in tool.listed],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "id": finding.id,
        "tool": finding.tool,
        "hint": finding.hint.value,
        "declared": finding.declared.wire,
        "verdict": finding.verdict.value,
        "reason": finding.reason or None,
        "why": finding.why,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        "supports": finding.supports,
        "evidence": [_evidence(evidence) for evidence in finding.evidence],
        "replay": finding.replay or None,
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "trial": evidence.trial,
        "step": evidence.step,
        "call": _call(evidence.call) if evidence.call else None,
        "effects": [_effect(effect) for effect in evidence.effects],
    }


def _call(call: Call) -> dict[str, Any]:
    return {"tool": call.tool, "arguments": call.arguments, "origin": call.origin}


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "kind": effect.kind.value,
        "subject": effect.subject,
        "summary": effect.summary,
        "at_ms": round(effect.at_ms, 3),
        "pid": effect.pid,
        "executable": effect.executable,
        "weight": effect.weight.value,
        "confidence": effect.confidence.value,
        "loses": effect.loses,
        "own": effect.own,
        "volatile": effect.volatile,
        "fingerprint": effect.fingerprint,
        "before": effect.before,
        "after": effect.after,
        "diff": effect.diff,
        "detail": effect.detail,
    }
