"""HTTP/1.x, plain and over TLS, spoken by the standard library, httpx2 and by hand."""

from __future__ import annotations

import http.client
import socket
import ssl
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from hashlib import blake2b

import httpx2
import pytest
from dnslib import DNSRecord  # type: ignore[import-untyped]
from warden import PATIENCE_S, Warden, dial, read_to_end

from sandbox.model import Exchange
from sandbox.world.redaction import mark
from sandbox.world.request import Request
from sandbox.world.route import Route


def digest(body: bytes) -> str:
    return blake2b(body, digest_size=16).hexdigest()


@pytest.fixture
def connection(box: Warden) -> Iterator[http.client.HTTPConnection]:
    host, port = box.tcp("22.1.2.3", 80)
    with closing(http.client.HTTPConnection(host, port, timeout=PATIENCE_S)) as opened:
        yield opened


def exchange_of(box: Warden, request: bytes) -> tuple[bytes, Exchange]:
    """Send bytes, end, and read all: the answer and the only exchange, which is there by then."""
    with dial(box.tcp("22.1.2.3", 80)) as client:
        client.sendall(request)
        client.shutdown(socket.SHUT_WR)
        answer = read_to_end(client)
    (seen,) = box.exchanges()
    return answer, seen


def test_a_request_is_recorded_before_it_is_answered(
    box: Warden, connection: http.client.HTTPConnection
) -> None:
    connection.request("GET", "/items?q=1", headers={"Host": "api.example.org", "Accept": "*/*"})
    answer = connection.getresponse()

    (seen,) = box.exchanges()
    assert (answer.status, answer.read(), answer.headers["content-type"]) == (200, b"{}", "application/json")
    assert (seen.kind, seen.method, seen.url) == ("http", "GET", "http://api.example.org/items?q=1")
    assert (seen.address, seen.port, seen.note) == ("22.1.2.3", 80, "HTTP/1.1")
    assert ("accept", "*/*") in seen.headers
    assert (seen.body_digest, seen.body_head, seen.body_size) == ("", "", 0)


def test_a_connection_is_kept_alive(box: Warden, connection: http.client.HTTPConnection) -> None:
    for path in ("/one", "/two", "/three"):
        connection.request("GET", path, headers={"Host": "a.org"})
        assert connection.getresponse().read() == b"{}"

    assert [seen.url for seen in box.exchanges()] == [f"http://a.org/{n}" for n in ("one", "two", "three")]


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("body", [b'{"a": 1}', bytes(range(256)) * 20_000], ids=["small", "5 MB"])
def test_a_body_is_digested_whole_and_kept_in_part(
    box: Warden, connection: http.client.HTTPConnection, body: bytes, chunked: bool
) -> None:
    pieces = iter([body[:5], body[5:]]) if chunked else body
    connection.request("POST", "/", body=pieces, encode_chunked=chunked)
    assert connection.getresponse().status == 200

    (seen,) = box.exchanges()
    assert (seen.body_size, seen.body_digest) == (len(body), digest(body))
    assert seen.body_head == body[:4096].decode("utf-8", "backslashreplace")


def test_a_body_is_read_up_to_a_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.world.request.MOST_BODY", 10)
    request = Request(Route("a.org", "22.1.2.3", 80), "HTTP/1.1", "POST", "http://a.org/", [])

    request.add(b"nine byte")
    assert not request.too_long
    request.add(b"s more")

    assert request.too_long
    assert request.exchange().note == "HTTP/1.1; body cut at the cap"


def test_a_head_request_is_answered_without_a_body(
    box: Warden, connection: http.client.HTTPConnection
) -> None:
    connection.request("HEAD", "/")
    answer = connection.getresponse()

    assert (answer.status, answer.headers["content-length"], answer.read()) == (200, "2", b"")
    assert box.exchanges()[0].method == "HEAD"


def test_a_client_that_waits_for_a_go_ahead_gets_it(box: Warden) -> None:
    with dial(box.tcp("22.1.2.3", 80)) as client:
        client.sendall(b"PUT / HTTP/1.1\r\nHost: a.org\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        client.sendall(b"data")
        assert client.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")

    assert box.exchanges()[0].body_head == "data"


def test_an_upgrade_is_answered_as_a_plain_request(box: Warden) -> None:
    upgrade = b"GET /ws HTTP/1.1\r\nHost: a.org\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"

    answer, seen = exchange_of(box, upgrade)

    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b"\r\n\r\n{}")
    assert ("upgrade", "websocket") in seen.headers


def test_a_request_to_a_proxy_is_recorded_with_its_whole_url(box: Warden) -> None:
    _, seen = exchange_of(box, b"GET http://b.org/x HTTP/1.1\r\nHost: b.org\r\n\r\n")

    assert seen.url == "http://b.org/x"


def test_http_1_0_is_answered_and_closed(box: Warden) -> None:
    with dial(box.tcp("22.1.2.3", 80)) as client:
        client.sendall(b"GET /old HTTP/1.0\r\n\r\n")
        assert read_to_end(client).endswith(b"{}")

    (seen,) = box.exchanges()
    assert (seen.url, seen.note) == ("http://22.1.2.3/old", "HTTP/1.0")


