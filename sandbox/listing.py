"""What a server declares, and what would be sent to its tools; nothing is called."""

from __future__ import annotations

from sandbox.arguments import Learned, propose
from sandbox.model import Listing, Remark
from sandbox.probe.stage import StageSettings, staged
from sandbox.targets.launch import Launch


async def list_server(launch: Launch, settings: StageSettings, *, seed: int = 0, calls: int = 0) -> Listing:
    """Start the server in a box and read its tool list.

    ``calls`` is how many argument sets to propose per tool; 0 for none.

    Raises:
        NoSandboxError: no sandbox works on this machine.
        ServerStartError: the server could not be started or spoken to.
    """
    async with staged(launch, settings, spares=0) as stage:
        session = await stage.pool.take()
        listing = await session.conversation.list_tools()
        proposals = {
            tool.name: tuple(propose(tool, stage.surroundings, Learned(), seed=seed, limit=calls))
            for tool in listing.tools
            if calls
        }
        notes = (Remark("target", note) for note in stage.notes)
        remarks = tuple(dict.fromkeys([*notes, *listing.remarks, *session.remarks]))
        return Listing(session.conversation.facts, listing.tools, remarks, proposals)
