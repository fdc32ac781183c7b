"""Runs of hintproof over the contract's server, and the questions that tests ask of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ground import Ground

from sandbox.evidence.runs import find_run, load_evidence
from sandbox.model import HOME, Effect, Step, StepKind, ToolEvidence, Weight

HOSTS = ("local", "docker")
PATIENCE_S = 1200

TOKEN = "token-of-the-user"
"""A value of ``-e``, which nothing that is written may hold."""

LIMITS = ("memory_mb=256", "processes=16", "file_mb=16", "disk_mb=48", "open_files=128")
OPTIONS: Mapping[str, tuple[str, ...]] = {
    "limits": (*(word for limit in LIMITS for word in ("--limit", limit)), "--timeout", "call=3"),
}
"""What the run of a group needs beyond the common options."""

_PLACELESS = ("process.",)
"""Effects whose subject holds pids, or paths of programs."""


@dataclass(frozen=True)
class Ran:
    """One finished run, with the ground that it was made on. ``client`` was the pid of its process."""

    client: int
    exit_code: int
    report: dict[str, Any]
    evidence: dict[str, ToolEvidence]
    run: Path
    ground: Ground
    errors: str

    def verdicts(self, tool: str) -> dict[str, str]:
        """Verdict, and reason in brackets, by hint."""
        found = next(one for one in self.report["tools"] if one["name"] == tool)
        return {each["hint"]: _with(each["verdict"], each["reason"]) for each in found["findings"]}

    def first(self, tool: str) -> Step:
        """The tool's first call."""
        return next(step for step in self.evidence[tool].trials[0].steps if step.kind is StepKind.CALL)

    def effects(self, tool: str) -> set[str]:
        """What the tool's first call did, as the table writes it."""
        return {self.told(effect) for effect in self.first(tool).effects}

    def later(self, tool: str) -> set[str]:
        """What happened after a call of the tool, by the end of its box; of a box that others shared, in its own."""
        steps = [step for trial in self.evidence[tool].trials for step in trial.steps]
        return {
            self.told(effect) for step in steps if step.kind is not StepKind.IDLE for effect in step.effects
        }

    def answer(self, tool: str) -> Any:
        """What the tool answered to its first call."""
        reply = self.first(tool).reply
        assert reply is not None
        return json.loads(reply.text)

    def told(self, effect: Effect) -> str:
        """An effect as the table writes it."""
        kind = f"{effect.kind.value}{'!' if effect.loses else ''}"
        where = "" if kind.startswith(_PLACELESS) else f" {self._short(effect.subject)}"
        return _with(f"{kind}{where}", "" if effect.weight is Weight.MATERIAL else effect.weight.value)

    def _short(self, subject: str) -> str:
        places = {f"{self.ground.workspace}/": "", f"{HOME}/": "~/", f"{self.ground.shown}/": "SHOWN/"}
        for place, short in places.items():
            if subject.startswith(place):
                return short + subject.removeprefix(place)
        return subject


def _with(text: str, more: str | None) -> str:
    return f"{text} ({more})" if more else text


def verify(host: str, group: str, ground: Ground, runs: Path, *more: str) -> Ran:
    """Verify one group of the server's tools on a host."""
    with subprocess.Popen(
        command(host, group, ground, runs, *more),
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as client:
        told, errors = client.communicate(timeout=PATIENCE_S)
    assert told, f"no report of {group} on {host}: {errors}"
    report = json.loads(told)
    run = find_run(runs, report["run"])
    evidence = {one.tool.name: one for one in load_evidence(run)}
    return Ran(client.pid, client.returncode, report, evidence, run, ground, errors)


def command(host: str, group: str, ground: Ground, runs: Path, *more: str) -> Sequence[str]:
    """The command line of a run."""
    words = [
        sys.executable,
        "-m",
        "sandbox",
        "verify",
        "--host",
        host,
        "--json",
        "--quiet",
        "--runs",
        str(runs),
    ]
    words += ["--expose", str(ground.shown), "-e", f"CONTRACT_TOKEN={TOKEN}", *OPTIONS.get(group, ()), *more]
    return [*words, "--", "python3", str(ground.server), str(ground.workspace), group]


def environment() -> dict[str, str]:
    """The environment of a run: compiled modules may be kept, as on a user's machine."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
