"""A conversation with one server: list its tools, call them, and tell what was odd about it."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Any

import anyio
from mcp import ClientSession
from mcp.client.session import ClientRequestContext
from mcp.shared.inbound import find_invalid_x_mcp_header, mcp_param_headers, x_mcp_header_map
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import (
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequestParams,
    ElicitResult,
    ListRootsResult,
)

from sandbox.client.answers import answer_elicitation, answer_input, answer_roots, answer_sampling
from sandbox.client.channel import Answer, Channel, Ended
from sandbox.client.eras import Greeting, greet
from sandbox.client.intake import Intake
from sandbox.client.listing import list_tools
from sandbox.client.notices import Notices
from sandbox.client.pipes import PipeReader, PipeWriter, hang_up
from sandbox.client.replies import read_reply
from sandbox.client.settings import ClientSettings, ToolListing
from sandbox.client.tasks import call_as_task
from sandbox.client.wire import WireLog
from sandbox.model import Call, Json, Outcome, Remark, Reply, ServerFacts, Tool

_MAX_ROUNDS = 10
"""Rounds of ``input_required`` that one call is answered; the SDKs use the same bound."""

_ROUND_PAUSE_S = 0.05
"""Before repeating a call that asked for nothing but to be repeated."""

for _name in ("mcp", "client"):
    # The SDK logs what a hostile server sends, and loggers without a handler print it to standard error.
    logging.getLogger(_name).addHandler(logging.NullHandler())


class Conversation:
    """An open conversation. Made by :func:`converse` or ``converse_http``; calls may come from any task.

    ``facts`` is what the server said of itself, ``capabilities`` its raw capabilities, ``wire`` the
    bounded evidence log, ``notices`` the notifications so far.
    """

    def __init__(self, channel: Channel, greeting: Greeting, wire: WireLog, settings: ClientSettings) -> None:
        self.facts: ServerFacts = greeting.facts
        self.capabilities: Mapping[str, Json] = greeting.capabilities
        self.wire = wire
        self._channel = channel
        self._settings = settings

    @property
    def notices(self) -> Notices:
        """What the server told without being asked: counts by method, the last log messages."""
        return self._channel.intake.notices

    def remarks(self) -> tuple[Remark, ...]:
        """Everything odd so far, each once and counted."""
        return self._channel.intake.remarks.all()

    async def list_tools(self) -> ToolListing:
        """All tools, raw, every page. Each page may take as long as the handshake.

        Raises:
            ServerStartError: the server hung up or fell silent before its first page.
        """
        listing = await list_tools(self._channel, self._settings.handshake_timeout_s)
        self.facts = dataclasses.replace(self.facts, tool_count=len(listing.tools))
        return listing

    async def call(self, call: Call, tool: Tool, timeout_ms: float) -> Reply:
        """Make one call. Whatever the server does is in the reply; only cancellation is raised.

        Beyond the reasons of ``Reply``, a refusal's may be ``malformed-response`` (an answer that is no
        JSON-RPC: ``raw`` is the message) or ``input-required`` (the server asked for input without end).
        """
        if tool.needs_task and self.facts.era == "legacy":
            task = await call_as_task(self._channel, call.tool, call.arguments, timeout_ms / 1000)
            return read_reply(task.answer, task.written_ns)
        return await self._call_in_rounds(call, tool, timeout_ms / 1000)

    async def _call_in_rounds(self, call: Call, tool: Tool, timeout_s: float) -> Reply:
        """A plain call, repeated with the client's input for as long as the modern era's server asks for it."""
        deadline = time.monotonic() + timeout_s
        params: dict[str, Json] = {"name": call.tool, "arguments": dict(call.arguments)}
        headers = self._param_headers(call, tool)
        left, written_ns = timeout_s, 0
        for _ in range(_MAX_ROUNDS + 1):
            answer = await self._channel.ask("tools/call", params, left, tool=call.tool, headers=headers)
            written_ns = written_ns or answer.written_ns
            if not self._wants_input(answer):
                return read_reply(answer, written_ns)
            left = deadline - time.monotonic()
            if left <= _ROUND_PAUSE_S:
                return read_reply(Answer(Ended.TIMED_OUT, {}, ended_ns=time.monotonic_ns()), written_ns)
            params = await self._with_input(params, answer.body, call.tool)
        reply = read_reply(answer, written_ns)
        return dataclasses.replace(reply, outcome=Outcome.REFUSED, reason="input-required")

    def _wants_input(self, answer: Answer) -> bool:
        return (
            self.facts.era == "modern"
            and answer.ended is Ended.RESULT
            and answer.body.get("resultType") == "input_required"
        )

    async def _with_input(
        self, params: Mapping[str, Json], asked: Mapping[str, Json], tool: str
    ) -> dict[str, Json]:
        remarks = self._channel.intake.remarks
        remarks.add("input-required", "asks for input in rounds; the answers were canned", tool)
        again: dict[str, Json] = {"name": params["name"], "arguments": params["arguments"]}
        if isinstance(state := asked.get("requestState"), str):
            again["requestState"] = state
        requests = asked.get("inputRequests")
        responses: dict[str, Json] = {}
        for key, request in requests.items() if isinstance(requests, dict) else ():
            method = request.get("method") if isinstance(request, dict) else None
            asked_params = request.get("params") if isinstance(request, dict) else None
            response = answer_input(
                str(method), asked_params if isinstance(asked_params, dict) else {}, self._settings.roots
            )
            if response is not None:
                responses[key] = response
        if responses:
            again["inputResponses"] = responses
        else:
            await anyio.sleep(_ROUND_PAUSE_S)
        return again

    def _param_headers(self, call: Call, tool: Tool) -> dict[str, str]:
        """The arguments that ``x-mcp-header`` wants mirrored (2026-07-28, Streamable HTTP only)."""
        if self.facts.era != "modern" or self.facts.transport != "http":
            return {}
        schema = dict(tool.input_schema)
        if find_invalid_x_mcp_header(schema) is not None:
            return {}
        return mcp_param_headers(x_mcp_header_map(schema), call.arguments)


@asynccontextmanager
async def converse(stdout_fd: int, stdin_fd: int, *, settings: ClientSettings) -> AsyncIterator[Conversation]:
    """Hold a conversation over the two descriptors of a running server.

    ``stdin_fd`` is taken over: leaving closes it (EOF on standard input is MCP's goodbye) and waits for
    nothing. ``stdout_fd`` stays the caller's. One socket may be both.

    Raises:
        HandshakeError: the server did not answer the handshake of ``settings.era``; the message says what was
            seen, ``other_era`` whether a fresh launch in the other era is worth a try.
    """
    wire = WireLog(settings.wire_bytes)
    intake = Intake(wire)
    writer = PipeWriter(stdin_fd, intake, wire)
    try:
        reader = PipeReader(stdout_fd, intake, settings.max_line)
        dispatcher = JSONRPCDispatcher(reader, writer)
        carried = Carried()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(writer.drain)
            with carried:
                async with speak(dispatcher, intake, wire, settings, "stdio") as conversation:
                    yield conversation
            tasks.cancel_scope.cancel()
        carried.release()
    finally:
        if stdin_fd == stdout_fd:
            hang_up(stdin_fd)
        else:
            writer.close()


@asynccontextmanager
async def speak(
    dispatcher: JSONRPCDispatcher[Any],
    intake: Intake,
    wire: WireLog,
    settings: ClientSettings,
    transport: str,
) -> AsyncIterator[Conversation]:
    """Run the SDK's session on a dispatcher, make the handshake and hand out the conversation."""

    # The SDK calls these with positional arguments, but its protocols name them.
    async def sample(
        context: ClientRequestContext,  # noqa: ARG001
        params: CreateMessageRequestParams,  # noqa: ARG001
    ) -> CreateMessageResult:
        return CreateMessageResult.model_validate(answer_sampling())

    async def elicit(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:  # noqa: ARG001
        return ElicitResult.model_validate(answer_elicitation(params.model_dump(by_alias=True)))

    async def roots(context: ClientRequestContext) -> ListRootsResult:  # noqa: ARG001
        return ListRootsResult.model_validate(answer_roots(settings.roots))

    session = ClientSession(
        dispatcher=dispatcher,
        sampling_callback=sample,
        elicitation_callback=elicit,
        list_roots_callback=roots,
    )
    channel = Channel(dispatcher, intake)
    carried = Carried()
    async with session:
        with carried:
            greeting = await greet(channel, session, settings, transport)
            yield Conversation(channel, greeting, wire, settings)
    carried.release()


class Carried:
    """Carries the body's exception past task groups, which would wrap it in an ExceptionGroup."""

    def __init__(self) -> None:
        self._error: Exception | None = None

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, Exception):
            self._error = error
            return True
        return False

    def release(self) -> None:
        """Raise what was carried, if anything."""
        if self._error is not None:
            raise self._error
