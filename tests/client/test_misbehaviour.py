"""Whatever a server does to one call ends that call, or is a remark; the conversation goes on."""

import json
import tracemalloc
from collections.abc import Callable

import anyio
import pytest
from serving import Served

from sandbox.client import ClientSettings, converse
from sandbox.model import Call, Outcome, Remark, Reply, Tool

pytestmark = pytest.mark.anyio

TOOL = Tool.read({"name": "t", "inputSchema": {"type": "object"}})
GENEROUS_MS = 60_000
ACCEPTED, REFUSED, TIMED_OUT, CRASHED = Outcome.ACCEPTED, Outcome.REFUSED, Outcome.TIMED_OUT, Outcome.CRASHED


async def call(
    served: Served, *, era: str = "legacy", timeout_ms: float = GENEROUS_MS, max_line: int = 64 << 20
) -> tuple[Reply, tuple[Remark, ...], Reply]:
    """One call that the server misbehaves at, the remarks it led to, and another call that it behaves at."""
    settings = ClientSettings(era=era, roots=("/work space",), max_line=max_line)
    async with converse(served.stdout, served.stdin, settings=settings) as conversation:
        reply = await conversation.call(Call("t", {}), TOOL, timeout_ms)
        after = await conversation.call(Call("t", {"behave": True}), TOOL, GENEROUS_MS)
        return reply, conversation.remarks(), after


@pytest.mark.parametrize(
    ("mode", "ended", "text", "codes"),
    [
        ("ok", (ACCEPTED, ""), "ok", set()),
        ("junk", (ACCEPTED, ""), "ok", {"stdout-junk"}),
        ("scalar", (ACCEPTED, ""), "ok", {"stdout-junk"}),
        ("json-log", (ACCEPTED, ""), "ok", {"stdout-junk"}),
        ("utf8", (ACCEPTED, ""), "a��b", {"invalid-utf8"}),
        ("crlf", (ACCEPTED, ""), "ok", {"crlf"}),
        ("odd-numbers", (ACCEPTED, ""), "n", {"number-out-of-range"}),
        ("surrogate", (ACCEPTED, ""), "a?b", {"lone-surrogate"}),
        ("string-id", (ACCEPTED, ""), "ok", {"string-id"}),
        ("true-id", (ACCEPTED, ""), "ok", {"unknown-response"}),
        ("unknown-id", (ACCEPTED, ""), "ok", {"unknown-response"}),
        ("twice", (ACCEPTED, ""), "ok", {"duplicate-response"}),
        ("batch", (ACCEPTED, ""), "ok", {"batch"}),
        ("batch-empty", (ACCEPTED, ""), "ok", {"batch", "stdout-junk"}),
        ("flood", (ACCEPTED, ""), "ok", {"notification-flood"}),
        ("unknown-content", (ACCEPTED, ""), "[1]", set()),
        ("structured", (ACCEPTED, ""), '{"a": 1}', set()),
        ("result-empty", (ACCEPTED, ""), "", set()),
        ("notification-list-params", (ACCEPTED, ""), "ok", {"malformed-message"}),
        ("error-without-id", (ACCEPTED, ""), "ok", {"error-without-id"}),
        ("is-error", (REFUSED, "is-error"), "no", set()),
        ("error-text", (REFUSED, "error-text"), "Error: no such table: users", set()),
        ("error", (REFUSED, "jsonrpc-error"), "bad", set()),
        ("error-code-string", (REFUSED, "jsonrpc-error"), "bad", {"malformed-response"}),
        (
            "error-string",
            (REFUSED, "malformed-response"),
            "the answer's error is no object",
            {"malformed-response"},
        ),
        (
            "result-null",
            (REFUSED, "malformed-response"),
            "the answer's result is no object",
            {"malformed-response"},
        ),
        (
            "result-list",
            (REFUSED, "malformed-response"),
            "the answer's result is no object",
            {"malformed-response"},
        ),
        (
            "no-jsonrpc",
            (REFUSED, "malformed-response"),
            'the answer lacks "jsonrpc": "2.0"',
            {"malformed-response"},
        ),
        (
            "pretty",
            (REFUSED, "malformed-response"),
            "the answer is JSON over several lines",
            {"malformed-response", "stdout-junk"},
        ),
        ("nested", (REFUSED, "malformed-response"), None, {"nested-too-deep", "malformed-response"}),
        ("nested-somewhat", (REFUSED, "malformed-response"), None, {"nested-too-deep", "malformed-response"}),
        ("too-complex", (REFUSED, "malformed-response"), None, {"line-too-complex", "malformed-response"}),
    ],
)
async def test_a_call_ends_as_the_answer_deserves_and_the_next_one_works(
    launch: Callable[..., Served], mode: str, ended: tuple[Outcome, str], text: str | None, codes: set[str]
) -> None:
    reply, remarks, after = await call(launch("hostile_server.py", mode))

    assert (reply.outcome, reply.reason) == ended
    assert text is None or reply.text == text
    assert {remark.code for remark in remarks} == codes
    assert after.text == "well behaved"


