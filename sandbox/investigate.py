"""One suspected tool: every effect of every call, and the verdicts that follow from them."""

from __future__ import annotations

import difflib
import time

from sandbox.errors import UsageError
from sandbox.events import CallFinished, Listener, Progress, ServerListed, ToolStarted
from sandbox.evidence.runs import RunFolder
from sandbox.judge import report_tool
from sandbox.model import Instrument, Investigation, Json, Remark, Report, Step, Tool, ToolEvidence
from sandbox.policy import PROFILES, Profile
from sandbox.probe.boxes import BoxKeeper, WireLines
from sandbox.probe.course import Course
from sandbox.probe.settings import ProbeSettings
from sandbox.probe.stage import StageSettings, staged
from sandbox.targets.launch import Launch


async def investigate(
    launch: Launch,
    name: str,
    arguments: dict[str, Json] | None,
    *,
    target: str,
    invocation: tuple[str, ...],
    profile: Profile,
    probe: ProbeSettings,
    stage: StageSettings,
    closed_world: tuple[str, ...],
    folder: RunFolder,
    listener: Listener,
) -> Investigation:
    """Probe one tool with the given arguments, or with generated ones where none are given.

    The report is one for ``judge`` and ``replay``; ``target`` and ``invocation`` are only told in it.

    Raises:
        UsageError: the server lists no such tool; the message names the nearest ones.
        NoSandboxError, ServerStartError: as for ``verify``.
    """
    started = time.time()
    remarks: list[Remark] = []
    finished: list[ToolEvidence] = []

    def box_done(box: str, said: tuple[Remark, ...], wire: WireLines, _: object) -> None:
        remarks.extend(remark for remark in said if remark not in remarks)
        folder.save_wire(box, wire)

    def called(step: Step) -> None:
        if step.call is not None and step.reply is not None:
            listener(CallFinished(step.call, step.reply, len(step.effects)))

    async with staged(launch, stage) as ready:
        remarks += (Remark("target", note) for note in ready.notes)
        listener(Progress("starting the server"))
        first = await ready.pool.take()
        listing = await first.conversation.list_tools()
        listener(ServerListed(first.conversation.facts, listing.tools))
        tool = _find(name, listing.tools)
        listener(ToolStarted(tool.name, 1, 1))
        course = Course(
            BoxKeeper(ready.pool, ready.collector, probe, box_done),
            ready.surroundings,
            PROFILES.values(),
            on_finish=finished.append,
            closed_world=closed_world,
            examples={} if arguments is None else {tool.name: (arguments,)},
            on_call=called,
        )
        facts = first.conversation.facts
        await course.run((tool,), first)
    (evidence,) = finished
    folder.save_tool(evidence)
    working = {instrument for trial in evidence.trials for instrument in trial.instruments}
    report = Report(
        run=folder.path.name,
        target=target,
        command=launch.command,
        invocation=invocation,
        server=facts,
        seed=probe.seed,
        profile=profile.name,
        started_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(started)),
        duration_ms=(time.time() - started) * 1000,
        instruments=tuple(each for each in Instrument if each in working),
        missing=(),
        tools=(report_tool(evidence, profile),),
        remarks=tuple(remarks),
        versions=launch.versions,
        digests=launch.digests,
        installation=launch.installation,
    )
    return Investigation(report, evidence)


def _find(name: str, tools: tuple[Tool, ...]) -> Tool:
    for tool in tools:
        if tool.name == name:
            return tool
    near = difflib.get_close_matches(name, [tool.name for tool in tools], n=3, cutoff=0.4)
    names = ", ".join(near or [tool.name for tool in tools[:10]]) or "none at all"
    hint = f"Did you mean: {names}?" if near else f"It lists: {names}."
    raise UsageError(f"The server lists no tool {name!r}. {hint}")
