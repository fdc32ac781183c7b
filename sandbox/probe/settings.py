"""How much a run probes, in calls, boxes and milliseconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProbeSettings:
    """The bounds of a run. The defaults hold a 14-tool server under about half a minute on two cores.

    ``calls`` is how many argument sets one tool gets while nothing changes; ``dirty_boxes`` how many of them
    may cost a box each because they changed something. ``tool_ms`` ends a tool's sweep once something was
    accepted. ``idle_ms`` is the control before the first call of a box, ``settle_ms`` the long idle that ends
    a shared box, ``dirty_settle_ms`` the one that ends the first box that a tool changed. ``prepare_calls``
    bounds the calls that make something for a tool to work on, ``prepared_calls`` its own calls after them.
    ``shrinks`` bounds the boxes spent on smaller arguments for one contradiction. ``budget_s`` and
    ``budget_calls`` bound the whole run (0: no bound).
    """

    seed: int = 0
    calls: int = 14
    dirty_boxes: int = 4
    call_timeout_ms: float = 15_000
    tool_ms: float = 6_000
    idle_ms: float = 120
    settle_ms: float = 1_800
    dirty_settle_ms: float = 700
    confirm_idle_ms: float = 600
    prepare_calls: int = 6
    prepared_calls: int = 6
    shrinks: int = 5
    budget_s: float = 0
    budget_calls: int = 0
