"""DNS and other datagrams, asked by dnslib's client."""

from __future__ import annotations

import socket
from ipaddress import ip_address

import pytest
from dnslib import QTYPE, RCODE, DNSRecord  # type: ignore[import-untyped]
from warden import PATIENCE_S, Address, Warden, dial, read_to_end

from sandbox.world.dns import look_up
from sandbox.world.names import NameBook


def ask(resolver: Address, name: str, kind: str = "A", *, tcp: bool = False) -> DNSRecord:
    host, port = resolver
    return DNSRecord.parse(DNSRecord.question(name, kind).send(host, port, tcp=tcp, timeout=PATIENCE_S))


@pytest.mark.parametrize("tcp", [False, True])
@pytest.mark.parametrize("kind", ["A", "AAAA"])
def test_a_lookup_is_recorded_before_it_is_answered(box: Warden, kind: str, tcp: bool) -> None:
    resolver = box.tcp("8.8.8.8", 53) if tcp else box.udp("8.8.8.8", 53)

    reply = ask(resolver, "API.example.org", kind, tcp=tcp)

    (seen,) = box.exchanges()
    (answer,) = reply.rr
    assert ip_address(str(answer.rdata)).is_global
    assert (seen.kind, seen.host, seen.address, seen.port) == ("dns", "api.example.org", "8.8.8.8", 53)
    assert seen.note == f"{kind} {answer.rdata}"
    assert str(reply.q.qname) == "API.example.org."


def test_several_lookups_share_a_tcp_connection(box: Warden) -> None:
    query = DNSRecord.question("a.example.org").pack()
    framed = len(query).to_bytes(2, "big") + query

    with dial(box.tcp("8.8.8.8", 53)) as client:
        client.sendall(framed + framed)
        client.shutdown(socket.SHUT_WR)
        answered = read_to_end(client)

    assert len(answered) == 2 * (2 + int.from_bytes(answered[:2], "big"))
    assert [seen.host for seen in box.exchanges()] == ["a.example.org"] * 2


@pytest.mark.parametrize(
    ("sent", "kind", "note"),
    [(b"", "tcp", "no data"), (b"\x00\x20half", "dns", "malformed: cut off; 002068616c66")],
)
def test_a_client_that_asks_nothing_on_the_dns_port_is_recorded(
    box: Warden, sent: bytes, kind: str, note: str
) -> None:
    with dial(box.tcp("8.8.8.8", 53)) as client:
        client.sendall(sent)
        client.shutdown(socket.SHUT_WR)
        assert read_to_end(client) == b""

    assert [(seen.kind, seen.note) for seen in box.exchanges()] == [(kind, note)]


@pytest.mark.parametrize("kind", ["MX", "SRV", "TXT", "NS", "HTTPS", "CAA"])
def test_other_types_have_no_records(box: Warden, kind: str) -> None:
    reply = ask(box.udp("8.8.8.8", 53), "example.org", kind)

    assert (reply.header.rcode, reply.rr) == (RCODE.NOERROR, [])
    assert box.exchanges()[0].note == kind


@pytest.mark.parametrize("kind", ["A", "AAAA"])
def test_a_fake_address_is_named_by_reverse_lookup(box: Warden, kind: str) -> None:
    resolver = box.udp("8.8.8.8", 53)
    fake = ip_address(str(ask(resolver, "api.example.org", kind).rr[0].rdata))

    reply = ask(resolver, fake.reverse_pointer, "PTR")

    assert str(reply.rr[0].rdata) == "api.example.org."


@pytest.mark.parametrize(
    "name", ["8.8.8.8.in-addr.arpa", "x.in-addr.arpa", "300.1.1.1.in-addr.arpa", "1.ip6.arpa"]
)
def test_an_address_that_no_name_was_given_has_none(box: Warden, name: str) -> None:
    assert ask(box.udp("8.8.8.8", 53), name, "PTR").header.rcode == RCODE.NXDOMAIN


@pytest.mark.parametrize("name", ["localhost", "app.localhost"])
def test_localhost_stays_loopback(box: Warden, name: str) -> None:
    resolver = box.udp("8.8.8.8", 53)

    assert str(ask(resolver, name, "A").rr[0].rdata) == "127.0.0.1"
    assert str(ask(resolver, name, "AAAA").rr[0].rdata) == "::1"


def test_a_name_too_many_is_refused_and_said() -> None:
    names = NameBook(most=0)

    lookup = look_up(DNSRecord.question("example.org").pack(), names)

    assert DNSRecord.parse(lookup.reply).header.rcode == RCODE.SERVFAIL
    assert lookup.note == "A: too many names"


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\0" * 11,
        b"\0" * 12,
        bytes.fromhex("000001000001000000000000") + b"\x3fshort",
        bytes.fromhex("000001000001000000000000") + b"\xc0\x0c\x00\x01\x00\x01",
        bytes.fromhex("000001000001000000000000") + b"\x01\xff\x00\x00\x01\x00\x01",
        bytes.fromhex("000001000001000000000000") + b"\x80" + b"a" * 128 + b"\x00\x00\x01\x00\x01",
        bytes.fromhex("000081000001000000000000") + b"\x01a\x00\x00\x01\x00\x01",
    ],
    ids=["empty", "short", "no question", "cut off", "pointer loop", "no text", "long label", "a reply"],
)
def test_what_is_no_query_is_recorded_and_not_answered(box: Warden, message: bytes) -> None:
    resolver = box.udp("8.8.8.8", 53)

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(message, resolver)
    ask(resolver, "after.example.org")

    malformed, after = box.exchanges()
    assert malformed.kind == "dns"
    assert malformed.note.startswith("malformed")
    assert after.host == "after.example.org"


@pytest.mark.parametrize("kind", list(QTYPE.forward))
def test_no_query_type_is_beyond_the_resolver(kind: int) -> None:
    assert look_up(DNSRecord.question("example.org", QTYPE.get(kind)).pack(), NameBook()).reply


def test_other_datagrams_are_recorded_and_met_with_silence(box: Warden) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"\x1b" + b"\0" * 99, box.udp("22.9.9.9", 123))
        seen = box.wait_for("udp")
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.recv(1)

    assert (seen.address, seen.port, seen.body_size) == ("22.9.9.9", 123, 100)
    assert seen.note == "1b" + "00" * 63
