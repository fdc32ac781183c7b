"""A tool that can only be called as a task is called as one."""

from collections.abc import Callable

import pytest
from serving import Served

from sandbox.client import ClientSettings, converse
from sandbox.model import Call, Outcome, Reply

pytestmark = pytest.mark.anyio


async def call(served: Served, name: str, timeout_ms: float = 60_000) -> tuple[Reply, list[str]]:
    """The reply of a task's call, and the methods that the server was sent after its listing."""
    async with converse(served.stdout, served.stdin, settings=ClientSettings()) as conversation:
        tools = {tool.name: tool for tool in (await conversation.list_tools()).tools}
        reply = await conversation.call(Call(name, {}), tools[name], timeout_ms)
        log = await conversation.call(Call("log", {}), tools["log"], 60_000)
    return reply, log.text.split()[3:-1]


@pytest.mark.parametrize(
    ("name", "outcome", "text", "methods"),
    [
        ("works", Outcome.ACCEPTED, "finished", ["tasks/get"] * 3 + ["tasks/result"]),
        ("instant", Outcome.ACCEPTED, "finished", ["tasks/result"]),
        ("fails", Outcome.REFUSED, "finished", ["tasks/get"] * 2 + ["tasks/result"]),
        ("asks", Outcome.ACCEPTED, "finished with yes", ["tasks/get"] * 2 + ["tasks/result"]),
        ("plain", Outcome.ACCEPTED, "finished", []),
    ],
)
async def test_a_task_is_followed_to_its_result(
    launch: Callable[..., Served], name: str, outcome: Outcome, text: str, methods: list[str]
) -> None:
    reply, sent = await call(launch("task_server.py"), name)

    assert (reply.outcome, reply.text) == (outcome, text)
    assert sent == ["tools/call", *methods]


async def test_a_task_without_end_is_cancelled_at_the_timeout(launch: Callable[..., Served]) -> None:
    reply, sent = await call(launch("task_server.py"), "forever", timeout_ms=300)

    assert reply.outcome is Outcome.TIMED_OUT
    assert sent[-1] == "tasks/cancel"
