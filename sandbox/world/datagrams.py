"""UDP sockets of a box: DNS is answered, everything else is recorded and met with silence."""

from __future__ import annotations

import contextlib
import socket
import struct
from dataclasses import replace
from ipaddress import IPv6Address

from sandbox.linux.netlink import DNS_PORT, IPV6_FREEBIND
from sandbox.world.desk import Desk
from sandbox.world.dns import look_up
from sandbox.world.route import Route

WILDCARDS = frozenset({"0.0.0.0", "::"})
"""The addresses of sockets that receive for every address."""

_IP_PKTINFO = 8  # not in the socket module: linux/in.h

_LARGEST = 65_535
_BATCH = 64


class DatagramSocket:
    """One UDP socket that the box's network sends to; owns it.

    ``ip`` and ``port`` are where the box thinks it is; a wildcard ``ip`` stands for any address.
    """

    def __init__(self, sock: socket.socket, ip: str, port: int, desk: Desk) -> None:
        self._socket = sock
        self._ip = ip
        self._port = port
        self._desk = desk
        sock.setblocking(False)
        if sock.family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
            # The address that was asked is on no interface of the box, and must be the one that answers.
            sock.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
        else:
            sock.setsockopt(socket.IPPROTO_IP, _IP_PKTINFO, 1)

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return self._socket.fileno()

    def receive(self) -> None:
        """Take in what is there, at most a batch of it: other sockets want their turn."""
        for _ in range(_BATCH):
            try:
                data, ancillary, _, source = self._socket.recvmsg(_LARGEST, 256)
            except BlockingIOError:
                return
            except OSError:
                # The error of an earlier answer that found no receiver; the socket goes on.
                continue
            told, from_there = _destination(ancillary)
            address = told if told and self._ip in WILDCARDS else self._ip
            route = Route(self._desk.names.name_of(address), address, self._port)
            if self._port == DNS_PORT:
                self._answer(data, route, from_there, source)
            else:
                self._desk.journal.record(route.exchange("udp", data=data))

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _answer(
        self, data: bytes, route: Route, from_there: list[tuple[int, int, bytes]], source: tuple[str, int]
    ) -> None:
        lookup = look_up(data, self._desk.names)
        self._desk.journal.record(replace(route, host=lookup.name).exchange("dns", lookup.note))
        if lookup.reply is not None:
            # A client that left before its answer loses it, as on any network.
            with contextlib.suppress(OSError):
                self._socket.sendmsg([lookup.reply], from_there, 0, source)


def _destination(ancillary: list[tuple[int, int, bytes]]) -> tuple[str, list[tuple[int, int, bytes]]]:
    """Where a datagram was sent to, and the control message that sends an answer from there (ip(7), ipv6(7))."""
    for level, kind, content in ancillary:
        if (level, kind) == (socket.IPPROTO_IP, _IP_PKTINFO):
            _, _, destination = struct.unpack("@i4s4s", content)
            packed = struct.pack("@i4s4s", 0, destination, destination)
            return socket.inet_ntop(socket.AF_INET, destination), [(level, kind, packed)]
        if (level, kind) == (socket.IPPROTO_IPV6, socket.IPV6_PKTINFO):
            address = IPv6Address(content[:16])
            packed = content[:16] + struct.pack("@i", 0)
            return str(address.ipv4_mapped or address), [(level, kind, packed)]
    return "", []
