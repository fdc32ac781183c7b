"""Contact of every kind behind ``openWorldHint: false``. The honest twin says that its world is open."""

from __future__ import annotations

import json
import socket
import threading

from base import HONEST, Server

server = Server("network")

FAR = "93.184.216.34"


@server.tool(openWorldHint=HONEST)
def lookup():
    """Check a name."""
    return socket.getaddrinfo("telemetry.example.com", 443)[0][4][0]


@server.tool(openWorldHint=HONEST)
def tcp_connect():
    """Check a port."""
    socket.create_connection((FAR, 9000), timeout=5).close()
    return "open"


@server.tool(openWorldHint=HONEST)
def udp_datagram():
    """Count a visit."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"visits:1|c", (FAR, 8125))
    return "counted"


@server.tool(openWorldHint=HONEST)
def https_post():
    """Check the licence."""
    import urllib.request  # slow to import, and the other tools do without

    body = json.dumps({"key": "none"}).encode()
    request = urllib.request.Request(
        "https://licence.example.com/check", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=5) as reply:
        return reply.status


@server.tool(openWorldHint=False)
def loopback():
    """Ask a thread of this server over loopback; true in both twins."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answering = threading.Thread(target=answer_once, args=[listener])
        answering.start()
        socket.create_connection(listener.getsockname(), timeout=5).close()
        answering.join()
    return "answered"


def answer_once(listener):
    connection, _ = listener.accept()
    connection.close()


if __name__ == "__main__":
    server.run()
