"""The eight public servers that ``make real`` installs, and one verification of each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.evidence.runs import find_run, load_evidence
from sandbox.model import ToolEvidence

REAL = Path(__file__).parents[2] / ".real"

GIT = ("git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "init.defaultBranch=main")


@dataclass(frozen=True, slots=True)
class RealServer:
    """One public server: its command, where it is installed, and how many tools it lists.

    ``argument`` says which of the ordinary things made for the test it takes as its last argument:
    ``folder``, ``repository``, ``database`` or nothing.
    """

    name: str
    command: tuple[str, ...]
    installed: str
    tools: int
    argument: str = ""


def _npm(name: str, tools: int, argument: str = "") -> RealServer:
    package = f"@modelcontextprotocol/server-{name}"
    return RealServer(name, ("npx", "-y", package), f"node/node_modules/{package}", tools, argument)


def _pypi(name: str, tools: int, *words: str, venv: str = "venv", argument: str = "") -> RealServer:
    script = f"{venv}/bin/mcp-server-{name}"
    return RealServer(name, (str(REAL / script), *words), script, tools, argument)


SERVERS = (
    _npm("filesystem", 14, "folder"),
    _npm("memory", 9),
    _npm("everything", 17),
    _npm("sequential-thinking", 1),
    _pypi("git", 12, "--repository", argument="repository"),
    _pypi("time", 2),
    _pypi("fetch", 1),
    _pypi("sqlite", 6, "--db-path", venv="venv-sqlite", argument="database"),
)


@dataclass(frozen=True, slots=True)
class Verified:
    """What one verification left: its exit code, its report as JSON, its evidence by tool and its wire logs."""

    exit_code: int
    report: dict[str, Any]
    evidence: dict[str, ToolEvidence]
    run: Path

    def verdict(self, tool: str, hint: str) -> str:
        """The verdict on one hint of one tool."""
        return self.finding(tool, hint)["verdict"]

    def finding(self, tool: str, hint: str) -> dict[str, Any]:
        """The finding on one hint of one tool, as the report has it."""
        found = next(one for one in self.report["tools"] if one["name"] == tool)
        return next(finding for finding in found["findings"] if finding["hint"] == hint)

    def findings(self) -> list[dict[str, Any]]:
        """Every finding of the report."""
        return [finding for tool in self.report["tools"] for finding in tool["findings"]]

    def accepted(self) -> dict[str, int]:
        """How many calls of each tool were accepted."""
        return {tool["name"]: tool["calls"]["accepted"] for tool in self.report["tools"]}

    def requests(self, method: str) -> list[dict[str, Any]]:
        """What the client sent of one method, over all boxes."""
        logs = (log.read_text() for log in sorted(self.run.glob("wire/*.jsonl")))
        lines = [json.loads(line) for log in logs for line in log.splitlines()]
        sent = [json.loads(text) for _, direction, text in lines if direction == ">"]
        return [message for message in sent if message.get("method") == method]


def make_arguments(root: Path) -> dict[str, Path]:
    """An ordinary folder, an ordinary repository with one commit, and the path of a database that is not there."""
    folder, repository = root / "folder", root / "repository"
    folder.mkdir()
    (folder / "notes.txt").write_text("Buy milk\nCall Bob\n")
    repository.mkdir()
    (repository / "README.md").write_text("# Ledger\n")
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    for words in (("init", "--quiet"), ("add", "README.md"), ("commit", "--quiet", "-m", "Begin")):
        subprocess.run([*GIT, *words], cwd=repository, env=environment, check=True)
    return {"folder": folder, "repository": repository, "database": root / "ledger.db"}


def verify(server: RealServer, arguments: dict[str, Path], runs: Path) -> Verified:
    """Verify one server the way a user does: its command, and no option."""
    if not (REAL / server.installed).exists():
        raise AssertionError(f"{server.name} is not installed in {REAL}: run `make real`")
    last = (str(arguments[server.argument]),) if server.argument else ()
    words = [sys.executable, "-m", "sandbox", "verify", "--json", "--quiet", "--runs", runs, "--"]
    done = subprocess.run(
        [*words, *server.command, *last],
        cwd=REAL / "node" if server.command[0] == "npx" else runs.parent,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.stdout, f"no report: {done.stderr}"
    report = json.loads(done.stdout)
    run = find_run(runs, report["run"])
    return Verified(done.returncode, report, {one.tool.name: one for one in load_evidence(run)}, run)
