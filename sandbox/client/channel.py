"""Raw requests and answers over the SDK's dispatcher, with the stamp of the negotiated era on each."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import anyio
from mcp import MCPError
from mcp.shared.dispatcher import CallOptions
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    encode_header_value,
)
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    CONNECTION_CLOSED,
    LOG_LEVEL_META_KEY,
    PROTOCOL_VERSION_META_KEY,
    REQUEST_TIMEOUT,
)

from sandbox.client.answers import CAPABILITIES
from sandbox.client.intake import Intake
from sandbox.client.ledger import Waiting
from sandbox.model import Json

_GRACE_S = 2.0
"""Beyond a request's timeout, for an HTTP transport that is stuck before the dispatcher's clock starts."""


class Ended(Enum):
    """How a request ended."""

    RESULT = "result"
    ERROR = "error"
    MALFORMED = "malformed"
    TIMED_OUT = "timed-out"
    CLOSED = "closed"


@dataclass(frozen=True, slots=True)
class Answer:
    """One request's end: the raw ``result`` or ``error`` object, or the malformed message as it came.

    Times are CLOCK_MONOTONIC in nanoseconds: when the request was written (0 if never), when its answer came
    or when it was given up.
    """

    ended: Ended
    body: Mapping[str, Json]
    why: str = ""
    written_ns: int = 0
    ended_ns: int = 0


@dataclass(frozen=True, slots=True)
class Stamp:
    """What every request carries once the era is negotiated."""

    version: str
    client_info: Mapping[str, Json]
    modern: bool

    def params(self, params: Mapping[str, Json]) -> dict[str, Json]:
        """``params`` with the modern era's three ``_meta`` keys, and the opt-in for log messages."""
        if not self.modern:
            return dict(params)
        meta = params.get("_meta")
        return {
            **params,
            "_meta": {
                PROTOCOL_VERSION_META_KEY: self.version,
                CLIENT_CAPABILITIES_META_KEY: dict(CAPABILITIES),
                CLIENT_INFO_META_KEY: dict(self.client_info),
                LOG_LEVEL_META_KEY: "debug",
                **(meta if isinstance(meta, dict) else {}),
            },
        }

    def headers(self, method: str, params: Mapping[str, Json]) -> dict[str, str]:
        """The headers of Streamable HTTP; stdio ignores them."""
        headers = {MCP_PROTOCOL_VERSION_HEADER: self.version}
        if self.modern:
            headers[MCP_METHOD_HEADER] = method
            if isinstance(name := params.get("name"), str):
                headers[MCP_NAME_HEADER] = encode_header_value(name)
        return headers


class Channel:
    """Sends requests one knows the raw answer of. Never raises for the server's fault."""

    def __init__(self, dispatcher: JSONRPCDispatcher[Any], intake: Intake) -> None:
        self.intake = intake
        self.stamp: Stamp | None = None
        self._dispatcher = dispatcher

    async def ask(
        self,
        method: str,
        params: Mapping[str, Json],
        timeout_s: float,
        *,
        tool: str | None = None,
        headers: Mapping[str, str] | None = None,
        stamp: Stamp | None = None,
        cancellable: bool = True,
    ) -> Answer:
        """One request and its end, at the latest a moment after ``timeout_s`` seconds.

        ``tool`` asks for progress notifications. ``stamp`` is for the negotiation itself; a request
        that is not ``cancellable`` (the spec forbids it for the negotiation) is abandoned in silence.
        """
        stamp = stamp or self.stamp
        waiting = self.intake.ledger.open(method, tool)
        self.intake.request_opened()
        if tool is not None:
            params = {**params, "_meta": {"progressToken": waiting.id}}
        options: CallOptions = {
            "request_id": waiting.id,
            "timeout": max(timeout_s, 0.001),
            "cancel_on_abandon": cancellable,
        }
        if stamp is not None:
            options["headers"] = {**stamp.headers(method, params), **(headers or {})}
            params = stamp.params(params)
        code = REQUEST_TIMEOUT
        try:
            with anyio.move_on_after(timeout_s + _GRACE_S):
                await self._dispatcher.send_raw_request(method, params, options)
        except MCPError as error:
            code = error.error.code
        finally:
            self.intake.ledger.close(waiting)
        return _answer(waiting, code)

    async def notify(self, method: str) -> None:
        """Send a notification without params."""
        headers = self.stamp.headers(method, {}) if self.stamp else {}
        await self._dispatcher.notify(method, None, {"headers": headers})


def _answer(waiting: Waiting, code: int) -> Answer:
    """What the ledger knows of a request; ``code`` is the dispatcher's word where no answer came."""
    response = waiting.response
    written, answered = waiting.written_ns, waiting.answered_ns
    if response is None:
        # Codes of the dispatcher's own: no server sends them here, for those would be in the ledger.
        ended = Ended.CLOSED if code == CONNECTION_CLOSED else Ended.TIMED_OUT
        return Answer(ended, {}, "", written, time.monotonic_ns())
    if waiting.malformed:
        return Answer(Ended.MALFORMED, response, waiting.malformed, written, answered)
    for ended, key in ((Ended.ERROR, "error"), (Ended.RESULT, "result")):
        body = response.get(key)
        if isinstance(body, dict):
            return Answer(ended, body, "", written, answered)
    raise AssertionError("the intake let an answer pass that has neither a result nor an error")
