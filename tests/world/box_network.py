"""Run as a program with a warden's socket: a box's network without the box, and clients in it.

Prints what each client got. Both needed calls work without privileges, see tapped_namespace.py.
"""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Callable

from dnslib import DNSRecord  # type: ignore[import-untyped]

from sandbox.linux import syscalls
from sandbox.linux.listeners import Listeners
from sandbox.linux.netlink import set_up_loopback

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
PATIENCE_S = 20.0
V4_RESOLVER, V6_RESOLVER, LOOPBACK_RESOLVER = "8.8.8.8", "2001:4860:4860::8888", "127.0.0.53"


def look_up(resolver: str, name: str, kind: str, *, tcp: bool = False) -> str:
    question = DNSRecord.question(name, kind)
    reply = question.send(resolver, 53, tcp=tcp, timeout=PATIENCE_S, ipv6=":" in resolver)
    return str(DNSRecord.parse(reply).rr[0].rdata)


def get(address: str, port: int) -> str:
    with socket.create_connection((address, port), PATIENCE_S) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: api.example.org\r\nConnection: close\r\n\r\n")
        return client.recv(1000)[-2:].decode()


def main(warden: socket.socket) -> None:
    syscalls.unshare(CLONE_NEWUSER | CLONE_NEWNET)
    listeners = Listeners(warden)
    listeners.open_name_service(ipv6=set_up_loopback())

    def fetch(name: str, kind: str) -> str:
        address = look_up(V4_RESOLVER, name, kind)
        listeners.open(address, 8080)
        return get(address, 8080)

    clients: dict[str, Callable[[], str]] = {
        "udp4": lambda: look_up(V4_RESOLVER, "api.example.org", "A"),
        "udp6": lambda: look_up(V6_RESOLVER, "api.example.org", "A"),
        "loopback": lambda: look_up(LOOPBACK_RESOLVER, "api.example.org", "A"),
        "tcp4": lambda: look_up(V4_RESOLVER, "api.example.org", "A", tcp=True),
        "tcp6": lambda: look_up(V6_RESOLVER, "api.example.org", "A", tcp=True),
        "get4": lambda: fetch("api.example.org", "A"),
        "get6": lambda: fetch("api.example.org", "AAAA"),
    }
    print(json.dumps({name: client() for name, client in clients.items()}))  # noqa: T201 - the test reads it


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
