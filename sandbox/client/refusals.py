"""Error texts that servers send behind ``isError: false``, recognised conservatively.

A refused call taken for an accepted one only weakens a run's coverage figure; an accepted call taken for a
refused one hides its tool from the judge. So a text must be short, and it must *be* an error message as a
whole: documents, log files and listings that merely contain such words, or begin with them, are not matched.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from sandbox.model import Json

_MAX_TEXT = 600
"""Characters. The longest honest message in the corpus (a zod issue list) stays below; documents do not."""

_MAX_LINES = 6
_MAX_TRACEBACK = 8000
_MAX_JSON = 4000

_DECORATION = re.compile(r"^[\s>*_#`❌⚠️🚫✗✘×⛔❗🔴\ufe0f-]+")
"""Markdown and signs that servers put before "Error:"."""


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    pattern: re.Pattern[str]


def _starts(name: str, pattern: str) -> _Rule:
    return _Rule(name, re.compile(pattern, re.IGNORECASE))


_KINDS = (
    "api|auth|authentication|authorization|client|connection|critical|database|execution|fatal|file|git|http|input|internal"
    "|io|mcp|network|os|parse|parsing|permission|query|request|runtime|server|sql|sqlite|syntax|system|timeout|tool|type"
    "|unexpected|unknown|validation"
)

_RULES = (
    # "Error: x", "Database error: x" (server-sqlite), "API Error (404): x". The colon keeps out "Error log is
    # empty", the closed list of kinds "Mean squared error: 0.2" and "Last error: none".
    _starts(
        "error-prefix",
        rf"(?:an? )?(?:(?:{_KINDS}) ){{0,2}}error(?: \([^)\n]{{1,40}}\))?: *(?!none\b|null\b)\S",
    ),
    _starts(
        "error-executing",
        r"error (?:executing|calling|running|invoking|in|while|when|from|during) [^\n]{1,120}: *\S",
    ),
    _starts(
        "error-verb",
        r"error (?:reading|writing|fetching|getting|creating|deleting|updating|parsing|processing"
        r"|searching|listing|loading|opening|connecting|querying|retrieving|adding|removing|saving)\b",
    ),
    _starts("error-occurred", r"an? (?:[\w-]+ ){0,2}error (?:has )?occurred\b"),
    # "MCP error -32602: Invalid arguments for tool x" (TypeScript SDK), also "JSON-RPC error -32603".
    _starts("jsonrpc-code", r"(?:mcp|json-?rpc|rpc) error:? -32\d{3}\b"),
    # "ValueError: x", "sqlite3.OperationalError: x", "Exception: x", "McpError: x".
    _Rule(
        "exception-name",
        re.compile(r"(?:[A-Za-z_]\w*\.)*(?:[A-Z]\w*)?(?:Error|Exception)(?: \[\w+\])?: *(?!none\b|null\b)\S"),
    ),
    _starts("failed-to", r"failed to [a-z]+\b"),
    _starts("operation-failed", r"(?!\d)(?:[\w-]+ ){1,4}failed(?: with [^:\n]{1,40})?: *\S"),
    _starts("unable-to", r"unable to [a-z]+\b"),
    # "Could not find any results" is an answer, not a refusal: only verbs of failing machinery are listed.
    _starts(
        "could-not",
        r"(?:could not|couldn't|cannot|can't) (?:be )?(?:open|read|write|parse|connect|access|load|execute|resolve"
        r"|decode|create|delete|remove|update|fetch|determine|stat)\b",
    ),
    _starts(
        "invalid",
        r"invalid (?:[\w-]+ ){0,3}(?:argument|parameter|param|input|request|path|url|uri|id|name|value"
        r"|format|date|time|timezone|json|syntax|query|expression|option|key|token|type|regex|pattern|arguments|parameters)s?\b"
        r"(?=[ :.'\"(]|$)(?! (?:entries|rows|records|removed|were|was|are)\b)",
    ),
    _starts(
        "unknown",
        r"unknown (?:tool|command|action|operation|method|resource|argument|parameter|option|prompt|type|timezone)\b",
    ),
    _starts(
        "missing",
        r"missing (?:[\w-]+ ){0,2}(?:argument|parameter|param|field|input|property|api key|environment variable"
        r"|credentials?)s?\b",
    ),
    # "path is required", "Parameter 'x' is required."
    _Rule(
        "is-required",
        re.compile(
            r"(?:(?:parameter|argument|field|the) )?['\"`]?[\w.-]+['\"`]? (?:is|are) required\.?$",
            re.IGNORECASE,
        ),
    ),
    # "Tool 'x' not found", "File not found: x", "User 42 does not exist": the subject is named, the text ends
    # there.
    _Rule(
        "not-found",
        re.compile(
            r"(?:the |no )?(?:tool|file|directory|folder|path|user|table|repository|entity|node|task|note"
            r"|item|record|document|resource|project|branch|key|id)\b[^\n]{0,120}"
            r"\b(?:not found|does not exist|doesn't exist|not exist)\b[^\n]{0,160}$",
            re.IGNORECASE,
        ),
    ),
    # Access denied - path outside allowed directories: x (server-filesystem)
    _starts("denied", r"(?:access|permission|request) (?:was |is )?denied\b(?! (?:events|count|list))"),
    _starts(
        "permission-errno",
        r"(?:\[errno \d+\]|e[a-z]{3,10}: (?:no such|permission|not a|is a|operation|file|invalid|illegal))",
    ),
    _starts(
        "os-error",
        r"(?:no such (?:file or directory|table|column|user|host)|operation not permitted|connection refused"
        r"|connection timed out|read-only file system|command not found)\b",
    ),
    _starts(
        "authentication",
        r"(?:not authenticated|not authorized|unauthori[sz]ed|authentication (?:required|failed)"
        r"|invalid credentials|forbidden|rate limit exceeded)\b",
    ),
    _starts(
        "http-status",
        r"(?:http(?: error)?|request failed with status(?: code)?|status(?: code)?:?|server returned) ?:? ?[45]\d\d\b",
    ),
    # git, and tools that pass its output through.
    _starts("fatal", r"fatal: *\S"),
    _starts("panic", r"panic: *\S"),
)

_TRACEBACK = re.compile(
    r"traceback \(most recent call last\):\n.*\n[\w.]*(?:error|exception|exit|interrupt)\b[^\n]*$",
    re.IGNORECASE | re.DOTALL,
)
"""A whole traceback: a page about tracebacks goes on after the exception's line."""

