"""The packet tap of a box: an AF_PACKET socket on its loopback that keeps only what may be contact.

The filter is classic BPF (linux/filter.h, packet(7)); it runs before the socket's buffer, so a server that
floods its own loopback services cannot push a contact out of it.
"""

from __future__ import annotations

import ctypes
import socket
import struct

from sandbox.linux.netlink import BOX_ADDRESS, DNS_PORT

FRAME_LIMIT = 256
"""Bytes that are kept of each frame, Ethernet header included."""

_BUFFER = 4 << 20
_SO_ATTACH_FILTER = 26
_ETH_P_ALL = 0x0003
_PACKET_OUTGOING = 4
_PACKET_TYPE = 0xFFFFF000 + 4  # SKF_AD_OFF + SKF_AD_PKTTYPE

_LOAD_WORD, _LOAD_HALF, _LOAD_BYTE, _LOAD_BYTE_AFTER, _LOAD_HALF_AFTER = 0x20, 0x28, 0x30, 0x50, 0x48
_HEADER_TO_INDEX = 0xB1  # x = 4 * (packet[k] & 0xf)
_AND, _EQUAL, _AT_LEAST, _RETURN = 0x54, 0x15, 0x35, 0x06

_ETHERNET = 14
_IPV4, _IPV6 = 0x0800, 0x86DD
_TCP, _UDP, _ICMPV6 = 6, 17, 58
_HOP_BY_HOP = 0  # multicast listener reports, which the kernel sends by itself
_SYN_ACK_BITS, _SYN = 0x12, 0x02

_KEEP, _DROP = "keep", "drop"

# (label, code, operand, where to go if true, if false); "" is the next line.
_Line = tuple[str, int, int, str, str]


def _lines() -> list[_Line]:
    own = int.from_bytes(socket.inet_aton(BOX_ADDRESS), "big")
    v6 = _ETHERNET + 24
    return [
        ("", _LOAD_WORD, _PACKET_TYPE, "", ""),
        ("", _EQUAL, _PACKET_OUTGOING, "", _DROP),  # on loopback each packet passes twice: out and in
        ("", _LOAD_HALF, 12, "", ""),
        ("", _EQUAL, _IPV6, "v6", ""),
        ("", _EQUAL, _IPV4, "", _DROP),
        # IPv4: not to 127/8, not to the box itself (the gateway's answers)
        ("", _LOAD_WORD, _ETHERNET + 16, "", ""),
        ("", _EQUAL, own, _DROP, ""),
        ("", _AND, 0xFF000000, "", ""),
        ("", _EQUAL, 0x7F000000, _DROP, ""),
        ("", _HEADER_TO_INDEX, _ETHERNET, "", ""),
        ("", _LOAD_BYTE, _ETHERNET + 9, "", ""),
        ("", _EQUAL, _TCP, "tcp", ""),
        ("", _EQUAL, _UDP, "", _KEEP),
        ("", _LOAD_HALF_AFTER, _ETHERNET, "", ""),
        ("", _EQUAL, DNS_PORT, _DROP, _KEEP),  # only the gateway can bind a low port
        ("tcp", _LOAD_BYTE_AFTER, _ETHERNET + 13, "", ""),
        ("", _AND, _SYN_ACK_BITS, "", ""),
        ("", _EQUAL, _SYN, _KEEP, _DROP),
        # IPv6: not to ::1
        ("v6", _LOAD_WORD, v6, "", ""),
        ("", _EQUAL, 0, "", "v6 away"),
        ("", _LOAD_WORD, v6 + 4, "", ""),
        ("", _EQUAL, 0, "", "v6 away"),
        ("", _LOAD_WORD, v6 + 8, "", ""),
        ("", _EQUAL, 0, "", "v6 away"),
        ("", _LOAD_WORD, v6 + 12, "", ""),
        ("", _EQUAL, 1, _DROP, ""),
        ("v6 away", _LOAD_BYTE, _ETHERNET + 6, "", ""),
        ("", _EQUAL, _HOP_BY_HOP, _DROP, ""),
        ("", _EQUAL, _TCP, "v6 tcp", ""),
        ("", _EQUAL, _UDP, "v6 udp", ""),
        ("", _EQUAL, _ICMPV6, "", _KEEP),
        ("", _LOAD_BYTE, _ETHERNET + 40, "", ""),
        ("", _AT_LEAST, 130, "", _KEEP),  # 130 to 137 and 143: listeners, routers, neighbours
        ("", _AT_LEAST, 144, _KEEP, _DROP),
        ("v6 udp", _LOAD_HALF, _ETHERNET + 40, "", ""),
        ("", _EQUAL, DNS_PORT, _DROP, _KEEP),
        ("v6 tcp", _LOAD_BYTE, _ETHERNET + 40 + 13, "", ""),
        ("", _AND, _SYN_ACK_BITS, "", ""),
        ("", _EQUAL, _SYN, _KEEP, _DROP),
        (_KEEP, _RETURN, FRAME_LIMIT, "", ""),
        (_DROP, _RETURN, 0, "", ""),
    ]


def compile_filter() -> bytes:
    """The filter as packed ``struct sock_filter`` records."""
    lines = _lines()
    at = {label: index for index, (label, *_) in enumerate(lines) if label}

    def distance(index: int, label: str) -> int:
        return at[label] - index - 1 if label else 0

    return b"".join(
        struct.pack("=HBBI", code, distance(index, true), distance(index, false), operand)
        for index, (_, code, operand, true, false) in enumerate(lines)
    )


def open_tap() -> socket.socket:
    """Open the tap in the caller's network namespace: non-blocking, with whole frames of at most FRAME_LIMIT
    bytes.

    Raises OSError (EPERM without CAP_NET_RAW).
    """
    program = compile_filter()
    buffer = ctypes.create_string_buffer(program, len(program))
    descriptor = struct.pack("HL", len(program) // 8, ctypes.addressof(buffer))
    # Protocol 0 receives nothing: no packet gets in before the filter is in place.
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, 0)
    try:
        tap.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, descriptor)
        tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
        tap.bind(("lo", _ETH_P_ALL))
    except OSError:
        tap.close()
        raise
    return tap
