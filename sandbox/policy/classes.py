"""How one server of several ended: a closed list of classes, and how a report or an error falls into them.

A server's own words decide between *does not start* and *needs something*: the end of its standard error, or the
refusals of its tools. They are text for people, so that the patterns are a matter of judgement; they choose a class for
a table and never a verdict or an exit code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from sandbox.errors import (
    BundleError,
    ExitCode,
    HintproofError,
    ImageError,
    InstallError,
    NeedsInputError,
    NoSandboxError,
    NothingVerifiedError,
    ServerStartError,
    UsageError,
)
from sandbox.model import Confidence, Verdict
from sandbox.policy.exits import worst
from sandbox.policy.glossary import Word

_WHY_SHOWN = 300


class ServerClass(StrEnum):
    """What became of one server."""

    VERIFIED = "verified"
    LISTED = "listed"
    CONTRADICTED = "contradicted"
    NOTHING_VERIFIED = "nothing-verified"
    NEEDS_CREDENTIALS = "needs-credentials"
    NEEDS_SERVICE = "needs-service"
    DOES_NOT_START = "does-not-start"
    DOES_NOT_INSTALL = "does-not-install"
    NOT_FOUND = "not-found"
    NO_SANDBOX = "no-sandbox"
    OUR_FAULT = "our-fault"


CLASSES: Mapping[ServerClass, Word] = MappingProxyType(
    {
        ServerClass.VERIFIED: Word(
            "class",
            "Tools were called and accepted, and no hint is contradicted",
            "The server's report holds the verdicts. It can still fail the run: an effect that was seen only once, or a "
            "rung of `--fail-on` that asks for more.",
        ),
        ServerClass.LISTED: Word(
            "class",
            "The server was started and its tools were listed",
            "`hintproof list` asks for no more; nothing was called.",
        ),
        ServerClass.CONTRADICTED: Word(
            "class",
            "At least one hint is contradicted",
            "The finding is at least likely; the server's report holds it with its evidence and a replay.",
        ),
        ServerClass.NOTHING_VERIFIED: Word(
            "class",
            "The server runs, and no call of a tool was accepted",
            "It lists no tools, none of those asked for, or refused every call for a reason that names neither "
            "credentials nor a service. The refusals stand in its report.",
        ),
        ServerClass.NEEDS_CREDENTIALS: Word(
            "class",
            "The server asks for a key, a token, a login or another value that only you can give",
            "It ended at its start, or refused its calls, with words that ask for credentials, or its file asks for what "
            "nothing could be made up for. Give it with `-e NAME=VALUE` or `--set NAME=VALUE`; a made-up value is enough "
            "where it is only looked at.",
        ),
        ServerClass.NEEDS_SERVICE: Word(
            "class",
            "The server looks for a service that is not there",
            "It ended at its start, or refused its calls, because nothing answered where it expects a database or "
            "another service.",
        ),
        ServerClass.DOES_NOT_START: Word(
            "class",
            "The server ended, or spoke no MCP, before its tools were listed",
            "Its last words are kept with the result.",
        ),
        ServerClass.DOES_NOT_INSTALL: Word(
            "class",
            "The package or image cannot be made ready",
            "It is not to be had, its installer fails, or the image cannot be unpacked.",
        ),
        ServerClass.NOT_FOUND: Word(
            "class",
            "What the target names is not on this machine, or cannot be meant",
            "A command, file or image that is not there, or an option that does not fit this server.",
        ),
        ServerClass.NO_SANDBOX: Word(
            "class",
            "No sandbox works here, so the server was not started",
            "`hintproof doctor` says what to change.",
        ),
        ServerClass.OUR_FAULT: Word(
            "class",
            "hintproof failed while it dealt with this server",
            "It says nothing of the server. The others were dealt with all the same.",
        ),
    }
)
"""Every class, explained."""

DONE = frozenset({ServerClass.VERIFIED, ServerClass.LISTED, ServerClass.CONTRADICTED})
"""Classes of servers that were dealt with as was asked."""

_SECRET = r"(api[ _-]?(key|token|secret)|access[ _-]?(key|token)|auth\w*[ _-]?token|token|secret|credentials?|password|[A-Z0-9]+_(API_)?(KEY|TOKEN|SECRET|PASSWORD|PAT|CREDENTIALS)\b)"
_LACKING = r"(requir|missing|not (set|found|provided|configured|defined|available)|must be|must provide|no valid|is empty|undefined|unset|please (set|provide|specify|configure)|need(s|ed)?\b|invalid|expired|could not (find|load))"

_CREDENTIALS = re.compile(
    rf"(?i){_SECRET}.{{0,80}}{_LACKING}|{_LACKING}.{{0,80}}{_SECRET}"
    r"|\bunauthori[sz]ed\b|\bnot (authenticated|logged in|authori[sz]ed)\b|\bauthentication (failed|required|error)\b"
    r"|\b(log ?in|sign ?in) (is )?required\b|\bbad credentials\b|\b(status|http|error|code)\W{0,6}401\b"
)

_SERVICE = re.compile(
    r"(?i)\bECONNREFUSED\b|\bconnection refused\b|\b(could not|cannot|can't|unable to|failed to) (re)?connect\b"
    r"|\bECONNRESET\b|\bserver ?selection\b|\bconnection (timed out|timeout|closed|failed|error)\b"
    r"|\bnot connected\b|\bno (database )?connection\b|\b(is|are) .{0,40}\brunning\?|\bnot reachable\b|\bunreachable\b"
    r"|\bName or service not known\b|\bgetaddrinfo\b|\berror \d+ connecting to\b"
)


@dataclass(frozen=True, slots=True)
class TargetResult:
    """What came of one of several targets.

    ``index`` counts from 0 in the order in which they were named; ``name`` is the target as a table shows it.
    ``server_class`` is its class with one line ``why``, ``exit_code`` what it alone would end with; ``error`` is the whole
    message where there is no report. ``run`` is its run's id ("" where no run was kept). ``listed``, ``accepted``
    and ``contradicted`` count the server's tools, those with an accepted call, and contradicted hints. ``seconds`` are
    of wall time. No secret is in any of it.
    """

    index: int
    name: str
    server_class: ServerClass
    exit_code: int
    why: str = ""
    error: str = ""
    run: str = ""
    server: str = ""
    listed: int = 0
    accepted: int = 0
    contradicted: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class BatchFacts:
    """A batch as it stands: its id, hintproof's own command line, when it was begun, and the results in their order.

    ``targets`` is how many there are to be, ``jobs`` how many ran at once, ``seconds`` how long this command took.
    """

    batch: str
    invocation: tuple[str, ...]
    started_at: str
    targets: int
    jobs: int
    seconds: float
    results: tuple[TargetResult, ...]

    @property
    def complete(self) -> bool:
        """Whether every target has a result."""
        return len(self.results) == self.targets

    @property
    def exit_code(self) -> ExitCode:
        """The worst of the results' codes."""
        return worst(ExitCode(result.exit_code) for result in self.results)


