"""Sockets that are opened in a box's network and passed to the gateway, which answers on them.

Name service is there from the start, on port 53 of every address. Every other address gets its sockets when
the observer foretells the first contact, right before the connect or send that needs them runs.
"""

from __future__ import annotations

import array
import contextlib
import ipaddress
import json
import socket
from collections.abc import Iterable

from sandbox.linux.netlink import DNS_PORT, IPV6_FREEBIND

_BACKLOG = 128
_ADDRESS_LIMIT = 2048
"""Different (address, port) pairs that a box may contact; each costs two descriptors here and in the gateway."""

_PROTOCOLS = {"tcp": socket.SOCK_STREAM, "udp": socket.SOCK_DGRAM}


class Listeners:
    """Opens sockets in the caller's network namespace and hands them over on ``gateway``, a SEQPACKET socket.

    Never waits for the gateway: what it has no room for is not opened, and the server meets a closed port.
    """

    def __init__(self, gateway: socket.socket | None) -> None:
        self._gateway = gateway
        self._open: set[tuple[str, int]] = set()

    def open_name_service(self, *, ipv6: bool) -> None:
        """Open port 53, UDP and TCP, of every address. Raises OSError."""
        addresses = ["0.0.0.0", "::"] if ipv6 else ["0.0.0.0"]
        self._pass_on([(protocol, ip, DNS_PORT) for ip in addresses for protocol in _PROTOCOLS])

    def open(self, ip: str, port: int) -> None:
        """Open TCP and UDP on one address, once.

        Raises OSError where that cannot be: no room in the gateway's buffer, a multicast address, a port that
        the server itself listens on.
        """
        address = ipaddress.ip_address(ip)
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        key = (str(address), port)
        if port in (0, DNS_PORT) or address.is_loopback or address.is_unspecified or key in self._open:
            return
        if len(self._open) >= _ADDRESS_LIMIT:
            return
        self._pass_on([(protocol, *key) for protocol in _PROTOCOLS])
        self._open.add(key)

    def _pass_on(self, wanted: Iterable[tuple[str, str, int]]) -> None:
        if self._gateway is None:
            return
        with contextlib.ExitStack() as opened:
            entries = []
            descriptors = []
            for protocol, ip, port in wanted:
                listener = opened.enter_context(_listen(protocol, ip, port))
                entries.append({"proto": protocol, "ip": ip, "port": port})
                descriptors.append(listener.fileno())
            message = json.dumps({"sockets": entries}).encode()
            # Not socket.send_fds(), which ignores its flags (Python 3.11) and would wait.
            rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))
            self._gateway.sendmsg([message], [rights], socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)


def _listen(protocol: str, ip: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    opened = socket.socket(family, _PROTOCOLS[protocol])
    try:
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            opened.setsockopt(socket.IPPROTO_IPV6, IPV6_FREEBIND, 1)
        if protocol == "tcp":
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((ip, port))
        if protocol == "tcp":
            opened.listen(_BACKLOG)
    except OSError:
        opened.close()
        raise
    return opened
