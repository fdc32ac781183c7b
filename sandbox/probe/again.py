"""A trial once more, in a fresh box: the same preparations, the same kinds of steps, a call of choice."""

from __future__ import annotations

from sandbox.model import Call, Purpose, Step, StepKind, Tool, Trial
from sandbox.probe.boxes import BoxKeeper


async def again(
    keeper: BoxKeeper,
    tool: Tool,
    trial: Trial,
    call: Call,
    purpose: Purpose,
    *,
    confirms: str = "",
    first: tuple[Tool, Call] | None = None,
    rest_ms: float = 0,
) -> Trial:
    """Run the steps of ``trial`` in a fresh box, with ``call`` in place of its call.

    ``first`` is a call of another tool to make before, in place of the trial's own preparations. The idle
    control is longer than in a probe, so that what happens by itself every now and then shows in it. After the
    preparations the box rests as long as in ``trial``, or for ``rest_ms``: what they do late is not the tool's.
    """
    settings = keeper.settings
    box = await keeper.fresh(settings.confirm_idle_ms)
    steps: list[Step] = []
    try:
        if first is not None:
            await box.call(StepKind.PREPARE, *first, settings.call_timeout_ms)
        for step in trial.steps:
            if not box.session.alive:
                break
            if step.kind is StepKind.PREPARE and first is not None:
                continue
            if step.kind is StepKind.PREPARE and step.call is None:
                await box.rest(step.duration_ms)
            elif step.kind is StepKind.PREPARE and step.call is not None:
                maker = tool if step.call.tool == tool.name else Tool.read({"name": step.call.tool})
                await box.call(StepKind.PREPARE, maker, step.call, settings.call_timeout_ms)
            elif step.kind in (StepKind.CALL, StepKind.REPEAT):
                if rest_ms and not steps:
                    await box.rest(rest_ms)
                steps.append(await box.call(step.kind, tool, call, settings.call_timeout_ms))
            elif step.kind is StepKind.SETTLE:
                steps.append(await box.idle(StepKind.SETTLE, step.duration_ms))
        return box.trial(tool, purpose, steps, confirms, number=keeper.number())
    finally:
        await keeper.discard(box)
