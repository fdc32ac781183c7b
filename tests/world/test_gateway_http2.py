"""HTTP/2 over TLS and with prior knowledge, spoken by h2 by hand."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from hashlib import blake2b

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, Event, ResponseReceived, StreamEnded
from h2.settings import SettingCodes
from warden import Warden, dial

BODY = bytes(range(256)) * 1000


class Client:
    """An HTTP/2 client that sends and receives only when it is told to."""

    def __init__(self, stream: socket.socket, **settings: int) -> None:
        self._stream = stream
        self.machine = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self.machine.local_settings.update({SettingCodes[name]: value for name, value in settings.items()})
        self.machine.initiate_connection()
        self.events: list[Event] = []

    def open(self, method: str = "GET", path: str = "/", *, end: bool = True, **headers: str) -> int:
        stream_id = self.machine.get_next_available_stream_id()
        pseudo = {":method": method, ":path": path, ":scheme": "https", ":authority": "a.org"}
        self.machine.send_headers(stream_id, [*pseudo.items(), *headers.items()], end_stream=end)
        return stream_id

    def flush(self) -> None:
        self._stream.sendall(self.machine.data_to_send())

    def until(self, done: Callable[[Event], bool]) -> Event:
        """Exchange bytes until an event of the gateway is the one that is waited for."""
        while True:
            self.flush()
            for event in self.events:
                if done(event):
                    return event
            data = self._stream.recv(65_536)
            assert data, f"the gateway closed after {self.events}"
            self.events += self.machine.receive_data(data)

    def answer(self, stream_id: int) -> tuple[dict[str, str], bytes]:
        self.until(lambda event: isinstance(event, StreamEnded) and event.stream_id == stream_id)
        mine = [event for event in self.events if getattr(event, "stream_id", 0) == stream_id]
        headers = next(dict(event.headers or []) for event in mine if isinstance(event, ResponseReceived))
        return headers, b"".join(event.data or b"" for event in mine if isinstance(event, DataReceived))

    def upload(self, stream_id: int, body: bytes) -> None:
        while body:
            window = self.machine.local_flow_control_window(stream_id)
            piece, body = body[: min(window, 16_384)], body[min(window, 16_384) :]
            self.machine.send_data(stream_id, piece, end_stream=not body)
            self.flush()
            if body and self.machine.local_flow_control_window(stream_id) == 0:
                self.events += self.machine.receive_data(self._stream.recv(65_536))


@pytest.fixture
def encrypted(box: Warden, trusting: ssl.SSLContext) -> Iterator[ssl.SSLSocket]:
    trusting.set_alpn_protocols(["h2", "http/1.1"])
    with (
        dial(box.tcp("22.1.2.3", 443)) as plain,
        trusting.wrap_socket(plain, server_hostname="a.org") as stream,
    ):
        assert stream.selected_alpn_protocol() == "h2"
        yield stream


@pytest.fixture
def plain(box: Warden) -> Iterator[socket.socket]:
    with dial(box.tcp("22.1.2.3", 80)) as stream:
        yield stream


def test_interleaved_streams_are_recorded_apart(box: Warden, encrypted: ssl.SSLSocket) -> None:
    client = Client(encrypted)
    first = client.open("POST", "/first", end=False)
    second = client.open("POST", "/second", end=False)
    client.machine.send_data(first, b"one")
    client.machine.send_data(second, b"two", end_stream=True)
    client.machine.send_data(first, b"!", end_stream=True)

    for stream in (first, second):
        headers, body = client.answer(stream)
        assert (headers[":status"], headers["content-type"], body) == ("200", "application/json", b"{}")

    seen = {exchange.url: exchange for exchange in box.exchanges()}
    assert seen["https://a.org/first"].body_head == "one!"
    assert seen["https://a.org/second"].body_head == "two"
    assert seen["https://a.org/second"].note == "TLS SNI a.org; HTTP/2"


def test_prior_knowledge_needs_no_tls(box: Warden, plain: socket.socket) -> None:
    client = Client(plain)
    _, body = client.answer(client.open("GET", "/x"))

    assert body == b"{}"
    assert box.exchanges()[0].note == "HTTP/2"


def test_a_body_larger_than_every_window_arrives_whole(box: Warden, plain: socket.socket) -> None:
    client = Client(plain)
    stream = client.open("POST", end=False)
    client.upload(stream, BODY)
    client.answer(stream)

    (seen,) = box.exchanges()
    assert (seen.body_size, seen.body_digest) == (len(BODY), blake2b(BODY, digest_size=16).hexdigest())


def test_a_head_request_has_no_body(box: Warden, plain: socket.socket) -> None:
    client = Client(plain)
    _, body = client.answer(client.open("HEAD"))

    assert body == b""
    assert box.exchanges()[0].method == "HEAD"


def test_an_answer_waits_until_the_client_has_room(box: Warden, plain: socket.socket) -> None:
    client = Client(plain, INITIAL_WINDOW_SIZE=0)
    stream = client.open()
    client.flush()
    seen = box.wait_for("http")
    client.machine.increment_flow_control_window(100, stream)

    assert client.answer(stream)[1] == b"{}"
    assert seen.url == "https://a.org/"


def test_secrets_are_recorded_as_their_marks(box: Warden, plain: socket.socket) -> None:
    client = Client(plain)
    client.answer(client.open("GET", "/?token=hunter2", authorization="Bearer hunter2"))

    assert "hunter2" not in repr(box.exchanges())


def test_a_client_that_waits_for_a_go_ahead_gets_it(box: Warden, plain: socket.socket) -> None:
    client = Client(plain)
    stream = client.open("POST", end=False, expect="100-continue")
    client.until(lambda event: type(event).__name__ == "InformationalResponseReceived")
    client.machine.send_data(stream, b"data", end_stream=True)
    client.answer(stream)

    assert box.exchanges()[0].body_head == "data"


def test_a_request_that_the_client_resets_is_recorded(box: Warden, plain: socket.socket) -> None:
    client = Client(plain)
    stream = client.open("POST", "/given-up", end=False)
    client.machine.send_data(stream, b"half")
    client.machine.reset_stream(stream)
    client.answer(client.open("GET", "/next"))

    given_up, _ = box.exchanges()
    assert (given_up.url, given_up.body_head) == ("https://a.org/given-up", "half")
    assert "reset" in given_up.note


def test_a_reset_behind_a_whole_request_does_not_end_the_others(box: Warden, plain: socket.socket) -> None:
    client = Client(plain)
    client.machine.reset_stream(client.open("GET", "/reset"))

    assert client.answer(client.open("GET", "/next"))[1] == b"{}"
    assert [seen.url for seen in box.exchanges()] == ["https://a.org/reset", "https://a.org/next"]


def test_a_client_that_says_goodbye_is_let_go(box: Warden, plain: socket.socket) -> None:
    client = Client(plain)
    client.answer(client.open())
    client.machine.close_connection()
    client.flush()

    while plain.recv(65_536):
        continue
    assert len(box.exchanges()) == 1


def test_a_request_that_never_ends_is_recorded_when_the_client_leaves(
    box: Warden, plain: socket.socket
) -> None:
    client = Client(plain)
    client.open("POST", "/half", end=False)
    client.flush()
    plain.shutdown(socket.SHUT_WR)

    seen = box.wait_for("http")
    assert (seen.url, seen.note) == ("https://a.org/half", "HTTP/2; incomplete")


def test_broken_frames_end_the_connection_with_a_reason(box: Warden, plain: socket.socket) -> None:
    client = Client(plain)
    client.flush()
    plain.sendall(b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00")

    client.until(lambda event: isinstance(event, ConnectionTerminated))
    assert "malformed" in box.exchanges()[0].note
