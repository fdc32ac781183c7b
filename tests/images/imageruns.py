"""Whole commands on servers that lie in images, and the questions that tests ask of their reports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from imagefiles import config_of, docker_archive, entry, folder, layer

ROOT = Path(__file__).parents[2]
PATIENCE_S = 400.0

SHIPPED = b"it came with the image\n"


@dataclass(frozen=True)
class Ran:
    """A finished command: its exit code, what it said, and the JSON that it printed, {} for none."""

    code: int
    said: str
    answer: dict[str, Any]

    @property
    def verdicts(self) -> dict[str, str]:
        """``verdict`` or ``verdict: reason`` of each finding that is about a declared hint, by ``tool hint``."""
        return {
            f"{tool['name']} {finding['hint']}": ": ".join(
                filter(None, [finding["verdict"], finding["reason"]])
            )
            for tool in self.answer["tools"]
            for finding in tool["findings"]
            if finding["declared"] is not None and finding["verdict"] != "moot"
        }

    def effects(self, tool: str, hint: str) -> set[str]:
        """What a finding rests on, as ``kind subject``."""
        (finding,) = (
            finding
            for each in self.answer["tools"]
            for finding in each["findings"]
            if (each["name"], finding["hint"]) == (tool, hint)
        )
        return {
            f"{effect['kind']} {effect['subject']}"
            for proof in finding["evidence"]
            for effect in proof["effects"]
        }


def hintproof(*words: str, cwd: Path, **variables: str) -> Ran:
    """Run a command; images are unpacked in a cache below ``cwd`` on the local host."""
    done = subprocess.run(
        [sys.executable, "-m", "sandbox", *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(cwd / "cache"), **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return Ran(done.returncode, done.stderr, json.loads(done.stdout) if done.stdout.startswith("{") else {})


def verify(host: str, *target: str, cwd: Path, options: tuple[str, ...] = (), **variables: str) -> Ran:
    """``hintproof verify``, for its JSON report."""
    return hintproof(
        "verify", "--json", "--host", host, "--runs", f"runs-{host}", *options, *target, cwd=cwd, **variables
    )


def reply(
    host: str, tool: str, *target: str, cwd: Path, options: tuple[str, ...] = (), **variables: str
) -> str:
    """What a tool answers to its first call."""
    ran = hintproof(
        "investigate", tool, "--json", "-q", "--host", host, "--runs", f"runs-{host}", *options, "--", *target,
        cwd=cwd, **variables,
    )  # fmt: skip
    assert ran.answer, ran.said
    steps = [step for trial in ran.answer["trials"] for step in trial["steps"] if step["reply"]]
    return str(steps[0]["reply"]["text"])


def scratch_layers(server: bytes, owner: tuple[int, int]) -> list[bytes]:
    """The layers of an image from scratch: one program, and what it works on."""
    return [
        layer(entry("server", server, mode=0o755)),
        layer(
            folder("data", 0o755, owner),
            entry("data/shipped.txt", SHIPPED, owner=owner),
            folder("etc"),
            entry("etc/settings.conf", b"a = b\n"),
        ),
    ]


def scratch_archive(
    server: bytes, user: str = "", owner: tuple[int, int] = (0, 0), **config: object
) -> bytes:
    """``docker save`` of that image, without Docker."""
    layers = scratch_layers(server, owner)
    told: Mapping[str, object] = {"Entrypoint": ["/server"], "User": user, **config}
    return docker_archive(layers, config_of(layers, **told))
