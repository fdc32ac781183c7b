"""The eight real servers verified one after the other, and the same calls and restarts without any box."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bare import lay_out
from figures import Figure
from servers import SETTINGS, Server, Things, corpus, launch_of

from sandbox.evidence.runs import find_run
from sandbox.workspace import furnish

GOAL_S = 180
OUTWARD = frozenset({"gzip-file-as-resource"})
"""Tools that would reach out of the machine when nothing contains them; their calls are left out of the bare run."""


@dataclass(frozen=True, slots=True)
class Verified:
    """One verification: how long it took, the report, and the calls of each box that was used."""

    seconds: float
    report: dict[str, Any]
    boxes: list[list[tuple[str | None, dict[str, Any]]]]


async def measure(root: Path) -> list[Figure]:
    """The ratio to the bare run, the seconds of all eight, and how many tools were accepted."""
    things = Things.make(root)
    verified, contained, bare, shares = [], 0.0, 0.0, []
    for server in corpus(things):
        run = verify(server.command, server.cwd, root / "runs")
        verified.append(run)
        if server.reaches_out:
            continue
        seconds = _bare(server, run, things, root)
        contained, bare = contained + run.seconds, bare + seconds
        shares.append(f"{server.name} {run.seconds / seconds:.2f}")
        sys.stderr.write(f"{server.name}: {run.seconds:.1f} s verified, {seconds:.1f} s bare\n")
    tools = [tool for run in verified for tool in run.report["tools"]]
    accepted = sum(tool["calls"]["accepted"] > 0 for tool in tools)
    calls = sum(len(box) for run in verified for box in run.boxes)
    starts = sum(len(run.boxes) for run in verified)
    return [
        Figure(
            "whole verify / the same calls and restarts bare", 1.3, contained / bare, "", ", ".join(shares)
        ),
        Figure(
            "all eight real servers, one after the other",
            GOAL_S,
            sum(run.seconds for run in verified),
            "s",
            f"{starts} server starts, {calls} calls",
            decisive=False,
        ),
        Figure(
            "tools of the real servers accepted at least once",
            95,
            100 * accepted / len(tools),
            "%",
            f"{accepted} of {len(tools)}",
            at_most=False,
            decisive=False,
        ),
    ]


def verify(command: tuple[str, ...], cwd: Path, runs: Path, *options: str) -> Verified:
    """Run ``hintproof verify`` as a user does, and read what it left."""
    words = [
        sys.executable,
        "-m",
        "sandbox",
        "verify",
        "--json",
        "--quiet",
        "--runs",
        str(runs),
        *options,
        "--",
    ]
    started = time.monotonic()
    done = subprocess.run([*words, *command], cwd=cwd, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - started
    if not done.stdout:
        raise AssertionError(f"{command} was not verified: {done.stderr}")
    report = json.loads(done.stdout)
    logs = sorted(find_run(runs, report["run"]).glob("wire/*.jsonl"))
    return Verified(seconds, report, [_calls(log) for log in logs])


def _calls(log: Path) -> list[tuple[str | None, dict[str, Any]]]:
    """The calls of one box in their order; a listing has no tool's name."""
    calls: list[tuple[str | None, dict[str, Any]]] = []
    for line in log.read_text().splitlines():
        _, direction, text = json.loads(line)
        if direction != ">" or " bytes… " in text:
            continue
        message = json.loads(text)
        if message.get("method") == "tools/list":
            calls.append((None, {}))
        elif message.get("method") == "tools/call" and message["params"]["name"] not in OUTWARD:
            calls.append((message["params"]["name"], message["params"]["arguments"]))
    return calls


def _bare(server: Server, run: Verified, things: Things, root: Path) -> float:
    """Seconds for the same calls, as many server starts, and the workspace put back before each."""
    launch = launch_of(server)
    place = launch.workspace
    used = [
        path for path in (things.folder, things.repository, things.database.parent) if _given(server, path)
    ]
    keep: list[str] = []
    workspace = str(root)
    if used and place is not None:
        furnishing = furnish(place.source, place.at)
        workspace = furnishing.surroundings.workspace
        lay_out(furnishing.seeds, used[0])
        pristine = root / f"pristine-{server.name}"
        shutil.copytree(used[0], pristine, symlinks=True)
        keep = [str(used[0]), str(pristine)]
    plan = root / f"plan-{server.name}.json"
    plan.write_text(
        json.dumps(
            {
                "argv": launch.argv,
                "cwd": launch.cwd or workspace,
                # Memory would write beside its own code.
                "env": {**launch.env, "MEMORY_FILE_PATH": str(root / "memory.jsonl")},
                "roots": SETTINGS.session.roots or (workspace,),
                "keep": keep,
                "boxes": run.boxes,
            }
        )
    )
    started = time.monotonic()
    subprocess.run([sys.executable, Path(__file__).with_name("bare.py"), plan], check=True)
    return time.monotonic() - started


def _given(server: Server, path: Path) -> bool:
    return any(word.startswith(str(path)) for word in server.command)
