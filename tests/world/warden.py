"""A stand-in for the warden of a box: it opens sockets on loopback and says that they are elsewhere."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping, Sequence

from sandbox.model import Exchange
from sandbox.world import World

PATIENCE_S = 20.0

Address = tuple[str, int]


class Warden:
    """One attached box without a box: whatever connects to its sockets is a client of the box."""

    def __init__(
        self,
        world: World,
        name: str = "box",
        *,
        relay: Sequence[str] | None = None,
        addresses: Mapping[str, str] | None = None,
    ) -> None:
        descriptor, self.log = world.attach(name, relay=relay, addresses=addresses or {})
        self.control = socket.socket(fileno=descriptor)
        self._seen: list[Exchange] = []

    def tcp(self, ip: str = "22.1.2.3", port: int = 80) -> Address:
        """Open a listener that the box finds at ``ip`` and ``port``; where it really is."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self._pass("tcp", ip, port, listener)
            address: Address = listener.getsockname()
            return address

    def udp(self, ip: str = "22.1.2.3", port: int = 123) -> Address:
        """The same for datagrams."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
            receiver.bind(("127.0.0.1", 0))
            self._pass("udp", ip, port, receiver)
            address: Address = receiver.getsockname()
            return address

    def exchanges(self) -> list[Exchange]:
        """Everything recorded until now."""
        self._seen += self.log.read_new()
        return self._seen

    def wait_for(self, kind: str) -> Exchange:
        """The first exchange of a kind, waited for."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            for exchange in self.exchanges():
                if exchange.kind == kind:
                    return exchange
            time.sleep(0.01)
        raise AssertionError(f"no exchange of kind {kind} among {self._seen}")

    def close(self) -> None:
        self.control.close()
        self.log.close()

    def _pass(self, proto: str, ip: str, port: int, opened: socket.socket) -> None:
        message = json.dumps({"sockets": [{"proto": proto, "ip": ip, "port": port}]}).encode()
        socket.send_fds(self.control, [message], [opened.fileno()])


def dial(address: Address) -> socket.socket:
    """A connected client whose every wait is bounded."""
    return socket.create_connection(address, PATIENCE_S)


def read_to_end(client: socket.socket) -> bytes:
    """Everything until the gateway closes."""
    received = b""
    while data := client.recv(65_536):
        received += data
    return received
