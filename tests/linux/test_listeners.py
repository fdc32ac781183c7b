"""Sockets for the gateway."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest

from sandbox.linux.listeners import Listeners


@pytest.fixture
def gateway() -> Iterator[tuple[socket.socket, Listeners]]:
    gateways, wardens = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    gateways.setblocking(False)
    with gateways, wardens:
        yield gateways, Listeners(wardens)


def receive(gateway: socket.socket) -> list[tuple[str, str, int, socket.socket]]:
    message, descriptors, _, _ = socket.recv_fds(gateway, 65536, 16)
    entries = json.loads(message)["sockets"]
    assert len(entries) == len(descriptors)
    return [
        (entry["proto"], entry["ip"], entry["port"], socket.socket(fileno=descriptor))
        for entry, descriptor in zip(entries, descriptors, strict=True)
    ]


def test_an_address_that_no_device_has_gets_both_sockets_once(
    gateway: tuple[socket.socket, Listeners],
) -> None:
    end, listeners = gateway
    listeners.open("2001:db8::7", 45123)
    listeners.open("2001:db8::7", 45123)

    opened = receive(end)
    assert [entry[:3] for entry in opened] == [("tcp", "2001:db8::7", 45123), ("udp", "2001:db8::7", 45123)]
    for _, ip, port, bound in opened:
        with bound:
            assert bound.getsockname()[:2] == (ip, port)
    with pytest.raises(BlockingIOError):
        receive(end)


@pytest.mark.parametrize(
    ("ip", "port"),
    [
        ("127.0.0.1", 80),
        ("::1", 80),
        ("0.0.0.0", 80),
        ("2001:db8::7", 0),
        ("2001:db8::7", 53),
        ("::ffff:127.0.0.1", 80),
    ],
)
def test_loopback_port_zero_and_the_name_service_are_nobodys_business(
    ip: str, port: int, gateway: tuple[socket.socket, Listeners]
) -> None:
    end, listeners = gateway
    listeners.open(ip, port)

    with pytest.raises(BlockingIOError):
        receive(end)


def test_a_gateway_that_does_not_read_is_not_waited_for(gateway: tuple[socket.socket, Listeners]) -> None:
    _, listeners = gateway

    def flood() -> None:
        for port in range(20000, 22000):
            listeners.open("2001:db8::7", port)

    with pytest.raises(BlockingIOError):
        flood()


def test_without_a_gateway_nothing_is_opened() -> None:
    Listeners(None).open("2001:db8::7", 45125)