def test_a_head_without_end_is_refused_and_recorded(box: Warden) -> None:
    answer, seen = exchange_of(box, b"GET / HTTP/1.1\r\nHost: a.org\r\nX: " + b"x" * 200_000)

    assert answer.startswith(b"HTTP/1.1 431 ")
    assert seen.kind == "http"
    assert "malformed" in seen.note
    assert seen.body_head.startswith("GET / HTTP/1.1")


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
    ],
    ids=["header", "no host", "length"],
)
def test_a_malformed_request_is_refused_and_recorded(box: Warden, request_bytes: bytes) -> None:
    answer, seen = exchange_of(box, request_bytes)

    assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert "malformed" in seen.note
    assert seen.url or seen.body_head == request_bytes.decode()


def test_a_request_that_is_cut_off_is_recorded_as_far_as_it_came(box: Warden) -> None:
    _, seen = exchange_of(box, b"POST /x HTTP/1.1\r\nHost: a.org\r\nContent-Length: 100\r\n\r\nhalf")

    assert (seen.method, seen.url, seen.body_head) == ("POST", "http://a.org/x", "half")
    assert "malformed" in seen.note


def test_what_a_box_that_ends_was_sending_is_recorded(box: Warden) -> None:
    with dial(box.tcp("22.1.2.3", 80)) as client:
        client.sendall(
            b"POST /x HTTP/1.1\r\nHost: a.org\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n"
        )
        assert client.recv(100).startswith(b"HTTP/1.1 100 ")
        box.control.close()
        seen = box.wait_for("http")

    assert seen.url == "http://a.org/x"
    assert "incomplete" in seen.note


def test_secrets_are_recorded_as_their_marks(box: Warden, connection: http.client.HTTPConnection) -> None:
    headers = {"Host": "a.org", "Authorization": "Bearer hunter2", "X-Api-Key": "hunter2"}
    connection.request("GET", "/?access_token=hunter2&q=1", headers=headers)
    connection.getresponse()

    (seen,) = box.exchanges()
    assert "hunter2" not in repr(seen)
    assert seen.url == f"http://a.org/?access_token={mark('hunter2')}&q=1"
    assert ("authorization", f"Bearer {mark('hunter2')}") in seen.headers


def test_a_connection_is_told_by_the_name_that_was_looked_up(box: Warden) -> None:
    resolver_host, resolver_port = box.udp("8.8.8.8", 53)
    reply = DNSRecord.question("api.example.org").send(resolver_host, resolver_port, timeout=PATIENCE_S)
    fake = str(DNSRecord.parse(reply).rr[0].rdata)

    with dial(box.tcp(fake, 80)) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: another.org\r\n\r\n")
        client.recv(100)

    seen = box.exchanges()[-1]
    assert (seen.host, seen.address, seen.url) == ("api.example.org", fake, "http://another.org/")


def test_urllib_is_answered_over_tls(box: Warden, trusting: ssl.SSLContext) -> None:
    # urllib connects to the name in the URL, so the certificate is one for an address here.
    _, port = box.tcp("127.0.0.1", 443)
    with urllib.request.urlopen(f"https://127.0.0.1:{port}/x", data=b"y", context=trusting) as answer:
        assert answer.read() == b"{}"

    (seen,) = box.exchanges()
    assert (seen.method, seen.url, seen.note) == ("POST", f"https://127.0.0.1:{port}/x", "TLS; HTTP/1.1")


def test_httpx_is_answered_over_tls(box: Warden, trusting: ssl.SSLContext) -> None:
    _, port = box.tcp("22.1.2.3", 443)
    with httpx2.Client(verify=trusting, trust_env=False) as client:
        answer = client.post(
            f"https://127.0.0.1:{port}/x",
            json={"a": 1},
            headers={"Host": "api.example.org"},
            extensions={"sni_hostname": "api.example.org"},
        )

    assert (answer.status_code, answer.json()) == (200, {})
    (seen,) = box.exchanges()
    assert (seen.url, seen.body_head) == ("https://api.example.org/x", '{"a":1}')
    assert seen.note == "TLS SNI api.example.org; HTTP/1.1"


def test_a_tunnel_is_looked_into(box: Warden, trusting: ssl.SSLContext) -> None:
    proxy = box.tcp("22.7.7.7", 3128)
    with closing(http.client.HTTPSConnection(*proxy, timeout=PATIENCE_S, context=trusting)) as connection:
        connection.set_tunnel("api.example.org", 443)
        connection.request("GET", "/inside")
        assert connection.getresponse().read() == b"{}"

    opened, inside = box.exchanges()
    assert (opened.method, opened.url, opened.port) == ("CONNECT", "api.example.org:443", 3128)
    assert (inside.host, inside.port, inside.url) == (
        "api.example.org",
        443,
        "https://api.example.org/inside",
    )
    assert inside.note == "tunnel; TLS SNI api.example.org; HTTP/1.1"


def test_tunnels_in_tunnels_come_to_an_end(box: Warden) -> None:
    connect = b"CONNECT a.org:80 HTTP/1.1\r\nHost: a.org\r\n\r\n"
    with dial(box.tcp("22.7.7.7", 3128)) as client:
        client.sendall(connect * 20)
        client.shutdown(socket.SHUT_WR)
        read_to_end(client)

    assert box.exchanges()[-1].note.endswith("wrapped too often")