def of_report(report: Mapping[str, Any]) -> tuple[ServerClass, str]:
    """The class of a server that was run, and why; ``report`` is its JSON report."""
    tools = report["tools"]
    sure = contradictions(report)
    if sure:
        hints = dict.fromkeys(hint for _, hint in sure)
        return ServerClass.CONTRADICTED, "; ".join(
            f"{hint}: {', '.join(tool for tool, of in sure if of == hint)}" for hint in hints
        )
    if any(tool["calls"]["accepted"] for tool in tools):
        return ServerClass.VERIFIED, ""
    refusals = [str(tool["refusals"][-1]) for tool in tools if tool["refusals"]]
    if not refusals:
        return ServerClass.NOTHING_VERIFIED, "no call was answered"
    wanted = Counter(needed for text in refusals if (needed := _needed(text)) is not None)
    if wanted:
        server_class, count = wanted.most_common(1)[0]
        if 2 * count >= len(refusals):
            return server_class, next(_line(text) for text in refusals if _needed(text) is server_class)
    return ServerClass.NOTHING_VERIFIED, f"every call was refused, such as: {_line(refusals[0])}"


def contradictions(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Tool and hint of each contradiction of a JSON report that is at least likely."""
    return [
        (str(finding["tool"]), str(finding["hint"]))
        for tool in report["tools"]
        for finding in tool["findings"]
        if finding["verdict"] == Verdict.CONTRADICTED and finding["confidence"] != Confidence.POSSIBLE
    ]


def of_error(error: HintproofError) -> tuple[ServerClass, str]:
    """The class of a server that was not run to its end, and why."""
    text = str(error)
    match error:
        case InstallError() | ImageError() | BundleError():
            return ServerClass.DOES_NOT_INSTALL, _second_line(text)
        case ServerStartError():
            return _needed(text) or ServerClass.DOES_NOT_START, _telling_line(text)
        case NothingVerifiedError():
            server_class = ServerClass.NOTHING_VERIFIED
        case NoSandboxError():
            server_class = ServerClass.NO_SANDBOX
        case NeedsInputError():
            server_class = ServerClass.NEEDS_CREDENTIALS
        case UsageError():
            server_class = ServerClass.NOT_FOUND
        case _:
            server_class = ServerClass.OUR_FAULT
    return server_class, _line(text)


def code_of(error: HintproofError) -> ExitCode:
    """The exit code of one of several targets: what cannot be meant or found is a server that could not be started."""
    code = ExitCode(error.exit_code)
    return ExitCode.SERVER_UNREACHABLE if code is ExitCode.USAGE else code


def _needed(text: str) -> ServerClass | None:
    """What a server's words ask for. Where both are named, the service: a login comes after the connection."""
    if _SERVICE.search(text):
        return ServerClass.NEEDS_SERVICE
    return ServerClass.NEEDS_CREDENTIALS if _CREDENTIALS.search(text) else None


def _telling_line(text: str) -> str:
    """The line that says what is needed, else the first and the one that looks like an error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    needed = next((line for line in lines if _needed(line) is not None), "")
    if needed:
        return needed[:_WHY_SHOWN]
    error = next((line for line in lines[1:] if _looks_like_an_error(line)), "")
    return f"{_line(text)[: _WHY_SHOWN // 2]} {error}".strip()[:_WHY_SHOWN]


def _second_line(text: str) -> str:
    """The line after the one that says that it failed, which says why; the only one where there is no other."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return _line("\n".join(lines[1:2] or lines))


def _looks_like_an_error(line: str) -> bool:
    return re.match(r"(?i)(\w+\.)*\w*(error|exception)\b.*:|error\b|fatal\b|usage:", line) is not None


def _line(text: str) -> str:
    return next(iter(line.strip() for line in text.splitlines() if line.strip()), "")[:_WHY_SHOWN]


def counted(results: Iterable[TargetResult]) -> dict[ServerClass, int]:
    """How many results are of each class, in the order of the list, without those of which there is none."""
    counts = Counter(result.server_class for result in results)
    return {server_class: counts[server_class] for server_class in ServerClass if counts[server_class]}
