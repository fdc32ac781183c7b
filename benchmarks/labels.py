"""Servers of public registries whose tools were labelled by hand: read from npm.csv and pypi.csv, and compared with a batch.

A label says what each hint truly is. Four declared values claim something (read-only true, destructive false,
idempotent true, open-world false): where the truth is the other value the claim is a *lie*, and where it is the same
the claim is *true*. Claims whose truth the label leaves open, or whose row it calls unsure, count as neither.
"""

from __future__ import annotations

import csv
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CLAIMS = {"readOnly": "true", "destructive": "false", "idempotent": "true", "openWorld": "false"}
"""The value of each hint that claims something."""

_OTHER = {"true": "false", "false": "true"}

HOME = "/home/user"
"""The home of a server in its box."""


@dataclass(frozen=True, slots=True)
class Label:
    """One claim of one tool: whether it is a lie, and what the judgement rests on (``probe``, ``code``, ``inferred`` or
    "" where it is not said)."""

    tool: str
    hint: str
    lie: bool
    basis: str


@dataclass(frozen=True, slots=True)
class Labelled:
    """One server of the list: its package, how it is launched, and its labels. ``tools`` are all that the list names."""

    name: str
    ecosystem: str
    package: str
    version: str
    launch: tuple[str, ...]
    env: Mapping[str, str]
    tools: tuple[str, ...]
    labels: tuple[Label, ...]

    def line(self, places: Mapping[str, str]) -> str:
        """The server as a line of a ``--targets`` file; ``places`` fill ``{workspace}`` and the like."""
        filled = {name: _filled(value, places) for name, value in self.env.items()}
        words = [word for name, value in filled.items() for word in ("-e", f"{name}={value}")]
        given = [word for word in self._arguments() if "{" not in _filled(word, places)]
        arguments = [_filled(word, places) for word in given]
        if not any("{workspace}" in word for word in given):
            words += ["--workspace", places["workspace"]]
        if self.ecosystem == "npm":
            words += [f"npm:{self.package}@{self.version}", "--"]
        elif self.launch[0] == self.package:
            words += [f"pypi:{self.package}=={self.version}", "--"]
        else:  # a program of another name
            words += ["--", "uvx", "--from", f"{self.package}=={self.version}", self.launch[0]]
        return shlex.join([*words, *arguments])

    def _arguments(self) -> Sequence[str]:
        """The server's own words: of npm, those after the script that node runs."""
        words = list(self.launch[2:] if self.ecosystem == "npm" else self.launch[1:])
        at = next((i for i, word in enumerate(words) if word == "{chromium}"), None)
        if at is not None:  # the flag goes with the browser, which a box has or has not
            del words[at - 1 : at + 1]
        return words


def read_labels(folder: Path) -> list[Labelled]:
    """All servers of both lists, in their order. Raises OSError and KeyError where a list is not there or not of this form."""
    found: list[Labelled] = []
    for ecosystem in ("npm", "pypi"):
        with (folder / f"{ecosystem}.csv").open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for name in dict.fromkeys(row["server"] for row in rows):
            own = [row for row in rows if row["server"] == name]
            found.append(
                Labelled(
                    name=name,
                    ecosystem=ecosystem,
                    package=own[0]["package"],
                    version=own[0]["version"],
                    launch=tuple(shlex.split(own[0]["launch"])),
                    env=dict(word.split("=", 1) for word in shlex.split(own[0]["env"])),
                    tools=tuple(row["tool"] for row in own),
                    labels=tuple(label for row in own for label in _labels(row)),
                )
            )
    return found


def _labels(row: Mapping[str, str]) -> Iterator[Label]:
    if row["contradiction"] == "unsure":
        return
    for hint, claim in CLAIMS.items():
        moot = hint in ("destructive", "idempotent") and row["declared_readOnly"] == "true"
        if row[f"declared_{hint}"] != claim or moot:
            continue
        truth = row[f"true_{hint}"]
        lie = truth == _OTHER[claim]
        if truth == claim or (lie and row["contradiction"] == "yes"):
            yield Label(row["tool"], f"{hint}Hint", lie, row.get("evidence") or "")


@dataclass(frozen=True, slots=True)
class Compared:
    """One server's labels beside what was found; ``server_class`` is its class in the batch."""

    server: Labelled
    server_class: str
    why: str
    seconds: float
    accepted: int
    listed: int
    found: tuple[Label, ...]
    missed: tuple[Label, ...]
    alarms: tuple[Label, ...]
    unlabelled: tuple[tuple[str, str], ...]
    """Tool and hint of contradictions that the labels say nothing of."""

    @property
    def true_claims(self) -> int:
        """How many claims that are true could have been accused."""
        return sum(not label.lie for label in self.server.labels)


def compare(server: Labelled, target: Mapping[str, Any]) -> Compared:
    """One target of the batch's JSON document beside its labels."""
    report = target["report"] or {"tools": []}
    accused = {
        (finding["tool"], finding["hint"])
        for tool in report["tools"]
        for finding in tool["findings"]
        if finding["verdict"] == "contradicted" and finding["confidence"] != "possible"
    }
    lies = [label for label in server.labels if label.lie]
    known = {(label.tool, label.hint) for label in server.labels}
    return Compared(
        server=server,
        server_class=target["class"],
        why=target["why"] or "",
        seconds=target["duration_ms"] / 1000,
        accepted=target["tools"]["accepted"],
        listed=target["tools"]["listed"],
        found=tuple(label for label in lies if (label.tool, label.hint) in accused),
        missed=tuple(label for label in lies if (label.tool, label.hint) not in accused),
        alarms=tuple(
            label for label in server.labels if not label.lie and (label.tool, label.hint) in accused
        ),
        unlabelled=tuple(sorted(accused - known)),
    )


def _filled(word: str, places: Mapping[str, str]) -> str:
    for name, place in places.items():
        word = word.replace(f"{{{name}}}", place)
    return word
