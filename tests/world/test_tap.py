"""Frames as lo shows them, built by hand, and one real tap in a network namespace of its own."""

from __future__ import annotations

import json
import struct
import subprocess
import sys
from ipaddress import ip_address
from pathlib import Path

import pytest

from sandbox.model import Packet
from sandbox.world.tap import parse_frame

NOW = 42
TCP, UDP, ICMP, IGMP, ICMPV6, SCTP = 6, 17, 1, 2, 58, 132
SYN, ACK, RST = 0x02, 0x10, 0x04


def tcp(port: int, flags: int = SYN) -> bytes:
    return struct.pack("!HHIIBBHHH", 40000, port, 1, 0, 5 << 4, flags, 65535, 0, 0)


def udp(port: int, source: int = 40000, data: bytes = b"data") -> bytes:
    return struct.pack("!HHHH", source, port, 8 + len(data), 0) + data


def ethernet(kind: int, content: bytes) -> bytes:
    return bytes(12) + struct.pack("!H", kind) + content


def ipv4(to: str, protocol: int, payload: bytes, *, fragment: int = 0, options: bytes = b"") -> bytes:
    header = struct.pack(
        "!BBHHHBBH4s4s",
        0x40 | (5 + len(options) // 4),
        0,
        20 + len(options) + len(payload),
        1,
        fragment,
        64,
        protocol,
        0,
        ip_address(to).packed,
        ip_address(to).packed,
    )
    return ethernet(0x0800, header + options + payload)


def ipv6(to: str, protocol: int, payload: bytes) -> bytes:
    address = ip_address(to).packed
    return ethernet(0x86DD, struct.pack("!IHBB", 6 << 28, len(payload), protocol, 64) + address * 2 + payload)


def extension(following: int, units: int = 0) -> bytes:
    return bytes([following, units]) + bytes(6 + 8 * units)


CONTACT = {
    "tcp": (ipv4("22.1.2.3", TCP, tcp(443)), Packet(NOW, "tcp", "22.1.2.3", 443, 40)),
    "tcp6": (ipv6("263f::1", TCP, tcp(80)), Packet(NOW, "tcp", "263f::1", 80, 60)),
    "udp": (ipv4("8.8.8.8", UDP, udp(53)), Packet(NOW, "udp", "8.8.8.8", 53, 32)),
    "udp6": (ipv6("263f::1", UDP, udp(443)), Packet(NOW, "udp", "263f::1", 443, 52)),
    "mapped": (ipv6("::ffff:22.1.2.3", TCP, tcp(1)), Packet(NOW, "tcp", "22.1.2.3", 1, 60)),
    "options": (ipv4("22.1.2.3", TCP, tcp(443), options=bytes(8)), Packet(NOW, "tcp", "22.1.2.3", 443, 48)),
    "first fragment": (
        ipv4("22.1.2.3", UDP, udp(9), fragment=0x2000),
        Packet(NOW, "udp", "22.1.2.3", 9, 32),
    ),
    "first fragment6": (
        ipv6("263f::1", 44, bytes([UDP, 0, 0, 1, 0, 0, 0, 7]) + udp(9)),
        Packet(NOW, "udp", "263f::1", 9, 60),
    ),
    "extensions": (
        ipv6(
            "263f::1",
            0,
            extension(60) + extension(43, 2) + extension(51) + bytes([TCP, 1]) + bytes(10) + tcp(7),
        ),
        Packet(NOW, "tcp", "263f::1", 7, 40 + 8 + 24 + 8 + 12 + 20),
    ),
    "cut off in extensions": (
        ipv6("263f::1", 0, extension(60, 31) + extension(TCP) + tcp(7))[:256],
        Packet(NOW, "other", "263f::1", 0, 40 + 256 + 8 + 20),
    ),
    "cut off": (ipv4("22.1.2.3", TCP, tcp(443))[:40], Packet(NOW, "other", "22.1.2.3", 0, 40)),
    "multicast": (ipv4("224.0.0.251", UDP, udp(5353)), Packet(NOW, "udp", "224.0.0.251", 5353, 32)),
    "broadcast": (ipv4("255.255.255.255", UDP, udp(67)), Packet(NOW, "udp", "255.255.255.255", 67, 32)),
    "private": (ipv4("10.0.0.1", TCP, tcp(22)), Packet(NOW, "tcp", "10.0.0.1", 22, 40)),
    "ping": (ipv4("8.8.8.8", ICMP, b"\x08" + bytes(7)), Packet(NOW, "other", "8.8.8.8", 0, 28)),
    "ping6": (ipv6("263f::1", ICMPV6, b"\x80" + bytes(7)), Packet(NOW, "other", "263f::1", 0, 48)),
    "another protocol": (ipv4("22.1.2.3", SCTP, bytes(12)), Packet(NOW, "other", "22.1.2.3", 0, 32)),
}

NO_CONTACT = {
    "loopback": ipv4("127.0.0.53", UDP, udp(53)),
    "loopback6": ipv6("::1", TCP, tcp(443)),
    "mapped loopback": ipv6("::ffff:127.0.0.1", TCP, tcp(443)),
    "accepted": ipv4("22.1.2.3", TCP, tcp(40000, SYN | ACK)),
    "established": ipv4("22.1.2.3", TCP, tcp(443, ACK)),
    "reset": ipv4("22.1.2.3", TCP, tcp(443, RST | ACK)),
    "our dns answer": ipv4("8.8.8.8", UDP, udp(40000, source=53)),
    "later fragment": ipv4("22.1.2.3", UDP, b"more", fragment=0x0010),
    "later fragment6": ipv6("263f::1", 44, bytes([UDP, 0, 0, 8, 0, 0, 0, 7]) + b"more"),
    "port unreachable": ipv4("22.1.2.3", ICMP, b"\x03\x03" + bytes(30)),
    "echo reply": ipv4("22.1.2.3", ICMP, b"\x00" + bytes(7)),
    "port unreachable6": ipv6("263f::1", ICMPV6, b"\x01\x04" + bytes(46)),
    "neighbour solicitation": ipv6("ff02::1:ff00:1", ICMPV6, b"\x87" + bytes(23)),
    "listener report": ipv6("ff02::16", 0, extension(ICMPV6) + b"\x8f" + bytes(19)),
    "igmp": ipv4("224.0.0.22", IGMP, b"\x22" + bytes(15)),
    "arp": ethernet(0x0806, bytes(28)),
    "empty": b"",
    "no ip header": ethernet(0x0800, bytes(10)),
}


@pytest.mark.parametrize(("frame", "packet"), CONTACT.values(), ids=CONTACT)
def test_contact_is_told_with_its_destination(frame: bytes, packet: Packet) -> None:
    assert parse_frame(frame, NOW) == packet


@pytest.mark.parametrize("frame", NO_CONTACT.values(), ids=NO_CONTACT)
def test_what_is_no_contact_is_left_out(frame: bytes) -> None:
    assert parse_frame(frame, NOW) is None


@pytest.mark.parametrize("frame", [frame for frame, _ in CONTACT.values()], ids=CONTACT)
def test_a_frame_may_be_cut_off_anywhere(frame: bytes) -> None:
    for length in range(len(frame)):
        packet = parse_frame(frame[:length], NOW)

        assert packet is None or packet.protocol in {"tcp", "udp", "other"}


def test_a_real_tap_sees_each_packet_once_and_counts_what_it_lost() -> None:
    script = Path(__file__).with_name("tapped_namespace.py")

    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["packets"] == [["udp", "22.1.2.3", 9], ["tcp", "22.1.2.3", 80]]
    assert seen["in time"]
    assert seen["dropped"] == 0
    assert seen["flooded"] > 0
