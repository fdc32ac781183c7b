"""The gate between the wire and the SDK: judges every inbound JSON value and lets only sound messages pass.

The SDK drops what does not fit its models, and the call that waits for it hangs until its timeout. Here a
malformed answer fails its call at once, and everything odd becomes a remark.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping

from mcp.shared.message import SessionMessage
from mcp_types import ErrorData, JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse

from sandbox.client.ledger import Ledger, Waiting
from sandbox.client.lines import NotJsonError, decode
from sandbox.client.notices import Notices
from sandbox.client.remarks import RemarkBook, quote
from sandbox.client.wire import WireLog
from sandbox.model import Json

_MALFORMED = -32010
"""Ours, in the implementation-defined band -32000 to -32019: wakes the waiter, never seen by anybody else."""

_BATCH = 1000
_FLOOD = 1000
"""Notifications during one request from where on it is called a flood."""

_ODDITIES = {
    "crlf": "ends its lines with CR LF",
    "invalid-utf8": "writes bytes that are not UTF-8",
    "lone-surrogate": "writes halves of surrogate pairs",
    "number-out-of-range": "writes numbers that JSON does not have (NaN, Infinity, 1e400)",
}

_ASKS = {"sampling/createMessage": "asks-sampling", "elicitation/create": "asks-elicitation"}
_PLAIN_REQUESTS = frozenset({"ping", "roots/list"})

_ID_IN_JUNK = re.compile(rb'"id"\s*:\s*"?(\d{1,15})"?\s*[,}\r]')
_ID_ALONE = re.compile(rb'\s*"id"\s*:\s*"?(\d{1,15})"?\s*,?\s*')
"""A whole line of pretty-printed JSON."""


class Intake:
    """Sorts inbound values: answers to the ledger, notifications to the notices, oddities to the remarks."""

    def __init__(self, wire: WireLog) -> None:
        self.ledger = Ledger()
        self.notices = Notices()
        self.remarks = RemarkBook()
        self._wire = wire
        self._told_before = 0

    def read(self, line: bytes) -> Iterator[SessionMessage]:
        """The messages that the SDK should see because of one line (a batch has several)."""
        try:
            decoded = decode(line)
        except NotJsonError as error:
            yield from self.junk(error.code, f"no JSON ({error})", line)
            return
        self._wire.record("<", line)
        for oddity in decoded.oddities:
            self.remarks.add(oddity, _ODDITIES[oddity])
        value = decoded.value
        if not isinstance(value, list):
            yield from self._one(value)
            return
        self.remarks.add("batch", "sends JSON-RPC batches, which MCP dropped in 2025-06-18")
        if not value:
            self._remark("stdout-junk", "an empty batch")
        if len(value) > _BATCH:
            self._remark(
                "batch-too-long", f"a batch of {len(value)} messages; all after {_BATCH} were ignored"
            )
        for one in value[:_BATCH]:
            yield from self._one(one)

    def junk(self, code: str, why: str, line: bytes) -> Iterator[SessionMessage]:
        """A line that is no message. If it looks like the answer to a request under way, that one fails."""
        self._wire.record("!", line)
        self._remark(code, f"{why}: {quote(line)}")
        alone = _ID_ALONE.fullmatch(line)
        found = alone or (_ID_IN_JUNK.search(line) if b'"jsonrpc"' in line else None)
        if found and (waiting := self.ledger.unanswered(int(found[1]))) is not None:
            text = "the answer is JSON over several lines" if alone else f"the answer is not readable ({why})"
            yield self._fail(waiting, {}, text)

    def request_opened(self) -> None:
        """A request starts: floods are counted from here."""
        self._told_before = self.notices.total

    def _one(self, value: Json) -> Iterator[SessionMessage]:
        if not isinstance(value, dict):
            self._remark("stdout-junk", f"JSON that is no message: {quote(repr(value)[:200])}")
        elif isinstance(method := value.get("method"), str):
            yield from self._asked_or_told(method, value)
        elif "id" in value and value.keys() & {"result", "error", "jsonrpc"}:
            yield from self._answer(value)
        else:
            self._remark("stdout-junk", f"JSON that is no message: {quote(repr(value)[:200])}")

    def _asked_or_told(self, method: str, value: Mapping[str, Json]) -> Iterator[SessionMessage]:
        params = value.get("params")
        if params is not None and not isinstance(params, dict):
            self._remark("malformed-message", f"{quote(method)} with params that are no object")
            return
        if "id" not in value:
            self._told(method, params or {})
            # The SDK applies cancellations of its own handlers; everything else is only counted here.
            if method == "notifications/cancelled":
                yield SessionMessage(JSONRPCNotification(jsonrpc="2.0", method=method, params=params))
            return
        request_id = value["id"]
        if isinstance(request_id, bool) or not isinstance(request_id, int | str):
            self._remark(
                "malformed-message", f"a request {quote(method)} with an id that is no string or integer"
            )
            return
        if method in _ASKS:
            self._remark(_ASKS[method], f"asks the client for {method}; the answer was canned")
        elif method not in _PLAIN_REQUESTS:
            self._remark("unknown-request", f"asks the client for {quote(method)}")
        yield SessionMessage(JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method, params=params))

    def _told(self, method: str, params: Mapping[str, Json]) -> None:
        self.notices.add(method, params)
        seen = self.notices.total - self._told_before
        if seen >= _FLOOD:
            text = "floods the client with notifications"
            self._remark("notification-flood", text, times=_FLOOD if seen == _FLOOD else 1)

    def _answer(self, value: dict[str, Json]) -> Iterator[SessionMessage]:
        request_id = value["id"]
        if (
            isinstance(request_id, str)
            and request_id.isascii()
            and request_id.isdigit()
            and len(request_id) < 16
        ):
            self._remark("string-id", "answers an integer id with a string")
            request_id = int(request_id)
        if (waiting := self.ledger.unanswered(request_id)) is None:
            text = f"an answer that nobody waits for: {quote(repr(value)[:200])}"
            if request_id is None and "error" in value:
                self._remark(
                    "error-without-id", f"an error for no request: {quote(repr(value['error'])[:200])}"
                )
            else:
                self._remark(self.ledger.why_unexpected(request_id), text)
            return
        yield self._settle(waiting, value)

    def _settle(self, waiting: Waiting, value: dict[str, Json]) -> SessionMessage:
        result, error = value.get("result"), value.get("error")
        if value.get("jsonrpc") != "2.0":
            return self._fail(waiting, value, 'the answer lacks "jsonrpc": "2.0"')
        if error is not None:
            if not isinstance(error, dict):
                return self._fail(waiting, value, "the answer's error is no object")
            code, message = error.get("code"), error.get("message")
            if isinstance(code, bool) or not isinstance(code, int) or not isinstance(message, str):
                self._remark(
                    "malformed-response",
                    f"an error without integer code and message: {quote(repr(error)[:200])}",
                )
                code, message = _MALFORMED, ""
            return self._wake(waiting, value, ErrorData(code=code, message=message, data=error.get("data")))
        if not isinstance(result, dict):
            return self._fail(waiting, value, "the answer's result is no object")
        waiting.response, waiting.answered_ns = value, time.monotonic_ns()
        # model_construct: the result stays the very object that was parsed, and 50 MB are not walked again.
        return SessionMessage(JSONRPCResponse.model_construct(jsonrpc="2.0", id=waiting.id, result=result))

    def _fail(self, waiting: Waiting, value: Mapping[str, Json], why: str) -> SessionMessage:
        self.remarks.add("malformed-response", f"{waiting.method}: {why}", waiting.tool)
        waiting.malformed = why
        return self._wake(waiting, value, ErrorData(code=_MALFORMED, message=why))

    def _wake(self, waiting: Waiting, value: Mapping[str, Json], error: ErrorData) -> SessionMessage:
        waiting.response, waiting.answered_ns = value, time.monotonic_ns()
        return SessionMessage(JSONRPCError.model_construct(jsonrpc="2.0", id=waiting.id, error=error))

    def _remark(self, code: str, text: str, *, times: int = 1) -> None:
        self.remarks.add(code, text, self.ledger.tool, times=times)
