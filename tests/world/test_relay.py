"""The way out of an installation's box: what is listed is reached for real, and nothing else in any way."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest
from dnslib import DNSRecord  # type: ignore[import-untyped]
from farend import FarEnd, Proxy
from warden import PATIENCE_S, Address, Warden, dial, read_to_end

from sandbox.model import Exchange
from sandbox.world import World
from sandbox.world.destinations import Destination, read_destinations
from sandbox.world.exchanges import ExchangeLog, Journal
from sandbox.world.relay import Relay
from sandbox.world.route import Route

NAME = "registry.example"
BODY = b"a package" * 10_000
LISTED = {NAME: "127.0.0.1"}


@pytest.fixture
def far() -> Iterator[FarEnd]:
    with closing(FarEnd({"/package": BODY})) as started:
        yield started


@pytest.fixture
def relaying(world: World, far: FarEnd) -> Iterator[Warden]:
    """A box that may reach the far end under its name and port, and nothing else."""
    with closing(Warden(world, relay=[f"{NAME}:{far.port}"], addresses=LISTED)) as attached:
        yield attached


def look_up(box: Warden, name: str) -> str:
    """The address that the box's name service gives to a name."""
    resolver = box.udp("11.0.0.53", 53)
    reply = DNSRecord.question(name).send(*resolver, timeout=PATIENCE_S)
    return str(DNSRecord.parse(reply).rr[0].rdata)


def fetch(address: Address, far: FarEnd, name: str = NAME) -> bytes:
    """The body of the package, by TLS that trusts the far end alone."""
    context = ssl.create_default_context(cadata=far.pem.decode())
    with dial(address) as client, context.wrap_socket(client, server_hostname=name) as secure:
        secure.sendall(f"GET /package HTTP/1.1\r\nHost: {name}\r\n\r\n".encode())
        answer = b""
        while data := secure.recv(65_536):
            answer += data
    return answer.partition(b"\r\n\r\n")[2]


def is_cut(address: Address, data: bytes) -> bool:
    """Whether a client that says ``data`` is reset, and told nothing before."""
    try:
        with dial(address) as client:
            client.sendall(data)
            client.recv(1000)
    except ConnectionResetError:
        return True
    return False


def test_a_listed_host_is_reached_for_real(relaying: Warden, far: FarEnd) -> None:
    address = relaying.tcp(look_up(relaying, NAME), far.port)

    assert fetch(address, far) == BODY

    seen = relaying.wait_for("relayed")
    assert (seen.host, seen.port, seen.note) == (NAME, far.port, "")
    assert seen.answer_size > len(BODY)
    assert 100 < seen.body_size < 5000
    assert far.heard == ["GET /package HTTP/1.1"]


def test_a_name_is_the_same_in_any_case(relaying: Warden, far: FarEnd) -> None:
    address = relaying.tcp(look_up(relaying, "Registry.EXAMPLE."), far.port)

    assert fetch(address, far, "REGISTRY.example") == BODY


def test_many_connections_at_once_are_passed_on(relaying: Warden, far: FarEnd) -> None:
    address = relaying.tcp(look_up(relaying, NAME), far.port)
    with ExitStack() as waiting:
        for _ in range(20):
            waiting.enter_context(dial(address))
        assert fetch(address, far) == BODY


@pytest.mark.parametrize(
    ("place", "why"),
    [
        (lambda box, far: (look_up(box, "elsewhere.example"), far.port), "not on the list"),
        (lambda _, far: ("22.4.4.4", far.port), "not on the list"),
        (lambda box, far: (look_up(box, NAME), far.port + 1), "not on the list"),
        (lambda box, far: (look_up(box, f"secret.{NAME}"), far.port), "not on the list"),
    ],
    ids=["another name", "an address", "another port", "a name below"],
)
def test_whatever_is_not_listed_is_refused_and_told(
    relaying: Warden, far: FarEnd, place: Callable[[Warden, FarEnd], Address], why: str
) -> None:
    ip, port = place(relaying, far)

    assert is_cut(relaying.tcp(ip, port), b"GET / HTTP/1.1\r\n\r\n")

    seen = relaying.wait_for("tcp")
    assert (seen.address, seen.port, seen.note) == (ip, port, f"refused: {why}")
    assert far.connections == 0


def test_the_address_of_a_listed_name_is_worth_nothing_without_the_question(
    relaying: Warden, world: World, far: FarEnd
) -> None:
    with closing(Warden(world)) as other:
        known = look_up(other, NAME)

    assert is_cut(relaying.tcp(known, far.port), b"hello")
    assert far.connections == 0


