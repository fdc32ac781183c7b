"""TCP clients that do not speak HTTP, or nothing at all, or not at all nicely."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from contextlib import ExitStack, closing

import pytest
from warden import Address, Warden, dial, read_to_end

from sandbox.world import World
from sandbox.world.outside import MOST_CONNECTIONS
from sandbox.world.stream import Speech, recognise

GET = b"GET / HTTP/1.1\r\nHost: a.org\r\n\r\n"


def is_answered(address: Address) -> bool:
    with dial(address) as client:
        client.sendall(GET)
        return client.recv(1000).endswith(b"{}")


@pytest.mark.parametrize(
    ("head", "speech"),
    [
        (b"", None),
        (b"\x16", None),
        (b"\x16\x03\x01", Speech.TLS),
        (b"\x16\x04", Speech.OTHER),
        (b"P", None),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n", None),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Speech.HTTP2),
        (b"GET / HT", None),
        (b"GET / HTTP/1.1\r\n", Speech.HTTP1),
        (b"M-SEARCH * HTTP/1.1\r\n", Speech.HTTP1),
        (b"GET / HTTP/1.1\n", Speech.HTTP1),
        (b"PING\r\n", Speech.OTHER),
        (b"NICK someone\r\n", Speech.OTHER),
        (b"SSH-2.0-OpenSSH_9.6\r\n", Speech.OTHER),
        (b"\x00\x00\x00\x08\x04\xd2\x16\x2f", Speech.OTHER),
        (b"GET /" + b"x" * 70_000, Speech.OTHER),
        (b"A" * 33, Speech.OTHER),
    ],
)
def test_a_protocol_is_known_by_its_first_bytes(head: bytes, speech: Speech | None) -> None:
    assert recognise(head) is speech


def test_a_client_that_waits_for_a_greeting_is_recorded_and_let_go(box: Warden) -> None:
    with dial(box.tcp("22.5.5.5", 25)) as client:
        assert read_to_end(client) == b""

    (seen,) = box.exchanges()
    assert (seen.kind, seen.address, seen.port) == ("tcp", "22.5.5.5", 25)
    assert (seen.note, seen.body_size) == ("no data", 0)


def test_a_client_that_connects_and_leaves_is_recorded(box: Warden) -> None:
    dial(box.tcp("22.5.5.5", 25)).close()

    assert box.wait_for("tcp").note == "no data"


@pytest.mark.parametrize("garbage", [b"\x00\xff\x16\x03" * 30, b"SSH-2.0-x\r\n", b"\r\n\r\n", b"GET"])
def test_other_protocols_are_recorded_with_their_first_bytes(box: Warden, garbage: bytes) -> None:
    with dial(box.tcp("22.5.5.5", 6379)) as client:
        client.sendall(garbage)
        client.shutdown(socket.SHUT_WR)
        assert read_to_end(client) == b""

    (seen,) = box.exchanges()
    assert (seen.kind, seen.port, seen.body_size) == ("tcp", 6379, len(garbage))
    assert seen.note == garbage[:64].hex()


def test_a_client_that_does_not_trust_us_is_recorded_with_the_name_it_wanted(box: Warden) -> None:
    distrusting = ssl.create_default_context()
    with dial(box.tcp("22.5.5.5", 443)) as client, pytest.raises(ssl.SSLCertVerificationError):
        distrusting.wrap_socket(client, server_hostname="api.example.org")

    seen = box.wait_for("tls-failed")
    assert (seen.address, seen.port) == ("22.5.5.5", 443)
    assert seen.note == "TLS SNI api.example.org; tlsv1 alert unknown ca"


def test_a_client_that_leaves_after_the_handshake_is_recorded_as_failed(
    box: Warden, trusting: ssl.SSLContext
) -> None:
    with (
        dial(box.tcp("22.5.5.5", 443)) as client,
        trusting.wrap_socket(client, server_hostname="api.example.org"),
    ):
        pass

    assert box.wait_for("tls-failed").note == "TLS SNI api.example.org; the client left"


def test_a_client_that_waits_for_a_greeting_over_tls_did_not_fail(
    box: Warden, trusting: ssl.SSLContext
) -> None:
    with (
        dial(box.tcp("22.5.5.5", 993)) as client,
        trusting.wrap_socket(client, server_hostname="imap.example.org") as secure,
    ):
        assert read_to_end(secure) == b""

    assert box.exchanges()[0].kind == "tcp"
    assert box.exchanges()[0].note == "TLS SNI imap.example.org; no data"


@pytest.mark.parametrize(
    "hello", [b"\x16\x03\x01\x00\x05hello", b"\x16\x03\x01", b"\x16\x03\x03\xff\xff" + b"x" * 70_000]
)
def test_broken_handshakes_are_recorded(box: Warden, hello: bytes) -> None:
    with dial(box.tcp("22.5.5.5", 443)) as client:
        client.sendall(hello)
        client.shutdown(socket.SHUT_WR)

        assert box.wait_for("tls-failed").note.startswith("TLS; ")


def test_a_name_that_is_no_ascii_fails_only_its_own_handshake(box: Warden, trusting: ssl.SSLContext) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    shaking = trusting.wrap_bio(incoming, outgoing, server_hostname="api.example.org")
    with pytest.raises(ssl.SSLWantReadError):
        shaking.do_handshake()
    address = box.tcp("22.5.5.5", 443)
    with dial(address) as client:
        client.sendall(outgoing.read().replace(b"api.example.org", b"\xffpi.example.org"))

        assert box.wait_for("tls-failed").note.startswith("TLS; ")
    assert is_answered(address)


def test_a_slow_client_does_not_hold_up_another_one(box: Warden) -> None:
    address = box.tcp("22.1.2.3", 80)
    with ExitStack() as opened:
        for beginning in (b"", b"G", b"GET / HTTP/1.1\r\nHost:", b"\x16\x03\x01", GET[:-2]) * 10:
            opened.enter_context(dial(address)).sendall(beginning)

        assert is_answered(address)


def test_a_fast_client_does_not_hold_up_another_one(box: Warden) -> None:
    address = box.tcp("22.1.2.3", 80)
    done = threading.Event()

    def flood() -> None:
        with dial(address) as client, contextlib.suppress(ConnectionError):
            client.sendall(b"POST / HTTP/1.1\r\nHost: a.org\r\nTransfer-Encoding: chunked\r\n\r\n")
            while not done.is_set():
                client.sendall(b"10000\r\n" + b"x" * 65_536 + b"\r\n")

    flooding = threading.Thread(target=flood)
    flooding.start()
    try:
        assert is_answered(address)
    finally:
        done.set()
        flooding.join()


def test_a_client_that_does_not_read_its_answers_does_not_hold_up_another_one(box: Warden) -> None:
    address = box.tcp("22.1.2.3", 80)
    with dial(address) as client:
        client.settimeout(0.5)
        with contextlib.suppress(TimeoutError):
            client.sendall(GET * 100_000)

        assert is_answered(address)


def test_a_connection_too_many_is_refused_and_recorded(box: Warden) -> None:
    address = box.tcp("22.1.2.3", 80)
    with ExitStack() as opened:
        for _ in range(MOST_CONNECTIONS):
            opened.enter_context(dial(address)).sendall(b"GET / HTTP/1.1\r\n")
        assert opened.enter_context(dial(address)).recv(1) == b""

    assert box.wait_for("tcp").note == "not served: too many connections"


def test_a_box_that_ends_takes_its_own_connections_only(world: World, box: Warden) -> None:
    with closing(Warden(world, "other")) as other, dial(other.tcp()) as client:
        client.sendall(GET)
        assert client.recv(1000)
        other.control.close()
        assert client.recv(1000) == b""

    assert is_answered(box.tcp())


def test_nonsense_of_a_warden_costs_its_own_box_only(world: World, box: Warden) -> None:
    with closing(Warden(world, "other")) as other:
        other.control.send(b"no json")
        other.control.send(b'{"sockets": [{"proto": "tcp", "ip": "22.1.1.1", "port": 80}]}')

        assert other.wait_for("tcp").note == "not served: too many sockets"
    assert is_answered(box.tcp())
