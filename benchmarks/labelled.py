"""Servers whose truth is known: how many of their lies are found, and how many honest labels are accused."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import anyio.to_thread
from corpora import verify
from figures import Figure

SERVERS = Path(__file__).resolve().parents[1] / "tests" / "servers"


async def measure(root: Path) -> list[Figure]:
    """Lies found of those that the catalogue names as contradicted, and accused labels of the honest twins."""
    found = lies = accused = labels = 0
    missed: list[str] = []
    for server, expected in catalogue().items():
        lying = await anyio.to_thread.run_sync(_contradicted, SERVERS / server, root, "")
        lies += len(expected)
        found += len(expected & lying[0])
        missed += sorted(f"{tool} {hint}" for tool, hint in expected - lying[0])
        honest = await anyio.to_thread.run_sync(_contradicted, SERVERS / server, root, "honest")
        accused += len(honest[0])
        labels += honest[1]
    detail = f"{found} of {lies}" + (f"; missed: {', '.join(missed)}" if missed else "")
    return [
        Figure("contradictions found", 95, 100 * found / lies, "%", detail, at_most=False, decisive=False),
        Figure(
            "false alarms", 1, 100 * accused / labels, "%", f"{accused} of {labels} labels", decisive=False
        ),
    ]


def catalogue() -> dict[str, set[tuple[str, str]]]:
    """The tools and hints that the catalogue's table calls contradicted, by server."""
    servers: dict[str, set[tuple[str, str]]] = {}
    server = ""
    for line in (SERVERS / "README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 7:
            continue
        if named := re.fullmatch(r"`(\w+\.py)`", cells[1]):
            server = named[1]
        hints = re.findall(r"(\w+) contradicted", cells[5])
        for tool in re.findall(r"`(\w+)`", cells[2]):
            for hint in hints:
                servers.setdefault(server, set()).add((tool, f"{hint}Hint"))
    return servers


def _contradicted(server: Path, root: Path, twin: str) -> tuple[set[tuple[str, str]], int]:
    """Which tools and hints a verification contradicts, and how many hints it looked at."""
    workspace = root / f"{server.stem}-{twin or 'lying'}"
    workspace.mkdir()
    command = (sys.executable, str(server), str(workspace), *([twin] if twin else []))
    report = verify(command, root, root / "runs").report
    findings = [finding for tool in report["tools"] for finding in tool["findings"]]
    sys.stderr.write(f"{server.name} {twin or 'lying'}: {len(findings)} labels\n")
    contradicted = {(f["tool"], f["hint"]) for f in findings if f["verdict"] == "contradicted"}
    return contradicted, len(findings)