@pytest.mark.parametrize("mode", ["too-long", "too-long-id-last"])
async def test_a_line_beyond_the_limit_fails_the_call_it_answers(
    launch: Callable[..., Served], mode: str
) -> None:
    reply, remarks, after = await call(launch("hostile_server.py", mode), max_line=1 << 20)

    assert (reply.outcome, reply.reason) == (REFUSED, "malformed-response")
    assert {remark.code for remark in remarks} == {"line-too-long", "malformed-response"}
    assert after.text == "well behaved"


@pytest.mark.parametrize(
    ("mode", "outcome", "codes"),
    [
        ("exit", CRASHED, set()),
        ("close-stdout", CRASHED, set()),
        ("half", CRASHED, {"unterminated-line", "stdout-junk", "malformed-response"}),
        ("unterminated", ACCEPTED, {"unterminated-line"}),
    ],
)
async def test_a_server_that_goes_away_crashes_this_call_and_the_next_one_at_once(
    launch: Callable[..., Served], mode: str, outcome: Outcome, codes: set[str]
) -> None:
    reply, remarks, after = await call(launch("hostile_server.py", mode))

    assert (reply.outcome, after.outcome) == (outcome if mode != "half" else REFUSED, CRASHED)
    assert {remark.code for remark in remarks} == codes


@pytest.mark.parametrize("mode", ["silent", "flood-forever", "deaf"])
async def test_a_call_that_is_never_answered_ends_at_its_timeout(
    launch: Callable[..., Served], mode: str
) -> None:
    served = launch("hostile_server.py", mode)
    async with converse(served.stdout, served.stdin, settings=ClientSettings()) as conversation:
        with anyio.fail_after(60):
            # More than a pipe holds: a server that does not read must not block the sender.
            reply = await conversation.call(Call("t", {"x": "x" * 300_000}), TOOL, 300)

    assert reply.outcome is TIMED_OUT
    assert reply.elapsed_ms > 0


async def test_the_server_is_told_of_a_call_given_up_and_its_late_answer_is_not_taken_for_another(
    launch: Callable[..., Served],
) -> None:
    served = launch("hostile_server.py", "silent")
    async with converse(served.stdout, served.stdin, settings=ClientSettings()) as conversation:
        await conversation.call(Call("t", {}), TOOL, 50)
        after = await conversation.call(Call("t", {"behave": True}), TOOL, GENEROUS_MS)
        sent = [json.loads(text) for _, direction, text in conversation.wire.dump() if direction == ">"]

    assert after.outcome is ACCEPTED
    cancelled = [message for message in sent if message["method"] == "notifications/cancelled"]
    assert [message["params"]["requestId"] for message in cancelled] == [2]


