"""Reading the name out of a TLS client's greeting, without a handshake."""

from __future__ import annotations

import random
import ssl
from itertools import pairwise

import pytest

from sandbox.world.hello import MOST_HELLO, NoHelloError, server_name


def greeting(name: str | None) -> bytes:
    """What this Python's TLS client says first."""
    context = ssl.create_default_context()
    context.check_hostname = name is not None
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context.wrap_bio(incoming, outgoing, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def vector(size: int, content: bytes) -> bytes:
    return len(content).to_bytes(size) + content


def extension(kind: int, content: bytes) -> bytes:
    return kind.to_bytes(2) + vector(2, content)


def names(*hosts: bytes) -> bytes:
    return extension(0, vector(2, b"".join(b"\0" + vector(2, host) for host in hosts)))


def hello(*extensions: bytes) -> bytes:
    """A handshake message made by hand."""
    body = b"\3\3" + 32 * b"r" + vector(1, b"") + vector(2, b"\x13\1") + vector(1, b"\0")
    return b"\1" + vector(3, body + vector(2, b"".join(extensions)))


def record(content: bytes) -> bytes:
    return b"\x16\3\1" + vector(2, content)


def test_the_name_of_a_real_client_is_read() -> None:
    assert server_name(greeting("Registry.Example")) == "registry.example"


def test_a_client_that_names_nobody_is_told_apart() -> None:
    assert server_name(greeting(None)) == ""


def test_nothing_is_said_before_all_of_it_is_there() -> None:
    whole = greeting("registry.example")

    assert {server_name(whole[:end]) for end in range(len(whole))} == {None}


@pytest.mark.parametrize("size", [1, 7, 100])
def test_a_greeting_in_many_records_is_one(size: int) -> None:
    message = hello(names(b"registry.example"))
    cuts = [*range(0, len(message), size), len(message)]

    assert server_name(b"".join(record(message[a:b]) for a, b in pairwise(cuts))) == "registry.example"


@pytest.mark.parametrize(
    ("received", "why"),
    [
        (b"CONNECT registry.example:443 HTTP/1.1\r\n\r\n", "no TLS"),
        (b"G", "no TLS"),
        (b"\x16\2\1\0\5hello", "no TLS"),
        (record(b"\2" + vector(3, b"server hello")), "no TLS greeting"),
        (record(b"\1" + vector(3, b"short")), "a broken TLS greeting"),
        (record(hello(names(b"a.example", b"b.example"))), "TLS for several names"),
        (record(hello(names(b"a.example"), names(b"b.example"))), "TLS for several names"),
        (record(hello(names(b"a.example"), extension(0xFE0D, b"\0"))), "TLS with an encrypted greeting"),
        (record(b"\1\xff\xff\xff" + 16_000 * b"x") * 3, "an endless TLS greeting"),
    ],
)
def test_what_is_no_greeting_is_refused_with_the_reason(received: bytes, why: str) -> None:
    with pytest.raises(NoHelloError, match=f"^{why}$"):
        server_name(received)


def test_no_bytes_raise_anything_else() -> None:
    chance = random.Random(4)
    whole = hello(names(b"registry.example"))
    for _ in range(3000):
        content = bytearray(whole)
        for _ in range(chance.randrange(1, 6)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        try:
            name = server_name(record(bytes(content)[: chance.randrange(1, len(content))]))
        except NoHelloError:
            continue
        assert name is None or isinstance(name, str)


def test_empty_records_do_not_go_on_for_ever() -> None:
    with pytest.raises(NoHelloError, match="endless"):
        server_name(record(b"") * (MOST_HELLO // 5 + 1))
