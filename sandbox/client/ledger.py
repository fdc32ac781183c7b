"""The requests under way: when each was written, and the answer to it exactly as it came."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.model import Json

_REMEMBERED = 1024
"""Abandoned ids kept, so that an answer that comes too late is told from a second answer."""


@dataclass(slots=True)
class Waiting:
    """One request that we sent. Times are CLOCK_MONOTONIC in nanoseconds, 0 until it happened.

    ``response`` is the whole JSON-RPC response; ``malformed`` says why it is none, where it is none.
    """

    id: int
    method: str
    tool: str | None
    written_ns: int = 0
    answered_ns: int = 0
    response: Mapping[str, Json] | None = None
    malformed: str = ""


class Ledger:
    """Mints request ids and correlates what comes back."""

    def __init__(self) -> None:
        self._last = 0
        self._open: dict[int, Waiting] = {}
        self._abandoned: OrderedDict[int, None] = OrderedDict()

    def open(self, method: str, tool: str | None = None) -> Waiting:
        """A new request. Close it when its answer is no longer waited for."""
        self._last += 1
        waiting = Waiting(self._last, method, tool)
        self._open[waiting.id] = waiting
        return waiting

    def close(self, waiting: Waiting) -> None:
        """Stop waiting; an unanswered request counts as abandoned."""
        self._open.pop(waiting.id, None)
        if not waiting.answered_ns:
            self._abandoned[waiting.id] = None
            if len(self._abandoned) > _REMEMBERED:
                self._abandoned.popitem(last=False)

    def wrote(self, request_id: Json) -> None:
        """The request's bytes are with the transport."""
        if isinstance(request_id, int) and (waiting := self._open.get(request_id)) is not None:
            waiting.written_ns = time.monotonic_ns()

    def unanswered(self, request_id: Json) -> Waiting | None:
        """The request that a response with this id would answer, if it is still waited for."""
        if isinstance(request_id, bool) or not isinstance(request_id, int):
            return None
        waiting = self._open.get(request_id)
        return waiting if waiting is not None and not waiting.answered_ns else None

    def why_unexpected(self, request_id: Json) -> str:
        """The remark's code for a response that nobody waits for."""
        if (
            isinstance(request_id, bool)
            or not isinstance(request_id, int)
            or not 0 < request_id <= self._last
        ):
            return "unknown-response"
        return "late-response" if request_id in self._abandoned else "duplicate-response"

    @property
    def tool(self) -> str | None:
        """The tool whose call is under way, or None where it is not exactly one."""
        tools = {waiting.tool for waiting in self._open.values() if waiting.tool is not None}
        return tools.pop() if len(tools) == 1 else None
