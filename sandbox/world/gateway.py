"""The gateway process: ``python -I -m sandbox.world.gateway FD``.

FD is its end of a SEQPACKET pair with the engine. It first sends the certificate of its authority there
(PEM). Then it receives one JSON message per box, ``{"box": NAME, "relay": [DESTINATION, ...] or null}``, with two
descriptors: its end of the SEQPACKET pair with the box's warden, and the memfd of the box's log. It ends when
the engine hangs up.
"""

from __future__ import annotations

import asyncio
import json
import resource
import socket
import sys

from sandbox.world import messages
from sandbox.world.authority import Authority
from sandbox.world.desk import Desk
from sandbox.world.destinations import Destination
from sandbox.world.exchanges import Journal
from sandbox.world.names import NameBook
from sandbox.world.outside import Outside
from sandbox.world.relay import Relay


class Gateway:
    """Serves the outsides of all boxes until the engine hangs up."""

    def __init__(self, engine: socket.socket) -> None:
        self._loop = asyncio.get_running_loop()
        self._engine = engine
        self._authority = Authority()
        self._outsides: set[Outside] = set()
        self._over = asyncio.Event()

    async def run(self) -> None:
        """Serve; returns when the engine is gone."""
        self._engine.send(self._authority.pem)
        self._engine.setblocking(False)
        self._loop.add_reader(self._engine, self._take_message)
        await self._over.wait()
        self._loop.remove_reader(self._engine)
        for outside in list(self._outsides):
            outside.close()

    def _take_message(self) -> None:
        taken = messages.take(self._engine)
        if taken is None:
            return
        message, descriptors = taken
        if not message:
            self._over.set()
            return
        if len(descriptors) == 2:
            warden, log = descriptors
            listed = json.loads(message)["relay"]
            relay = None if listed is None else Relay(Destination(**each) for each in listed)
            desk = Desk(NameBook(), Journal(log), self._authority, relay)
            self._outsides.add(Outside(socket.socket(fileno=warden), desk, self._outsides.discard))


async def _serve(engine: socket.socket) -> None:
    await Gateway(engine).run()


def main(descriptor: int) -> None:
    """Run the gateway on ``descriptor`` until the engine hangs up."""
    # A core dump would put the authority's key on a disk.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Every box brings up to some thousand sockets.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # Server names that are no ASCII fail inside of ssl's callback, which Python reports to standard
    # error: a client could fill it. The handshake fails and is recorded.
    sys.unraisablehook = lambda _: None
    with socket.socket(fileno=descriptor) as engine:
        asyncio.run(_serve(engine))


if __name__ == "__main__":
    main(int(sys.argv[1]))
