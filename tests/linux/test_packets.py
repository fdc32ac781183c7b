"""The tap's filter, run on packets by a small interpreter of classic BPF: real packets need powers that a
test does not have."""

from __future__ import annotations

import ipaddress
import struct

import pytest

from sandbox.linux.netlink import BOX_ADDRESS
from sandbox.linux.packets import FRAME_LIMIT, compile_filter

OUTGOING, HOST = 4, 0
SYN, SYN_ACK, ACK = 0x02, 0x12, 0x10
TCP, UDP, ICMP, ICMPV6, SCTP = 6, 17, 1, 58, 132


def run(frame: bytes, kind: int = OUTGOING) -> int:
    """What the filter answers: the bytes to keep."""
    code = list(struct.iter_unpack("=HBBI", compile_filter()))
    accumulator = index = at = 0
    while True:
        operation, true, false, operand = code[at]
        at += 1
        match operation:
            case 0x20 if operand == 0xFFFFF004:
                accumulator = kind
            case 0x20:
                (accumulator,) = struct.unpack_from(">I", frame, operand)
            case 0x28:
                (accumulator,) = struct.unpack_from(">H", frame, operand)
            case 0x30:
                accumulator = frame[operand]
            case 0x48:
                (accumulator,) = struct.unpack_from(">H", frame, operand + index)
            case 0x50:
                accumulator = frame[operand + index]
            case 0xB1:
                index = 4 * (frame[operand] & 0xF)
            case 0x54:
                accumulator &= operand
            case 0x15:
                at += true if accumulator == operand else false
            case 0x35:
                at += true if accumulator >= operand else false
            case 0x06:
                return operand
            case _:
                raise AssertionError(f"operation {operation:#x}")


def packet(destination: str, protocol: int, payload: bytes, options: int = 0) -> bytes:
    address = ipaddress.ip_address(destination)
    if address.version == 4:
        header = (
            bytes([0x45 + options, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0])
            + bytes([10, 0, 2, 15])
            + address.packed
        )
        return bytes(12) + b"\x08\x00" + header + bytes(4 * options) + payload
    header = bytes([0x60, 0, 0, 0, 0, 0, protocol, 64]) + ipaddress.ip_address("::1").packed + address.packed
    return bytes(12) + b"\x86\xdd" + header + payload


def tcp(flags: int) -> bytes:
    return struct.pack(">HHIIBBHHH", 40000, 443, 0, 0, 0x50, flags, 0, 0, 0)


def udp(source: int = 40000, port: int = 123) -> bytes:
    return struct.pack(">HHHH", source, port, 8, 0)


AWAY = ["11.22.33.44", "10.0.0.1", "255.255.255.255", "2001:db8::1", "fd00::1", "::2"]
HOME = ["127.0.0.1", "127.9.9.9", BOX_ADDRESS, "::1"]


@pytest.mark.parametrize("destination", AWAY)
@pytest.mark.parametrize(
    ("protocol", "payload"), [(TCP, tcp(SYN)), (UDP, udp()), (UDP, udp(port=53)), (SCTP, bytes(20))]
)
def test_contact_is_kept(destination: str, protocol: int, payload: bytes) -> None:
    assert run(packet(destination, protocol, payload)) == FRAME_LIMIT


@pytest.mark.parametrize("destination", HOME)
@pytest.mark.parametrize(("protocol", "payload"), [(TCP, tcp(SYN)), (UDP, udp()), (SCTP, bytes(20))])
def test_loopback_and_the_box_itself_are_dropped(destination: str, protocol: int, payload: bytes) -> None:
    assert run(packet(destination, protocol, payload)) == 0


@pytest.mark.parametrize("destination", ["11.22.33.44", "2001:db8::1"])
@pytest.mark.parametrize("flags", [SYN_ACK, ACK, 0x04, 0x11])
def test_only_the_opening_of_a_connection_is_kept(destination: str, flags: int) -> None:
    assert run(packet(destination, TCP, tcp(flags))) == 0


@pytest.mark.parametrize("destination", ["11.22.33.44", "2001:db8::1"])
def test_the_name_services_own_answers_are_dropped(destination: str) -> None:
    assert run(packet(destination, UDP, udp(source=53))) == 0


def test_options_of_the_ip_header_do_not_move_the_ports_out_of_sight() -> None:
    assert run(packet("11.22.33.44", TCP, tcp(SYN), options=3)) == FRAME_LIMIT
    assert run(packet("11.22.33.44", TCP, tcp(ACK), options=3)) == 0


def test_a_ping_is_kept_and_the_kernels_neighbour_talk_is_dropped() -> None:
    assert run(packet("11.22.33.44", ICMP, bytes([8, 0]) + bytes(6))) == FRAME_LIMIT
    assert run(packet("2001:db8::1", ICMPV6, bytes([128, 0]) + bytes(6))) == FRAME_LIMIT
    for kind in (133, 134, 135, 136, 137, 143):
        assert run(packet("ff02::2", ICMPV6, bytes([kind, 0]) + bytes(6))) == 0
    assert run(packet("ff02::16", 0, bytes(8))) == 0


def test_each_packet_is_seen_once_on_its_way_out() -> None:
    assert run(packet("11.22.33.44", UDP, udp()), kind=HOST) == 0


def test_other_protocols_of_the_link_are_dropped() -> None:
    assert run(bytes(12) + b"\x08\x06" + bytes(46)) == 0