async def test_a_cancelled_call_leaves_the_conversation_usable(launch: Callable[..., Served]) -> None:
    served = launch("hostile_server.py", "silent")
    async with converse(served.stdout, served.stdin, settings=ClientSettings()) as conversation:
        with anyio.move_on_after(0.05) as scope:
            await conversation.call(Call("t", {}), TOOL, GENEROUS_MS)
        after = await conversation.call(Call("t", {"behave": True}), TOOL, GENEROUS_MS)

    assert scope.cancelled_caught
    assert after.outcome is ACCEPTED


async def test_fifty_megabytes_on_one_line_are_an_ordinary_answer(launch: Callable[..., Served]) -> None:
    reply, remarks, _ = await call(launch("hostile_server.py", "huge"))

    assert reply.outcome is ACCEPTED
    assert reply.raw is not None
    assert len(json.dumps(reply.raw)) > 50 << 20
    assert len(reply.text) == 4096
    assert remarks == ()


async def test_a_jsonrpc_error_is_kept_with_members_that_no_model_has(launch: Callable[..., Served]) -> None:
    reply, _, _ = await call(launch("hostile_server.py", "error"))

    assert reply.raw == {"code": -32099, "message": "bad", "data": {"k": [1]}, "extra": 1}


async def test_numbers_that_json_does_not_have_become_text(launch: Callable[..., Served]) -> None:
    reply, _, _ = await call(launch("hostile_server.py", "odd-numbers"))

    assert reply.raw is not None
    assert reply.raw["structuredContent"] == {
        "x": "NaN",
        "y": "1e400",
        "z": "-Infinity",
        "big": 12345678901234567890123,
    }


async def test_everything_that_the_server_asks_is_answered(launch: Callable[..., Served]) -> None:
    reply, remarks, _ = await call(launch("hostile_server.py", "ask-everything"))

    roots, sampled, form, url, unknown, ping = json.loads(reply.text)
    assert roots["result"] == {"roots": [{"uri": "file:///work%20space", "name": "work space"}]}
    assert sampled["result"]["content"]["type"] == "text"
    assert form["result"] == {"action": "accept", "content": {"n": "examplexx"}}
    assert url["result"] == {"action": "accept"}
    assert unknown["error"]["code"] == -32601
    assert ping["result"] == {}
    assert {remark.code for remark in remarks} == {"asks-sampling", "asks-elicitation", "unknown-request"}


async def test_input_asked_for_without_end_refuses_the_call(launch: Callable[..., Served]) -> None:
    reply, remarks, after = await call(launch("hostile_server.py", "ask-without-end"), era="modern")

    assert (reply.outcome, reply.reason) == (REFUSED, "input-required")
    assert [(remark.code, remark.tool) for remark in remarks] == [("input-required", "t")]
    assert after.text == "well behaved"


async def test_a_flood_is_counted_and_its_log_messages_are_kept_within_bounds(
    launch: Callable[..., Served],
) -> None:
    served = launch("hostile_server.py", "flood")
    async with converse(
        served.stdout, served.stdin, settings=ClientSettings(wire_bytes=100_000)
    ) as conversation:
        await conversation.call(Call("t", {}), TOOL, GENEROUS_MS)
        (remark,) = conversation.remarks()
        wire = conversation.wire
        kept = sum(len(text) for _, _, text in wire.dump())

        assert conversation.notices.counts == {"notifications/message": 50_000}
        assert len(conversation.notices.logs) == 200
    assert (remark.code, remark.tool) == ("notification-flood", "t")
    assert "(50000 times)" in remark.text
    assert kept < 100_000
    assert wire.dropped > 40_000


async def test_memory_is_flat_over_many_calls(launch: Callable[..., Served]) -> None:
    served = launch("hostile_server.py", "twice")
    async with converse(
        served.stdout, served.stdin, settings=ClientSettings(wire_bytes=20_000)
    ) as conversation:

        async def calls(count: int) -> None:
            for _ in range(count):
                await conversation.call(Call("t", {}), TOOL, GENEROUS_MS)

        await calls(200)
        tracemalloc.start()
        await calls(1_000)
        grown, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        (remark,) = conversation.remarks()

    assert grown < 100_000
    assert remark.code == "duplicate-response"
