"""From a raw answer to a Reply: accepted, refused and how it was told, timed out, crashed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from sandbox.client.channel import Answer, Ended
from sandbox.client.refusals import recognise_refusal
from sandbox.model import Json, Outcome, Reply

_TEXT = 4096
_JUDGED = 16_384
"""Characters of a reply's text that are looked at for an error message: none is longer."""


def read_reply(answer: Answer, started_ns: int = 0) -> Reply:
    """The reply that an answer is. ``started_ns`` counts from an earlier request where there were several."""
    started = started_ns or answer.written_ns
    elapsed_ms = (answer.ended_ns - started) / 1e6 if started and answer.ended_ns else 0.0
    match answer.ended:
        case Ended.TIMED_OUT:
            return Reply(Outcome.TIMED_OUT, None, "", elapsed_ms)
        case Ended.CLOSED:
            return Reply(Outcome.CRASHED, None, "", elapsed_ms)
        case Ended.MALFORMED:
            return Reply(Outcome.REFUSED, answer.body, answer.why, elapsed_ms, "malformed-response")
        case Ended.ERROR:
            return Reply(Outcome.REFUSED, answer.body, _error_text(answer.body), elapsed_ms, "jsonrpc-error")
        case Ended.RESULT:
            return _result(answer.body, elapsed_ms)


def _result(result: Mapping[str, Json], elapsed_ms: float) -> Reply:
    text = _result_text(result)
    shown = text[:_TEXT]
    if result.get("isError") is True:
        return Reply(Outcome.REFUSED, result, shown, elapsed_ms, "is-error")
    if len(text) < _JUDGED and _only_text(result) and recognise_refusal(text) is not None:
        return Reply(Outcome.REFUSED, result, shown, elapsed_ms, "error-text")
    return Reply(Outcome.ACCEPTED, result, shown, elapsed_ms)


def _only_text(result: Mapping[str, Json]) -> bool:
    content = result.get("content")
    return isinstance(content, list) and all(
        isinstance(one, dict) and one.get("type") == "text" for one in content
    )


def _result_text(result: Mapping[str, Json]) -> str:
    """The text content joined, at most a little more than is judged; structured content where there is none."""
    text = "\n".join(_bounded(_texts(result.get("content"))))[:_JUDGED]
    if not text and "structuredContent" in result:
        return "".join(
            _bounded(json.JSONEncoder(ensure_ascii=False).iterencode(result["structuredContent"]))
        )[:_JUDGED]
    return text


def _texts(content: Json) -> Iterator[str]:
    for block in content if isinstance(content, list) else ():
        holder = block.get("resource", block) if isinstance(block, dict) else None
        if isinstance(holder, dict) and isinstance(text := holder.get("text"), str):
            yield text[:_JUDGED]


def _bounded(parts: Iterator[str]) -> Iterator[str]:
    left = _JUDGED
    for part in parts:
        yield part
        left -= len(part) + 1
        if left <= 0:
            return


def _error_text(error: Mapping[str, Json]) -> str:
    message, data = error.get("message"), error.get("data")
    parts = [part[:_TEXT] for part in (message, data) if isinstance(part, str) and part]
    return ": ".join(parts)[:_TEXT]
