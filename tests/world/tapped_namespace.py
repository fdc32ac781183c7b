"""Run as a program: sends packets in a network namespace of its own and prints what a tap there saw.

Both needed calls work without privileges: a new user namespace owns the new network namespace.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time

from sandbox.linux import syscalls
from sandbox.linux.netlink import set_up_loopback
from sandbox.world import read_tap

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
ETH_P_ALL = 3
ELSEWHERE = "22.1.2.3"
# Long after sending, and far beyond what the wall clock may be steered meanwhile (500 ppm; adjtimex(2)).
READ_LATER_S = 0.2
CLOCK_ERROR_NS = 20_000_000


def send() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"data", (ELSEWHERE, 9))
        client.sendto(b"data", ("127.0.0.1", 9))
    with socket.socket() as client, contextlib.suppress(ConnectionRefusedError):
        client.connect((ELSEWHERE, 80))


def flood() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        for _ in range(1000):
            with contextlib.suppress(ConnectionRefusedError):
                client.sendto(bytes(1000), (ELSEWHERE, 9))


def wait_for_stamps(descriptor: int) -> None:
    """The kernel starts to stamp packets some time after it was asked to (a work queue; net/core/dev.c)."""
    for _ in range(250):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.sendto(b"data", (ELSEWHERE, 9))
        time.sleep(0.02)
        read_ns = time.monotonic_ns()
        packets, _ = read_tap(descriptor)
        if packets[0].at_ns < read_ns:
            return


def main() -> None:
    syscalls.unshare(CLONE_NEWUSER | CLONE_NEWNET)
    set_up_loopback()
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as tap:
        tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        tap.bind(("lo", ETH_P_ALL))
        tap.setblocking(False)
        descriptor = os.dup(tap.fileno())
        read_tap(descriptor)
        wait_for_stamps(descriptor)
        before = time.monotonic_ns()
        send()
        after = time.monotonic_ns()
        time.sleep(READ_LATER_S)
        packets, dropped = read_tap(descriptor)
        flood()
        _, flooded = read_tap(descriptor)
        os.close(descriptor)
    print(  # noqa: T201 - the test reads it
        json.dumps(
            {
                "packets": [[packet.protocol, packet.address, packet.port] for packet in packets],
                "in time": all(
                    before - CLOCK_ERROR_NS <= packet.at_ns <= after + CLOCK_ERROR_NS for packet in packets
                ),
                "dropped": dropped,
                "flooded": flooded,
            }
        )
    )


if __name__ == "__main__":
    main()
