"""The section of RESULTS.md on labelled servers of public registries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from labels import Compared, Label

VERIFIED = ("verified", "contradicted")


def section(compared: Sequence[Compared], batch: Mapping[str, Any]) -> str:
    """Figures, a row for each server, and every label that was missed or accused."""
    lines = [
        "## Servers of public registries",
        "",
        "By `benchmarks/corpus --labels DIR`: servers of npm and PyPI at exact versions, installed by hintproof and verified offline"
        " in one batch. A *lie* is a claim that its hand-made label calls wrong, a *true claim* one that it calls right.",
        "",
        *_figures(compared, batch),
        "",
        "| server | class | tools accepted | lies found | false alarms | time | why |",
        "|---|---|---|---|---|---|---|",
        *map(_row, compared),
        "",
        *_labels("Lies that were not found", _named(compared, "missed")),
        *_labels("True claims that were accused", _named(compared, "alarms")),
        *_unlabelled(compared),
    ]
    return "\n".join(lines) + "\n"


def _figures(compared: Sequence[Compared], batch: Mapping[str, Any]) -> list[str]:
    verified = [one for one in compared if one.server_class in VERIFIED]
    classes = Counter(one.server_class for one in compared)
    listed, accepted = sum(one.listed for one in verified), sum(one.accepted for one in verified)
    rows = ["| what | all | from |", "|---|---|---|"]
    counts = ", ".join(f"{count} {server_class}" for server_class, count in classes.most_common())
    rows.append(f"| servers accounted for | {len(compared)} | {counts} |")
    found = _of(compared, "found")
    lies = [*found, *_of(compared, "missed")]
    here = [*_of(verified, "found"), *_of(verified, "missed")]
    seen = [label for label in here if label.basis != "inferred"]
    rows.append(
        f"| lies found | {_share(len(found), len(lies))} | of servers that were verified {_share(len(found), len(here))};"
        f" of labels not merely inferred {_share(sum(label in seen for label in found), len(seen))} |"
    )
    alarms, claims = len(_of(verified, "alarms")), sum(one.true_claims for one in verified)
    rows.append(f"| false alarms | {_share(alarms, claims)} | of true claims of servers that were verified |")
    labelled = sum(len(one.server.tools) for one in compared)
    rows.append(
        f"| tools accepted at least once | {_share(accepted, listed)} | of tools that verified servers list;"
        f" {_share(accepted, labelled)} of the labelled ones |"
    )
    spent = sum(one.seconds for one in compared) / 60
    bound = _bound(batch["invocation"])
    rows.append(
        f"| time of all servers together | {spent:.0f} min | installations included, jobs {batch['jobs']}{bound} |"
    )
    return rows


def _bound(invocation: Sequence[str]) -> str:
    words = list(invocation)
    return f", budget {words[words.index('--budget') + 1]}" if "--budget" in words else ""


def _row(one: Compared) -> str:
    lies = len(one.found) + len(one.missed)
    cells = [
        one.server.name,
        one.server_class,
        f"{one.accepted} of {one.listed or len(one.server.tools)}",
        f"{len(one.found)} of {lies}" if lies else "",
        str(len(one.alarms) or ""),
        f"{one.seconds:.0f} s",
        "" if one.server_class in VERIFIED else one.why[:160],
    ]
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return (
        "".join(each if each.isprintable() else " " for each in text).replace("|", "\\|").replace("<", "&lt;")
    )


def _named(compared: Iterable[Compared], which: str) -> list[str]:
    return [
        f"{one.server.name}: {label.tool} {label.hint}" + (f" ({label.basis})" if label.basis else "")
        for one in compared
        if one.server_class in VERIFIED
        for label in getattr(one, which)
    ]


def _of(compared: Iterable[Compared], which: str) -> list[Label]:
    return [label for one in compared for label in getattr(one, which)]


def _labels(heading: str, lines: Sequence[str]) -> list[str]:
    return [f"{heading}:", "", *(f"- {_cell(line)}" for line in lines), ""] if lines else []


def _unlabelled(compared: Sequence[Compared]) -> list[str]:
    lines = [f"{one.server.name}: {tool} {hint}" for one in compared for tool, hint in one.unlabelled]
    return _labels("Contradictions of claims that no label judges", lines)


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.1f}%)" if whole else "none"
