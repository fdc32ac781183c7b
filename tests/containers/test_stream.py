"""The attached streams, as Docker packs them."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from sandbox.containers import stream
from sandbox.containers.stream import AttachedStream
from sandbox.errors import ContainerLostError


class Pair:
    """An attached stream, and Docker's end of its connection."""

    def __init__(self) -> None:
        ours, self.docker = socket.socketpair()
        ours.settimeout(60)  # as docker-py leaves it
        self.attached = AttachedStream(ours.makefile("rb", buffering=0))
        ours.close()

    def say(self, *frames: bytes) -> None:
        self.docker.sendall(b"".join(frames))

    def close(self) -> None:
        self.docker.close()
        self.attached.close()


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    made.close()


def frame(kind: int, payload: bytes) -> bytes:
    return struct.pack(">BxxxL", kind, len(payload)) + payload


def test_lines_are_put_together_from_pieces_of_both_streams(pair: Pair) -> None:
    pair.say(frame(1, b"one\ntw"), frame(2, b"aside\n"), frame(1, b"o\n\nthree\n"), frame(1, b"cut sho"))
    pair.docker.shutdown(socket.SHUT_WR)
    assert list(pair.attached.lines()) == [b"one", b"two", b"", b"three"]
    assert pair.attached.stderr_tail() == "aside\n"


def test_a_frame_that_breaks_off_is_the_end(pair: Pair) -> None:
    pair.say(frame(1, b"whole\n"), frame(1, b"half of it\n")[:9])
    pair.docker.shutdown(socket.SHUT_WR)
    assert list(pair.attached.lines()) == [b"whole"]


def test_of_a_long_stderr_the_end_is_kept(pair: Pair) -> None:
    def docker() -> None:
        for number in range(3000):
            pair.say(frame(2, b"%0100d" % number))
        pair.docker.shutdown(socket.SHUT_WR)

    writer = threading.Thread(target=docker)
    writer.start()
    assert list(pair.attached.lines()) == []
    writer.join()
    assert len(pair.attached.stderr_tail()) == 64 << 10
    assert pair.attached.stderr_tail().endswith("2999")


def test_a_line_without_end_is_refused(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LINE_LIMIT", 1000)
    pair.say(frame(1, b"x" * 999), frame(1, b"xx"))
    with pytest.raises(ContainerLostError, match="line of more than"):
        next(pair.attached.lines())


def test_what_is_sent_arrives_and_after_the_end_is_an_error(pair: Pair) -> None:
    pair.attached.send(b"an order\n")
    assert pair.docker.recv(100) == b"an order\n"
    pair.docker.close()
    with pytest.raises(ContainerLostError, match="no more orders"):
        pair.attached.send(b"another\n")


def test_closing_wakes_the_reader_and_ends_the_other_side(pair: Pair) -> None:
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.extend(pair.attached.lines()))
    pair.say(frame(1, b"hello\n"))
    reader.start()
    while not read:
        pass
    pair.attached.close()
    reader.join(60)
    assert not reader.is_alive()
    assert pair.docker.recv(1) == b""
