"""One target to one report: list, probe, judge, save."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase

from sandbox.config import AllowRule
from sandbox.errors import NothingVerifiedError
from sandbox.events import (
    CallFinished,
    FindingMade,
    Listener,
    Progress,
    RemarkMade,
    RunFinished,
    RunStarted,
    ServerListed,
    ToolFinished,
    ToolStarted,
)
from sandbox.evidence.runs import RunFolder
from sandbox.judge import allow, claims, report_tool
from sandbox.model import (
    Hint,
    Hints,
    Instrument,
    Json,
    Remark,
    Report,
    ServerFacts,
    Step,
    Tool,
    ToolEvidence,
    ToolReport,
)
from sandbox.policy import PROFILES, Profile, Reason
from sandbox.probe.boxes import BoxKeeper, WireLines
from sandbox.probe.course import Course
from sandbox.probe.live import lasting
from sandbox.probe.settings import ProbeSettings
from sandbox.probe.stage import Stage, StageSettings, staged
from sandbox.targets.launch import Launch


@dataclass(frozen=True, slots=True)
class VerifyOptions:
    """What a verification is asked for.

    ``tools`` are name patterns (``fnmatch``; empty: all), ``examples`` argument sets of the user by tool
    name, ``closed_world`` hosts that count as the server's own, ``allow`` effects that the user accepts.
    """

    target: str
    invocation: tuple[str, ...]
    profile: Profile
    probe: ProbeSettings
    stage: StageSettings
    tools: tuple[str, ...] = ()
    closed_world: tuple[str, ...] = ()
    allow: tuple[AllowRule, ...] = ()
    examples: Mapping[str, tuple[dict[str, Json], ...]] = field(default_factory=dict)


class _Verification:
    """One run while it goes on."""

    def __init__(self, launch: Launch, options: VerifyOptions, folder: RunFolder, listener: Listener) -> None:
        self._launch = launch
        self._options = options
        self._folder = folder
        self._tell = listener
        self._started = time.monotonic()
        self._started_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._reports: dict[str, ToolReport] = {}
        self._evidence: dict[str, ToolEvidence] = {}
        self._remarks: dict[tuple[str, str, str | None], Remark] = {}
        self._missing: set[Instrument] = set()
        self._index = 0
        self._of = 0

    async def run(self) -> Report:
        self._tell(RunStarted(self._folder.path.name, self._options.target, self._launch.command))
        async with staged(self._launch, self._options.stage) as stage:
            for note in stage.notes:
                self._remark(Remark("target", note))
            self._tell(Progress("starting the server"))
            first = await stage.pool.take()
            listing = await first.conversation.list_tools()
            again = await first.conversation.list_tools()
            for remark in listing.remarks:
                self._remark(remark)
            tools = self._chosen(listing.tools)
            facts = dataclasses.replace(first.conversation.facts, tool_count=len(listing.tools))
            self._tell(ServerListed(facts, listing.tools))
            if not tools:
                raise NothingVerifiedError(self._nothing(listing.tools))
            self._of = len(tools)
            tools = tuple(_strongest(tool, _same(tool, again.tools)) for tool in tools)
            unstable = {tool.name for tool in tools if _differs(tool, _same(tool, again.tools))}
            keeper = BoxKeeper(stage.pool, stage.collector, self._options.probe, self._box_done)
            course = Course(
                keeper,
                stage.surroundings,
                PROFILES.values(),
                on_finish=lambda evidence: self._finish_in(stage, _noted(evidence, unstable)),
                closed_world=self._options.closed_world,
                examples=self._options.examples,
                on_start=self._tool_started,
                on_call=self._call_finished,
            )
            await course.run(tools, first)
            await self._list_once_more(stage, tools)
            for effect in lasting(keeper.startup_effects):
                self._remark(Remark("startup-effect", f"When it started: {effect.summary}"))
        return self._report(facts, tools)

    async def _list_once_more(self, stage: Stage, tools: tuple[Tool, ...]) -> None:
        """List on another connection: hints that differ there make the strongest claim count."""
        stage.pool.stop_warming()
        session = await stage.pool.take()
        listing = await session.conversation.list_tools()
        for tool in tools:
            other = _same(tool, listing.tools)
            if _differs(tool, other) and tool.name in self._evidence:
                evidence = self._evidence[tool.name]
                stronger = dataclasses.replace(evidence, tool=_strongest(tool, other))
                self._finish(_noted(stronger, {tool.name}))
        await stage.pool.give_back(session)

    def _chosen(self, tools: tuple[Tool, ...]) -> tuple[Tool, ...]:
        patterns = self._options.tools
        if not patterns:
            return tools
        return tuple(tool for tool in tools if any(fnmatchcase(tool.name, pattern) for pattern in patterns))

    def _nothing(self, listed: tuple[Tool, ...]) -> str:
        if not listed:
            return "The server lists no tools, so there is nothing to verify. Does it need an option or a key (-e)?"
        names = ", ".join(tool.name for tool in listed[:20])
        return f"No tool matches {' '.join(self._options.tools)!r}. The server lists: {names}."

    def _tool_started(self, tool: Tool) -> None:
        self._index += 1
        self._tell(ToolStarted(tool.name, self._index, self._of))

    def _call_finished(self, step: Step) -> None:
        if step.call is not None and step.reply is not None:
            self._tell(CallFinished(step.call, step.reply, len(step.effects)))

    def _box_done(
        self,
        name: str,
        remarks: tuple[Remark, ...],
        wire: WireLines,
        missing: frozenset[Instrument],
    ) -> None:
        for remark in remarks:
            self._remark(remark)
        self._missing |= missing
        self._folder.save_wire(name, wire)

    def _remark(self, remark: Remark) -> None:
        key = (remark.code, remark.text, remark.tool)
        if key not in self._remarks:
            self._remarks[key] = remark
            self._tell(RemarkMade(remark))

    def _finish_in(self, stage: Stage, evidence: ToolEvidence) -> None:
        """Finish a tool and keep the content that its findings cite."""
        report = self._finish(evidence)
        cited = (
            effect for finding in report.findings for each in finding.evidence for effect in each.effects
        )
        stage.content.save(digest for effect in cited for digest in (effect.before, effect.after) if digest)

    def _finish(self, evidence: ToolEvidence) -> ToolReport:
        self._evidence[evidence.tool.name] = evidence
        self._folder.save_tool(evidence)
        judged, remarks = allow(evidence, self._options.allow, date.today())  # noqa: DTZ011 - the user's own day
        for remark in remarks:
            self._remark(remark)
        report = self._reports[evidence.tool.name] = report_tool(judged, self._options.profile)
        for finding in report.findings:
            self._tell(FindingMade(finding))
        self._tell(ToolFinished(report))
        return report

    def _unreached(self, tools: tuple[Tool, ...]) -> tuple[str, ...]:
        """What a reader would otherwise have to notice missing: tools without a report, or without an accepted call."""
        missing = (f"{tool.name}: was not probed" for tool in tools if tool.name not in self._reports)
        refused = (
            f"{name}: no call was accepted" for name, each in self._reports.items() if not each.accepted
        )
        return (*missing, *refused)

    def _report(self, facts: ServerFacts, tools: tuple[Tool, ...]) -> Report:
        reports = tuple(self._reports[tool.name] for tool in tools if tool.name in self._reports)
        working = tuple(i for i in Instrument if i not in self._missing)
        report = Report(
            run=self._folder.path.name,
            target=self._options.target,
            command=self._launch.command,
            invocation=self._options.invocation,
            server=facts,
            seed=self._options.probe.seed,
            profile=self._options.profile.name,
            started_at=self._started_at,
            duration_ms=(time.monotonic() - self._started) * 1000,
            instruments=working,
            missing=tuple((i, "lost records in at least one box") for i in Instrument if i in self._missing),
            tools=reports,
            remarks=tuple(self._remarks.values()),
            unreached=self._unreached(tools),
            versions=self._launch.versions,
            digests=self._launch.digests,
            installation=self._launch.installation,
        )
        self._tell(RunFinished(report))
        return report


async def verify(launch: Launch, options: VerifyOptions, folder: RunFolder, listener: Listener) -> Report:
    """Verify one server: every tool called, repeated, judged; evidence saved as tools finish.

    Raises:
        NoSandboxError: no sandbox works on this machine.
        ServerStartError: the server could not be started or spoken to.
        NothingVerifiedError: it lists no tools, or none of those asked for.
    """
    return await _Verification(launch, options, folder, listener).run()


def _same(tool: Tool, others: tuple[Tool, ...]) -> Tool | None:
    return next((other for other in others if other.name == tool.name), None)


def _differs(tool: Tool, other: Tool | None) -> bool:
    return other is None or other.hints != tool.hints


def _strongest(tool: Tool, other: Tool | None) -> Tool:
    """The tool with the strongest claim of the two listings for each hint (design, section 3, rule 6)."""
    if other is None or other.hints == tool.hints:
        return tool
    strongest = (
        there if claims(hint, there := other.hints.of(hint)) else tool.hints.of(hint) for hint in Hint
    )
    return dataclasses.replace(tool, hints=Hints(*strongest))


def _noted(evidence: ToolEvidence, unstable: set[str]) -> ToolEvidence:
    if evidence.tool.name not in unstable:
        return evidence
    note = (
        Reason.UNSTABLE_DEFINITION,
        "The tool's hints differ between two listings; the strongest claim is judged.",
    )
    return dataclasses.replace(evidence, notes=(*evidence.notes, note))
