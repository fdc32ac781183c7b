"""Opening and closing a conversation in both wire eras, and the ways in which opening fails."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable

import anyio
import pytest
from serving import HERE, Served

from sandbox.client import ClientSettings, HandshakeError, converse
from sandbox.errors import ExitCode, ServerStartError
from sandbox.model import Call, Declared, Outcome, Tool

pytestmark = pytest.mark.anyio

TOOL = Tool.read({"name": "t", "inputSchema": {"type": "object"}})
GENEROUS_MS = 60_000


@pytest.mark.parametrize(("era", "protocol"), [("legacy", "2025-11-25"), ("modern", "2026-07-28")])
async def test_an_sdk_server_is_spoken_to_in_either_era(
    launch: Callable[..., Served], era: str, protocol: str
) -> None:
    served = launch("honest_server.py")
    settings = ClientSettings(era=era, roots=("/srv/work",))
    async with converse(served.stdout, served.stdin, settings=settings) as conversation:
        listing = await conversation.list_tools()
        tools = {tool.name: tool for tool in listing.tools}

        async def call(name: str, **arguments: str) -> str:
            reply = await conversation.call(Call(name, arguments), tools[name], GENEROUS_MS)
            assert reply.outcome is Outcome.ACCEPTED, reply
            assert reply.elapsed_ms > 0
            return reply.text

        assert await call("echo", text="hello") == "hello"
        assert '"size":"small","count":2,"email":"user@example.com"' in await call("order")
        assert "canned completion" in await call("sample")
        assert await call("roots") == "file:///srv/work"
        assert await call("progress") == "done"
        refused = await conversation.call(Call("fail", {}), tools["fail"], GENEROUS_MS)

    assert (refused.outcome, refused.reason) == (Outcome.REFUSED, "is-error")
    facts = conversation.facts
    assert (facts.name, facts.version, facts.instructions) == ("honest", "1.2.3", "Be kind.")
    assert (facts.era, facts.protocol, facts.transport, facts.tool_count) == (era, protocol, "stdio", 7)
    assert conversation.notices.counts == {"notifications/progress": 2}
    assert tools["echo"].hints.read_only is Declared.TRUE
    assert tools["echo"].definition["annotations"] == {"readOnlyHint": True, "openWorldHint": False}


@pytest.mark.parametrize(
    ("mode", "words", "other_era"),
    [
        ("init-exit", "hung up before it answered initialize. It sent nothing.", True),
        ("init-junk-exit", "Usage: server [--stdio]", True),
        ("init-unknown-method", "refused initialize: Method not found (code -32601)", True),
        ("init-modern-only", "(code -32022)", True),
        ("init-internal-error", "refused initialize: database is down (code -32603)", False),
        ("init-bad-version", "2099-01-01", False),
        ("init-null", "the answer's result is no object", False),
        ("init-silent", "did not answer initialize within 0.5 s. It sent nothing. ", False),
        ("init-silent", "If it is slow to start: --timeout start=1", False),
    ],
)
async def test_a_failed_handshake_tells_what_was_seen_and_whether_the_other_era_is_worth_a_try(
    launch: Callable[..., Served], mode: str, words: str, other_era: bool
) -> None:
    served = launch("hostile_server.py", mode)
    settings = ClientSettings(handshake_timeout_s=0.5 if mode == "init-silent" else 60)
    with pytest.raises(HandshakeError) as caught:
        async with converse(served.stdout, served.stdin, settings=settings):
            pass

    assert words in str(caught.value)
    assert caught.value.other_era is other_era
    assert isinstance(caught.value, ServerStartError)
    assert caught.value.exit_code is ExitCode.SERVER_UNREACHABLE


async def test_server_facts_of_the_wrong_type_are_left_empty(launch: Callable[..., Served]) -> None:
    served = launch("hostile_server.py", "init-odd-types")
    async with converse(served.stdout, served.stdin, settings=ClientSettings()) as conversation:
        assert conversation.facts.protocol == "2025-06-18"
        assert (conversation.facts.name, conversation.facts.instructions) == ("", "")
        assert conversation.capabilities == {}


async def test_leaving_closes_the_servers_standard_input(launch: Callable[..., Served]) -> None:
    served = launch("hostile_server.py", "ok")
    async with converse(served.stdout, served.stdin, settings=ClientSettings()):
        pass

    assert await anyio.to_thread.run_sync(served.process.wait, 60) == 0
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(served.stdin)
    os.fstat(served.stdout)


async def test_an_error_of_the_body_comes_out_as_itself(launch: Callable[..., Served]) -> None:
    served = launch("hostile_server.py", "ok")
    with pytest.raises(KeyError, match="mine"):
        async with converse(served.stdout, served.stdin, settings=ClientSettings()):
            raise KeyError("mine")


async def test_leaving_does_not_wait_for_a_server_that_reads_nothing(launch: Callable[..., Served]) -> None:
    served = launch("hostile_server.py", "deaf")
    with anyio.fail_after(60):
        async with converse(served.stdout, served.stdin, settings=ClientSettings()) as conversation:
            await conversation.call(Call("t", {"x": "x" * 300_000}), TOOL, 50)

    assert served.process.poll() is None


async def test_one_socket_may_be_both_ends() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        process = subprocess.Popen(
            [sys.executable, str(HERE / "hostile_server.py"), "ok"], stdin=theirs, stdout=theirs
        )
        theirs.close()
        async with converse(ours.fileno(), ours.fileno(), settings=ClientSettings()) as conversation:
            reply = await conversation.call(Call("t", {}), TOOL, GENEROUS_MS)

        assert reply.text == "ok"
        assert await anyio.to_thread.run_sync(process.wait, 60) == 0


async def test_calls_may_come_from_several_tasks_at_once(launch: Callable[..., Served]) -> None:
    served = launch("honest_server.py")
    texts: dict[str, str] = {}
    async with converse(served.stdout, served.stdin, settings=ClientSettings()) as conversation:
        echo = next(tool for tool in (await conversation.list_tools()).tools if tool.name == "echo")

        async def call(word: str) -> None:
            texts[word] = (await conversation.call(Call("echo", {"text": word}), echo, GENEROUS_MS)).text

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(call, f"word {number}")

    assert texts == {f"word {number}": f"word {number}" for number in range(20)}


def test_settings_and_errors_do_not_load_the_sdk() -> None:
    program = "import sys, sandbox.client; sandbox.client.ClientSettings(); sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
