"""Tools are listed from the raw pages, whatever the pages hold."""

from collections.abc import Callable

import pytest
from serving import Served

from sandbox.client import ClientSettings, HandshakeError, ToolListing, converse
from sandbox.model import Declared

pytestmark = pytest.mark.anyio


async def listing(served: Served, timeout_s: float = 60) -> ToolListing:
    settings = ClientSettings(handshake_timeout_s=timeout_s)
    async with converse(served.stdout, served.stdin, settings=settings) as conversation:
        return await conversation.list_tools()


@pytest.mark.parametrize(
    ("mode", "names", "codes"),
    [
        ("ok", ["t"], []),
        ("list-pages", ["t0", "t1", "t2", "t3", "t4"], []),
        ("list-endless", [f"t{page}" for page in range(200)], ["endless-listing"]),
        ("list-same-cursor", ["t"], ["duplicate-tool", "repeated-cursor"]),
        ("list-empty-cursor", ["t"], []),
        ("list-number-cursor", ["t"], ["malformed-listing"]),
        ("list-null", [], ["malformed-listing"]),
        ("list-bad-entries", ["t"], ["malformed-tool"]),
        ("list-duplicate", ["t"], ["duplicate-tool"]),
        ("list-refused", [], ["listing-refused"]),
        ("list-exit-later", ["t"], ["listing-cut"]),
        ("list-late", ["t", "late"], []),
    ],
)
async def test_what_can_be_listed_is_listed_and_the_rest_is_remarked(
    launch: Callable[..., Served], mode: str, names: list[str], codes: list[str]
) -> None:
    listed = await listing(launch("hostile_server.py", mode))

    assert [tool.name for tool in listed.tools] == names
    assert [remark.code for remark in listed.remarks] == codes


async def test_the_first_of_two_tools_with_one_name_is_kept(launch: Callable[..., Served]) -> None:
    listed = await listing(launch("hostile_server.py", "list-duplicate"))

    assert listed.tools[0].description == "one"
    assert listed.remarks[0].tool == "t"


async def test_definitions_are_kept_as_they_were_sent(launch: Callable[..., Served]) -> None:
    first, second = (await listing(launch("hostile_server.py", "list-bad-hints"))).tools

    assert first.definition["annotations"] == {"readOnlyHint": "true", "x": 1}
    assert first.hints.read_only is Declared.MALFORMED
    assert second.definition == {"name": "u"}


@pytest.mark.parametrize(
    ("mode", "timeout_s", "words"),
    # The same time must do for the server to start and greet before it falls silent.
    [("list-exit", 60, "hung up at tools/list"), ("list-silent", 5, "fell silent")],
)
async def test_a_server_that_never_lists_its_tools_has_not_started(
    launch: Callable[..., Served], mode: str, timeout_s: float, words: str
) -> None:
    with pytest.raises(HandshakeError, match=words):
        await listing(launch("hostile_server.py", mode), timeout_s)
