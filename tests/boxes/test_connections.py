"""The engine's own connections to a server that listens in its box."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from waiting import read_line, wait_until

from sandbox.boxes import Box, BoxPlan, Exposure, Launcher
from sandbox.world import read_tap

ECHO = """
import socket, sys
where, port = sys.argv[1], int(sys.argv[2])
listener = socket.create_server((where, port), family=socket.AF_INET6 if ":" in where else socket.AF_INET)
print("listening", flush=True)
while True:
    peer, _ = listener.accept()
    peer.sendall(peer.recv(100).upper())
    peer.close()
"""

Echo = Callable[..., Box]


@pytest.fixture
def echo(launcher: Launcher, python: tuple[str, tuple[Exposure, ...]]) -> Iterator[Echo]:
    boxes: list[Box] = []
    interpreter, exposures = python

    def launch(where: str, port: int = 7000) -> Box:
        words = (interpreter, "-I", "-c", ECHO, where, str(port))
        boxes.append(launcher.launch(BoxPlan(words, exposures=exposures)))
        return boxes[-1]

    yield launch
    for box in boxes:
        box.close()


@pytest.mark.parametrize("where", ["127.0.0.1", "0.0.0.0", "::1", "::"])
def test_the_engine_reaches_whatever_listens_on_loopback(echo: Echo, where: str) -> None:
    box = echo(where)
    assert read_line(box) == "listening"
    assert box.listening_ports() == (7000,)
    for _ in range(3):
        with box.connect(7000) as connection:
            connection.sendall(b"hello")
            assert connection.recv(100) == b"HELLO"
    assert read_tap(box.tap) == ([], 0)


def test_two_boxes_have_networks_of_their_own(echo: Echo) -> None:
    one, other = echo("127.0.0.1"), echo("127.0.0.1", 7001)
    assert read_line(one) == read_line(other) == "listening"
    assert (one.listening_ports(), other.listening_ports()) == ((7000,), (7001,))
    with pytest.raises(ConnectionRefusedError):
        other.connect(7000)


def test_a_server_that_has_ended_is_told_apart_from_one_that_does_not_listen_yet(
    launcher: Launcher,
) -> None:
    with launcher.launch(BoxPlan(("/bin/sh", "-c", "read line"))) as box:
        assert box.listening_ports() == ()
        with pytest.raises(ConnectionRefusedError):
            box.connect(7000)
        box.kill_server()
        wait_until(lambda: not box.alive)
        with pytest.raises(ConnectionAbortedError):
            box.connect(7000)
    with pytest.raises(ConnectionAbortedError):
        box.connect(7000)


def test_stdout_can_be_kept_with_stderr(launcher: Launcher) -> None:
    plan = BoxPlan(("/bin/sh", "-c", "echo one; echo two >&2; read line"), stdout_is_log=True)
    with launcher.launch(plan) as box:
        wait_until(lambda: box.stderr_tail() == "one\ntwo\n")