_LOG_LINE = re.compile(r"^\W*(?:error|warn|warning|info|debug|fatal)\b", re.IGNORECASE | re.MULTILINE)
"""Several lines that begin so are a log, not a message."""

_FAILED_WORDS = frozenset({"error", "failed", "failure", "fail"})


def recognise_refusal(text: str) -> str | None:
    """The name of the rule that makes ``text`` an error message, or None where it is an answer.

    ``text`` is the joined text content of a result, uncut.
    """
    text = text.strip()
    if len(text) <= _MAX_TRACEBACK and _TRACEBACK.match(text):
        return "traceback"
    if text.startswith("{"):
        return _json_refusal(text) if len(text) <= _MAX_JSON else None
    if len(text) > _MAX_TEXT or text.count("\n") >= _MAX_LINES or len(_LOG_LINE.findall(text)) > 1:
        return None
    bare = _DECORATION.sub("", text).replace("**", "")
    return next((rule.name for rule in _RULES if rule.pattern.match(bare)), None)


def _json_refusal(text: str) -> str | None:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    # A result that carries data beside a failed flag is an answer (a linter's report, a test run).
    if any(
        isinstance(member, list) and member
        for key, member in value.items()
        if key not in {"errors", "details", "issues"}
    ):
        return None
    for flag in ("success", "ok"):
        if value.get(flag) is False:
            return f"json-{flag}-false"
    if value.get("isError") is True or value.get("is_error") is True:
        return "json-is-error"
    status = value.get("status")
    if (
        isinstance(status, str)
        and status.lower() in _FAILED_WORDS
        and value.keys() & {"message", "error", "reason", "detail"}
    ):
        return "json-status-error"
    # {"error": "not found"} or {"error": {"code": 1, ...}}; a report with an error *field* has more members.
    error = value.get("error")
    told = (isinstance(error, str) and error.strip()) or (isinstance(error, dict) and error) or error is True
    if told and len(value) <= 4 and value.get("success") is not True and value.get("ok") is not True:
        return "json-error"
    return None
