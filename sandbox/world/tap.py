"""The packet tap: what left a box on its loopback, where every address of the world is.

This is the ground truth of contact: a packet that no system call foretold is still one.
"""

from __future__ import annotations

import socket
import struct
import time
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from sandbox.linux.netlink import DNS_PORT
from sandbox.model import Packet

# Not in the socket module: linux/if_packet.h, asm-generic/socket.h.
_SOL_PACKET = 263
_PACKET_STATISTICS = 6
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@qq")
_STATISTICS = struct.Struct("@II")

_ETHERNET_HEADER = 14
_IPV4 = 0x0800
_IPV6 = 0x86DD

_ICMP, _IGMP, _TCP, _UDP, _ICMPV6 = 1, 2, 6, 17, 58
_FRAGMENT, _AUTHENTICATION = 44, 51
# Hop-by-hop, routing, destination options, mobility, HIP, shim6 (RFC 7045, 4): length in units of 8 bytes.
_EXTENSIONS = frozenset({0, 43, 60, 135, 139, 140})

# What the kernel sends by itself: errors about datagrams that found no listener, and echo and timestamp
# replies.
_ICMP_OWN = frozenset({0, 3, 4, 5, 11, 12, 14})
# The same for IPv6 with multicast listener (130-132, 143) and neighbour discovery (133-137).
_ICMPV6_OWN = frozenset({1, 2, 3, 4, 129, *range(130, 138), 143})

_SYN, _ACK = 0x02, 0x10

_CLOCK_TRIES = 5


def read_tap(descriptor: int) -> tuple[list[Packet], int]:
    """Drain the tap, a non-blocking AF_PACKET socket (SOCK_RAW) on the box's lo.

    Returns the packets that are contact, in order, and how many the kernel dropped since the last time
    because nobody read (packet(7), PACKET_STATISTICS). Times are those of sending.
    """
    tap = socket.socket(fileno=descriptor)
    try:
        # From the first reading on; the kernel stamps what is older when it is read.
        tap.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        packets = []
        ahead_ns = _wall_clock_ahead_ns()
        while (received := _receive(tap, ahead_ns)) is not None:
            packet = parse_frame(*received)
            if packet is not None:
                packets.append(packet)
        _, dropped = _STATISTICS.unpack(tap.getsockopt(_SOL_PACKET, _PACKET_STATISTICS, _STATISTICS.size))
        return packets, dropped
    finally:
        tap.detach()


def parse_frame(frame: bytes, at_ns: int) -> Packet | None:
    """The contact that one Ethernet frame is, or None.

    Contact is a packet to an address that is not loopback: a TCP SYN without ACK, a datagram, or any other
    protocol. No contact: answers of the gateway's DNS, and what the kernel sends by itself. Frames may be cut
    off; what is too short to tell counts, as ``other``.
    """
    kind = int.from_bytes(frame[12:14], "big")
    content = frame[_ETHERNET_HEADER:]
    if kind == _IPV4 and len(content) >= 20:
        packet = _read_ipv4(content)
    elif kind == _IPV6 and len(content) >= 40:
        packet = _read_ipv6(content)
    else:
        return None
    return None if packet is None or packet.destination.is_loopback else _contact(packet, at_ns)


@dataclass(frozen=True, slots=True)
class _IpPacket:
    """An IP packet: its size as its header says, and the payload as far as it was captured."""

    destination: IPv4Address | IPv6Address
    protocol: int
    payload: bytes
    size: int


def _wall_clock_ahead_ns() -> int:
    """How far the wall clock, which packets are stamped with, is ahead of CLOCK_MONOTONIC.

    The process may be interrupted between two readings; of a few tries the one that took least counts.
    """
    tries = []
    for _ in range(_CLOCK_TRIES):
        before_ns, wall_ns, after_ns = time.monotonic_ns(), time.time_ns(), time.monotonic_ns()
        tries.append((after_ns - before_ns, wall_ns - (before_ns + after_ns) // 2))
    return min(tries)[1]


def _receive(tap: socket.socket, ahead_ns: int) -> tuple[bytes, int] | None:
    """The next outgoing frame and its time (CLOCK_MONOTONIC), or None when there is none."""
    while True:
        try:
            frame, ancillary, _, source = tap.recvmsg(65_535, 64)
        except BlockingIOError:
            return None
        # On lo every packet passes twice: going out and coming in.
        if source[2] == socket.PACKET_OUTGOING:
            return frame, _sent_ns(ancillary, ahead_ns)


def _sent_ns(ancillary: list[tuple[int, int, bytes]], ahead_ns: int) -> int:
    now_ns = time.monotonic_ns()
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
            seconds, nanoseconds = _TIMESPEC.unpack(content)
            sent_ns: int = seconds * 1_000_000_000 + nanoseconds
            return min(now_ns, sent_ns - ahead_ns)
    return now_ns


def _read_ipv4(content: bytes) -> _IpPacket | None:
    (fragment,) = struct.unpack_from("!H", content, 6)
    if fragment & 0x1FFF:
        # A later fragment has no ports; the first one was counted.
        return None
    header = (content[0] & 0x0F) * 4
    (size,) = struct.unpack_from("!H", content, 2)
    return _IpPacket(IPv4Address(content[16:20]), content[9], content[header:], size or len(content))


def _read_ipv6(content: bytes) -> _IpPacket | None:
    (length,) = struct.unpack_from("!H", content, 4)
    protocol, payload = content[6], content[40:]
    while protocol in _EXTENSIONS or protocol in {_FRAGMENT, _AUTHENTICATION}:
        if len(payload) < 8:
            # Cut off within the extensions: what it carries cannot be told.
            payload = b""
            break
        if protocol == _FRAGMENT and int.from_bytes(payload[2:4], "big") & 0xFFF8:
            return None
        protocol, payload = payload[0], payload[_extension_length(protocol, payload) :]
    size = 40 + length if length else len(content)
    return _IpPacket(_unmapped(IPv6Address(content[24:40])), protocol, payload, size)


def _extension_length(protocol: int, payload: bytes) -> int:
    if protocol == _FRAGMENT:
        return 8
    # RFC 4302, 2.2: the authentication header counts words of 4 bytes, minus 2.
    return (payload[1] + 2) * 4 if protocol == _AUTHENTICATION else (payload[1] + 1) * 8


def _unmapped(address: IPv6Address) -> IPv4Address | IPv6Address:
    return address.ipv4_mapped or address


def _contact(packet: _IpPacket, at_ns: int) -> Packet | None:
    payload = packet.payload
    protocol, port = "other", 0
    if packet.protocol == _TCP and len(payload) >= 14:
        if payload[13] & (_SYN | _ACK) != _SYN:
            return None
        protocol, port = "tcp", int.from_bytes(payload[2:4], "big")
    elif packet.protocol == _UDP and len(payload) >= 4:
        if int.from_bytes(payload[:2], "big") == DNS_PORT:
            return None
        protocol, port = "udp", int.from_bytes(payload[2:4], "big")
    elif _is_kernels_own(packet):
        return None
    return Packet(at_ns, protocol, str(packet.destination), port, packet.size)


def _is_kernels_own(packet: _IpPacket) -> bool:
    if packet.protocol == _IGMP:
        return True
    own = {_ICMP: _ICMP_OWN, _ICMPV6: _ICMPV6_OWN}.get(packet.protocol, frozenset())
    return bool(packet.payload) and packet.payload[0] in own