def test_a_listed_name_in_tls_opens_no_address_of_ones_own_choice(relaying: Warden, far: FarEnd) -> None:
    look_up(relaying, NAME)
    with pytest.raises(OSError, match=r"reset|EOF|peer"):
        fetch(relaying.tcp("22.4.4.4", far.port), far)
    assert far.connections == 0


def test_another_name_in_tls_to_a_listed_host_is_refused(relaying: Warden, far: FarEnd) -> None:
    with pytest.raises(OSError, match=r"reset|EOF|peer"):
        fetch(relaying.tcp(look_up(relaying, NAME), far.port), far, "elsewhere.example")

    assert relaying.wait_for("tcp").note.startswith("refused: TLS for elsewhere.example")
    assert far.connections == 0


@pytest.mark.parametrize(
    "words",
    [b"CONNECT elsewhere.example:443 HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n", b"SSH-2.0-x\r\n"],
)
def test_a_tunnel_or_another_protocol_to_a_listed_host_is_refused(
    relaying: Warden, far: FarEnd, words: bytes
) -> None:
    assert is_cut(relaying.tcp(look_up(relaying, NAME), far.port), words)

    seen = relaying.wait_for("tcp")
    assert seen.note.startswith("refused: no TLS")
    assert seen.body_head == words.decode()
    assert far.connections == 0


def test_a_client_that_says_nothing_is_no_contact_that_was_refused(relaying: Warden, far: FarEnd) -> None:
    dial(relaying.tcp(look_up(relaying, NAME), far.port)).close()

    assert relaying.wait_for("tcp").note == "no data"


def test_a_host_without_tls_has_to_be_listed_as_such(world: World) -> None:
    with closing(FarEnd({"/package": BODY}, tls=False)) as far:
        entry = f"http://{NAME}:{far.port}"
        with closing(Warden(world, relay=[entry], addresses=LISTED)) as box:
            with dial(box.tcp(look_up(box, NAME), far.port)) as client:
                client.sendall(b"GET /package HTTP/1.1\r\n\r\n")
                assert read_to_end(client).endswith(BODY)
            assert box.wait_for("relayed").answer_size > len(BODY)


def test_a_host_that_is_listed_both_ways_is_asked_with_tls(world: World, far: FarEnd) -> None:
    both = [f"{NAME}:{far.port}", f"http://{NAME}:{far.port}"]
    with closing(Warden(world, relay=both, addresses=LISTED)) as box:
        assert is_cut(box.tcp(look_up(box, NAME), far.port), b"GET / HTTP/1.1\r\n\r\n")
    assert far.connections == 0


