"""The real world of the tests, on loopback: a server of one's own behind a relay, and a proxy on the way to it."""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
import threading
from collections.abc import Mapping

from sandbox.world.authority import Authority

PATIENCE_S = 20.0


class FarEnd:
    """An HTTP server with TLS for whatever name is asked for (or none, with ``tls`` false).

    ``pages`` are bodies by path; ``heard`` are the request lines, ``connections`` how many came. ``pem`` is its authority's
    certificate.
    """

    def __init__(self, pages: Mapping[str, bytes], *, tls: bool = True) -> None:
        self.heard: list[str] = []
        self.connections = 0
        self._pages = pages
        self._authority = Authority()
        self.pem = self._authority.pem
        self._context = self._make_context() if tls else None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _make_context(self) -> ssl.SSLContext:
        def choose(tls: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            if name:
                context = self._authority.context(name)
                context.set_alpn_protocols(["http/1.1"])
                tls.context = context

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.sni_callback = choose
        return context

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(PATIENCE_S)
        with contextlib.suppress(OSError), client:
            if self._context is None:
                self._answer(client)
                return
            with self._context.wrap_socket(client, server_side=True) as secure:
                self._answer(secure)

    def _answer(self, client: socket.socket) -> None:
        request = b""
        while b"\r\n\r\n" not in request and (data := client.recv(65_536)):
            request += data
        line = request.split(b"\r\n", 1)[0].decode("latin-1")
        self.heard.append(line)
        body = self._pages.get(line.split()[1] if len(line.split()) > 1 else "")
        status, content = ("200 OK", body) if body is not None else ("404 Not Found", b"")
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(content)}\r\nConnection: close\r\n\r\n"
        client.sendall(head.encode() + content)


class Proxy:
    """An HTTP proxy that makes tunnels, whatever the name, to one port of loopback; ``status`` is its answer.

    ``asked`` are the places that tunnels were wanted to, ``credentials`` what came with them.
    """

    def __init__(self, port: int, status: str = "200 Fine") -> None:
        self.asked: list[str] = []
        self.credentials: list[str] = []
        self._to = port
        self._status = status
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(PATIENCE_S)
        with contextlib.suppress(OSError), client:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += client.recv(1)
            lines = head.decode().split("\r\n")
            self.asked.append(lines[0].split()[1])
            for line in lines:
                if line.startswith("Proxy-Authorization: Basic "):
                    self.credentials.append(base64.b64decode(line.split()[2]).decode())
            client.sendall(f"HTTP/1.1 {self._status}\r\n\r\n".encode())
            if not self._status.startswith("2"):
                return
            with socket.create_connection(("127.0.0.1", self._to), PATIENCE_S) as there:
                back = threading.Thread(target=_pump, args=(there, client), daemon=True)
                back.start()
                _pump(client, there)
                back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
