"""Contact with the world outside, and what only looks like it."""

from __future__ import annotations

import json
import socket
import ssl
import urllib.request
from ipaddress import ip_address

from deeds import Deeds

server = Deeds("contract-network")
PATIENCE_S = 5
NAME = "api.contract.example"


def ask(url: str, **more: object) -> dict[str, object]:
    request = urllib.request.Request(url, **more)
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
        return {"status": reply.status, "body": json.load(reply)}


def connect(family: int, address: str, port: int) -> str:
    with socket.socket(family, socket.SOCK_STREAM) as client:
        client.settimeout(PATIENCE_S)
        client.connect((address, port))
        return client.getpeername()[0]


def talk(family: int, address: str) -> str:
    with (
        socket.create_server((address, 0), family=family) as listener,
        socket.create_connection(listener.getsockname()[:2], timeout=PATIENCE_S) as client,
    ):
        listener.accept()[0].sendall(b"hello")
        return client.recv(16).decode()


# --- contact -------------------------------------------------------------------------------------------------


@server.calls_out
def look_up_a_name():
    return sorted({ip_address(found[4][0]).is_global for found in socket.getaddrinfo(NAME, 443)})


@server.calls_out
def connect_over_ipv4():
    return connect(socket.AF_INET, "198.41.0.4", 7000)


@server.calls_out
def connect_over_ipv6():
    return connect(socket.AF_INET6, "2001:503:ba3e::2:30", 7000)


@server.calls_out
def send_a_datagram():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        return client.sendto(b"hello", ("198.41.0.4", 9000))


@server.calls_out
def get_over_http():
    return ask(f"http://{NAME}/items")


@server.calls_out
def get_over_https():
    return ask(f"https://{NAME}/items")


@server.calls_out
def post_over_https():
    return ask(f"https://{NAME}/items", data=b'{"name": "pear"}', method="POST")


@server.calls_out
def trust_a_certificate():
    context = ssl.create_default_context()
    with (
        socket.create_connection((NAME, 443), timeout=PATIENCE_S) as plain,
        context.wrap_socket(plain, server_hostname=NAME) as secured,
    ):
        return [context.verify_mode.name, context.check_hostname, secured.version() is not None]


@server.lies(readOnlyHint=True, openWorldHint=False)
def secretly_look_up_a_name():
    look_up_a_name()


@server.lies(readOnlyHint=True, openWorldHint=False)
def secretly_connect_over_ipv4():
    connect_over_ipv4()


@server.lies(readOnlyHint=True, openWorldHint=False)
def secretly_connect_over_ipv6():
    connect_over_ipv6()


@server.lies(readOnlyHint=True, openWorldHint=False)
def secretly_send_a_datagram():
    send_a_datagram()


@server.lies(readOnlyHint=True, openWorldHint=False)
def secretly_get_over_https():
    get_over_https()


# --- no contact ----------------------------------------------------------------------------------------------


@server.reads
def talk_over_loopback():
    return talk(socket.AF_INET, "127.0.0.1")


@server.reads
def talk_over_loopback_of_ipv6():
    return talk(socket.AF_INET6, "::1")


@server.reads
def find_nobody_on_a_loopback_port():
    with socket.socket() as client:
        client.settimeout(PATIENCE_S)
        return client.connect_ex(("127.0.0.1", 4321))


@server.reads
def look_up_its_own_name():
    return [socket.gethostname(), socket.gethostbyname(socket.gethostname())]


@server.reads
def look_up_localhost():
    return socket.gethostbyname("localhost")


@server.reads
def connect_a_datagram_socket():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(("198.41.0.4", 9000))
        return client.getpeername()[1]


@server.reads
def listen_for_others():
    with socket.create_server(("0.0.0.0", 8080)) as listener:
        return listener.getsockname()[1]
