"""Connections into a box, and which ports somebody in it listens on."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

from sandbox.linux.netlink import DNS_PORT

_CONNECT_S = 5.0
"""Bound on one connect. On loopback it is answered at once, unless the server does not accept."""

_LISTENING = "0A"  # TCP_LISTEN, linux/tcp_states.h
_OWN_ADDRESSES = frozenset(
    {
        "00000000",
        "0100007F",  # 127.0.0.1 as the kernel prints it: a little-endian number
        "00000000000000000000000000000000",
        "00000000000000000000000001000000",  # ::1
    }
)
_LOOPBACK = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}


def connect_any(descriptors: Sequence[int], port: int) -> socket.socket:
    """Connect the first of these TCP sockets that finds somebody on its family's loopback address; owns them
    all.

    Raises OSError: the first one's refusal.
    """
    refusals: list[OSError] = []
    connected = None
    for candidate in [socket.socket(fileno=descriptor) for descriptor in descriptors]:
        if connected is not None:
            candidate.close()
            continue
        candidate.settimeout(_CONNECT_S)
        try:
            candidate.connect((_LOOPBACK[candidate.family], port))
        except OSError as error:
            candidate.close()
            refusals.append(error)
        else:
            connected = candidate
    if connected is None:
        raise refusals[0] if refusals else ConnectionRefusedError("the box's warden can make no sockets")
    return connected


def listening_ports(proc: int) -> tuple[int, ...]:
    """The TCP ports that are open on the box's loopback, from a descriptor of its /proc; the gateway's are left out."""
    ports = set()
    for name in ("tcp", "tcp6"):
        for line in _table(proc, name).splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            address, _, port = local.partition(":")
            if state == _LISTENING and address in _OWN_ADDRESSES:
                ports.add(int(port, 16))
    return tuple(sorted(ports - {DNS_PORT}))


def _table(proc: int, name: str) -> str:
    """/proc/net/tcp (proc_net(5)) as the box's init sees it: init is in no one's hands but ours."""
    try:
        descriptor = os.open(f"1/net/{name}", os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)
    except FileNotFoundError:  # no IPv6, or the box is gone
        return ""
    with open(descriptor, encoding="ascii") as file:
        return file.read()
