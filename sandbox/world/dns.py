"""The gateway's DNS: every name exists and has one IPv4 and one IPv6 address (RFC 1035, RFC 3596)."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from dnslib import (  # type: ignore[import-untyped]
    AAAA,
    CLASS,
    PTR,
    QR,
    QTYPE,
    RCODE,
    RR,
    A,
    DNSError,
    DNSHeader,
    DNSQuestion,
    DNSRecord,
)
from dnslib.label import DNSBuffer, DNSLabelError  # type: ignore[import-untyped]

from sandbox.world.names import NameBook, canonical

_TTL_S = 60
_LOOPBACK = IPv4Address("127.0.0.1"), IPv6Address("::1")


@dataclass(frozen=True, slots=True)
class Lookup:
    """One DNS query as understood: the name asked for, a note for the record, and the reply.

    ``note`` is the query type and the fake addresses told (``A 22.7.8.9``), or what was wrong. ``reply`` is
    None for what is no query: it is dropped.
    """

    name: str
    note: str
    reply: bytes | None


def look_up(message: bytes, names: NameBook) -> Lookup:
    """Answer one DNS message.

    Only the header and the question are parsed: whatever else a hostile client packs behind them is never
    looked at. A name always exists, so other types than A, AAAA, ANY and PTR get an empty answer (NOERROR,
    RFC 2308), and a PTR of an address that no name was given gets NXDOMAIN.
    """
    buffer = DNSBuffer(message)
    try:
        header = DNSHeader.parse(buffer)
        if header.get_qr() != QR.QUERY or header.q != 1:
            return Lookup("", f"malformed: no single question: {message[:64].hex()}", None)
        question = DNSQuestion.parse(buffer)
        return _answer(header, question, names)
    except (DNSError, DNSLabelError):
        return Lookup("", f"malformed: {message[:64].hex()}", None)


def _answer(header: DNSHeader, question: DNSQuestion, names: NameBook) -> Lookup:
    name = canonical(str(question.qname))
    reply = DNSRecord(
        DNSHeader(id=header.id, qr=1, opcode=header.get_opcode(), rd=header.get_rd(), ra=1), q=question
    )
    kind = QTYPE.get(question.qtype)
    if header.get_opcode() != 0:
        reply.header.rcode = RCODE.NOTIMP
        note = f"opcode {header.get_opcode()}"
    elif question.qclass != CLASS.IN:
        reply.header.rcode = RCODE.REFUSED
        note = f"{kind} class {question.qclass}"
    elif kind == "PTR":
        note = _answer_reverse(reply, question, names)
    elif kind in {"A", "AAAA", "ANY"} and name:
        note = _answer_addresses(reply, question, names)
    else:
        note = kind
    return Lookup(name, note, bytes(reply.pack()))


def _answer_addresses(reply: DNSRecord, question: DNSQuestion, names: NameBook) -> str:
    kind = QTYPE.get(question.qtype)
    name = canonical(str(question.qname))
    # RFC 6761, 6.3: localhost is never anything but loopback, which is no contact.
    loopback = name == "localhost" or name.endswith(".localhost")
    addresses = _LOOPBACK if loopback else names.fakes(name)
    if addresses is None:
        reply.header.rcode = RCODE.SERVFAIL
        return f"{kind}: too many names"
    v4, v6 = addresses
    if kind in {"A", "ANY"}:
        reply.add_answer(RR(question.qname, QTYPE.A, rdata=A(str(v4)), ttl=_TTL_S))
    if kind in {"AAAA", "ANY"}:
        reply.add_answer(RR(question.qname, QTYPE.AAAA, rdata=AAAA(str(v6)), ttl=_TTL_S))
    return " ".join([kind, *(str(record.rdata) for record in reply.rr)])


def _answer_reverse(reply: DNSRecord, question: DNSQuestion, names: NameBook) -> str:
    address = _reversed_address(canonical(str(question.qname)))
    name = "localhost" if address in map(str, _LOOPBACK) else names.name_of(address)
    if not name:
        reply.header.rcode = RCODE.NXDOMAIN
        return "PTR"
    reply.add_answer(RR(question.qname, QTYPE.PTR, rdata=PTR(name), ttl=_TTL_S))
    return f"PTR {name}"


def _reversed_address(name: str) -> str:
    """The address that a name of ``in-addr.arpa`` or ``ip6.arpa`` stands for, or an empty string."""
    labels = name.split(".")
    try:
        if labels[4:] == ["in-addr", "arpa"]:
            return str(IPv4Address(".".join(labels[3::-1])))
        if labels[32:] == ["ip6", "arpa"]:
            return str(IPv6Address(int("".join(labels[31::-1]), 16)))
    except ValueError:
        return ""
    return ""
