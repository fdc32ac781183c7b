"""One row of the table: a goal, what was measured, and whether it is within the rule."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass

TOLERANCE = 1.5
"""A figure beyond this many times its goal fails the run, where the row is decisive."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number beside its goal.

    ``at_most`` tells which side of the goal is good; ``decisive`` rows fail the run beyond the tolerance.
    ``detail`` is one line of what the number was made from.
    """

    what: str
    goal: float
    measured: float
    unit: str = ""
    detail: str = ""
    at_most: bool = True
    decisive: bool = True

    @property
    def verdict(self) -> str:
        """``yes``, ``nearly`` (within the tolerance) or ``no``."""
        if self.measured <= self.goal if self.at_most else self.measured >= self.goal:
            return "yes"
        near = self.measured <= self.goal * TOLERANCE if self.at_most else False
        return "nearly" if near else "no"

    @property
    def fails(self) -> bool:
        """Whether this figure alone fails the run."""
        return self.decisive and self.verdict == "no"


def table(figures: Iterable[Figure]) -> str:
    """The figures as a Markdown table."""
    rows = ["| what | goal | measured | within | from |", "|---|---|---|---|---|", *map(row, figures)]
    return "\n".join(rows)


def row(figure: Figure) -> str:
    """One row of :func:`table`."""
    bound = "at most" if figure.at_most else "at least"
    return (
        f"| {figure.what} | {bound} {_number(figure.goal, figure.unit)} | {_number(figure.measured, figure.unit)} "
        f"| {figure.verdict} | {figure.detail} |"
    )


def median(values: Iterable[float]) -> float:
    """The median; one value is its own."""
    return statistics.median(list(values))


def _number(value: float, unit: str) -> str:
    if unit == "%":
        return f"{value:.1f}%"
    text = f"{value:.2f}" if value < 10 else f"{value:.0f}" if value >= 100 else f"{value:.1f}"
    return f"{text} {unit}".strip()
