"""Every page of ``tools/list``, raw and bounded."""

from __future__ import annotations

from collections.abc import Mapping

import anyio

from sandbox.client.channel import Answer, Channel, Ended
from sandbox.client.errors import HandshakeError
from sandbox.client.notices import TOOLS_CHANGED
from sandbox.client.remarks import RemarkBook, quote
from sandbox.client.settings import ToolListing
from sandbox.model import Json, Tool

_MAX_PAGES = 200
_MAX_TOOLS = 10_000
_SETTLE_S = 0.03
_SETTLE_ROUNDS = 10
"""Together 300 ms: server-everything registers tools when ``notifications/initialized`` reaches it."""


async def list_tools(channel: Channel, timeout_s: float) -> ToolListing:
    """All tools, listed again while the server says that its list is still changing.

    A server that is quiet is asked once, without any wait: what it registers at ``notifications/initialized``
    it announces before it answers, for messages on a pipe are handled in order.

    Raises:
        HandshakeError: the server hung up or fell silent before its first page.
    """
    counts = channel.intake.notices.counts
    for _ in range(_SETTLE_ROUNDS):
        changes = counts[TOOLS_CHANGED]
        listing = await _pages(channel, timeout_s)
        if counts[TOOLS_CHANGED] == changes:
            break
        await _settle(channel)
    return listing


async def _settle(channel: Channel) -> None:
    counts = channel.intake.notices.counts
    for _ in range(_SETTLE_ROUNDS):
        changes = counts[TOOLS_CHANGED]
        await anyio.sleep(_SETTLE_S)
        if counts[TOOLS_CHANGED] == changes:
            return


async def _pages(channel: Channel, timeout_s: float) -> ToolListing:
    remarks = RemarkBook()
    tools: dict[str, Tool] = {}
    cursor, seen = "", set[str]()
    for page in range(_MAX_PAGES + 1):
        if page == _MAX_PAGES:
            remarks.add(
                "endless-listing", f"tools/list has more than {_MAX_PAGES} pages; the rest was not read"
            )
            break
        answer = await channel.ask("tools/list", {"cursor": cursor} if cursor else {}, timeout_s)
        if answer.ended is not Ended.RESULT:
            _stopped(answer, remarks, first=page == 0)
            break
        _absorb(answer.body.get("tools"), tools, remarks)
        following = answer.body.get("nextCursor")
        if not following:  # absent, null, or the empty string that some servers send at the end
            break
        if not isinstance(following, str):
            remarks.add(
                "malformed-listing",
                f"tools/list has a cursor that is no string: {quote(repr(following)[:200])}",
            )
            break
        if following in seen:
            remarks.add(
                "repeated-cursor", f"tools/list repeats the cursor {quote(following)}; the rest was not read"
            )
            break
        seen.add(following)
        cursor = following
    return ToolListing(tuple(tools.values()), remarks.all())


def _stopped(answer: Answer, remarks: RemarkBook, *, first: bool) -> None:
    if answer.ended in (Ended.CLOSED, Ended.TIMED_OUT) and first:
        how = "hung up" if answer.ended is Ended.CLOSED else "fell silent"
        raise HandshakeError(f"The server answered the handshake and {how} at tools/list.")
    what = answer.why or quote(str(answer.body.get("message") or answer.ended.value))
    if first:
        remarks.add("listing-refused", f"tools/list was refused: {what}")
    else:
        remarks.add("listing-cut", f"tools/list ended before its last page: {what}")


def _absorb(entries: Json, tools: dict[str, Tool], remarks: RemarkBook) -> None:
    if not isinstance(entries, list):
        remarks.add("malformed-listing", f"tools/list has no list of tools but {quote(repr(entries)[:200])}")
        return
    for entry in entries:
        if not isinstance(entry, dict) or not _has_name(entry):
            remarks.add(
                "malformed-tool", f"an entry of tools/list that is no tool: {quote(repr(entry)[:200])}"
            )
            continue
        tool = Tool.read(entry)
        if tool.name in tools:
            remarks.add(
                "duplicate-tool", f"lists the tool {quote(tool.name)} twice; the first is judged", tool.name
            )
        elif len(tools) < _MAX_TOOLS:
            tools[tool.name] = tool
        else:
            remarks.add("too-many-tools", f"lists more than {_MAX_TOOLS} tools; the rest is not judged")
            return


def _has_name(entry: Mapping[str, Json]) -> bool:
    name = entry.get("name")
    return isinstance(name, str) and name != ""