def test_a_listed_host_that_is_not_there_is_told_and_refused(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    entry = f"http://{NAME}:{port}"
    with closing(Warden(world, relay=[entry], addresses=LISTED)) as box:
        assert is_cut(box.tcp(look_up(box, NAME), port), b"GET / HTTP/1.1\r\n\r\n")
        assert box.wait_for("relayed").note == "not reached: Connection refused"


@pytest.mark.usefixtures("relaying")
def test_no_other_box_of_the_same_world_gets_out(box: Warden, far: FarEnd) -> None:
    with dial(box.tcp(look_up(box, NAME), far.port)) as client:
        client.sendall(b"GET /package HTTP/1.1\r\nHost: registry.example\r\n\r\n")
        assert client.recv(1000).endswith(b"{}")
    assert far.connections == 0


def test_the_end_of_the_box_ends_its_connections_and_its_record(world: World, far: FarEnd) -> None:
    with (
        closing(Warden(world, relay=[f"http://{NAME}:{far.port}"], addresses=LISTED)) as box,
        dial(box.tcp(look_up(box, NAME), far.port)) as client,
    ):
        client.sendall(b"GET ")
        client.settimeout(0.01)
        while far.connections == 0:
            with pytest.raises(TimeoutError):
                client.recv(1)

        box.control.close()

        box.wait_for("end")
        assert [e.note for e in box.exchanges() if e.kind == "relayed"] == ["open to the end"]
        assert box.exchanges()[-1].kind == "end"


@pytest.fixture
def proxied(
    request: pytest.FixtureRequest, far: FarEnd, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[World, Proxy]]:
    """A world of a machine that reaches hosts through a proxy, whose answer is the test's."""
    for name in (
        "https_proxy",
        "HTTPS_PROXY",
        "http_proxy",
        "HTTP_PROXY",
        "all_proxy",
        "no_proxy",
        "NO_PROXY",
    ):
        monkeypatch.delenv(name, raising=False)
    with closing(Proxy(far.port, getattr(request, "param", "200 Fine"))) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", f"http://some%20one:p%40ss@127.0.0.1:{proxy.port}")
        with closing(World.start()) as world:
            yield world, proxy


def test_the_machines_own_proxy_is_taken(proxied: tuple[World, Proxy], far: FarEnd) -> None:
    world, proxy = proxied
    with closing(Warden(world, relay=[f"{NAME}:443"])) as box:
        assert fetch(box.tcp(look_up(box, NAME), 443), far) == BODY
        assert is_cut(box.tcp(look_up(box, "secret.elsewhere.example"), 443), b"hello")
    assert proxy.asked == [f"{NAME}:443"]
    assert proxy.credentials == ["some one:p@ss"]


@pytest.mark.parametrize("proxied", ["407 Who are you"], indirect=True)
def test_a_proxy_that_refuses_is_told_without_its_credentials(
    proxied: tuple[World, Proxy], far: FarEnd
) -> None:
    world, _ = proxied
    with closing(Warden(world, relay=[f"{NAME}:443"])) as box:
        with pytest.raises(OSError, match=r"reset|EOF|peer"):
            fetch(box.tcp(look_up(box, NAME), 443), far)
        assert box.wait_for("relayed").note == "not reached: the machine's proxy answered 407"
    assert far.connections == 0


class Clerk:
    """A relay in this process, between two sockets of the test."""

    def __init__(self, relay: Relay, route: Route) -> None:
        self.client, self._served = socket.socketpair()
        self._relay = relay
        self._route = route
        memory = os.memfd_create("log")
        self._log = ExchangeLog(memory)
        self._journal = Journal(os.dup(memory))

    async def serve(self) -> list[Exchange]:
        self._served.setblocking(False)
        with self._served:
            await self._relay.serve(self._served, self._route, self._journal)
        return self._log.read_new()


def run_relay(far: FarEnd, say: bytes, **bounds: int) -> tuple[list[Exchange], bytes]:
    """Say something to a far end without TLS through a relay with its own bounds."""
    destination = Destination(NAME, far.port, tls=False, real="127.0.0.1")
    clerk = Clerk(Relay([destination], **bounds), Route(NAME, "22.1.1.1", far.port))
    clerk.client.sendall(say)
    clerk.client.shutdown(socket.SHUT_WR)

    async def both() -> tuple[list[Exchange], bytes]:
        loop = asyncio.get_running_loop()
        reading = loop.run_in_executor(None, _read_all, clerk.client)
        return await clerk.serve(), await reading

    with clerk.client:
        return asyncio.run(both())


def _read_all(client: socket.socket) -> bytes:
    try:
        return read_to_end(client)
    except ConnectionResetError:
        return b""


@pytest.mark.parametrize(
    ("bounds", "note"),
    [
        ({}, ""),
        ({"most_sent": 10}, "cut off: more was sent than a box may"),
        ({"most_received": 1000}, "cut off: more was received than a box may"),
    ],
)
def test_bytes_are_bounded_both_ways(bounds: dict[str, int], note: str) -> None:
    with closing(FarEnd({"/package": BODY}, tls=False)) as far:
        (seen,), answer = run_relay(far, b"GET /package HTTP/1.1\r\n\r\n", **bounds)

    assert seen.note == note
    assert answer.endswith(BODY) == (not note)


def test_a_name_that_is_not_listed_is_never_asked_for_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def look(_: object, host: str, *_rest: object, **_more: object) -> list[object]:
        asked.append(host)
        return []

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", look)
    relay = Relay([Destination(NAME, 443, tls=False)])
    for host in ("secret.elsewhere.example", NAME):
        clerk = Clerk(relay, Route(host, "22.1.1.1", 443))
        with clerk.client:
            asyncio.run(clerk.serve())

    assert asked == [NAME]


def test_a_list_is_read_and_nothing_is_guessed() -> None:
    hosts = ["Registry.Example.:443", "http://plain.example:4873", "[2001:db8::1]:443"]

    assert read_destinations(hosts, {"REGISTRY.example": "10.0.0.1"}) == (
        Destination(NAME, 443, real="10.0.0.1"),
        Destination("plain.example", 4873, tls=False),
        Destination("2001:db8::1", 443),
    )


@pytest.mark.parametrize(
    "text", ["", NAME, f"{NAME}:", ":443", f"{NAME}:0", f"{NAME}:65536", f"https://{NAME}:443", f"u@{NAME}:1"]
)
def test_an_entry_that_is_no_host_and_port_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="no host"):
        read_destinations([text], {})
