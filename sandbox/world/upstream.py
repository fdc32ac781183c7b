"""Connections from the gateway to the real world: direct, or through the machine's own proxy."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import socket
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from sandbox.world.destinations import Destination

_CONNECT_S = 20.0
_MOST_HEAD = 16_384


class NotReachedError(Exception):
    """A destination of the list cannot be reached; says why, in words that hold no credentials."""


async def connect(destination: Destination) -> tuple[socket.socket, bytes]:
    """A connection to a destination, and what it has said already. The socket is the caller's.

    The machine's proxy is taken as the environment tells it (``https_proxy``, ``http_proxy``, ``no_proxy``), and asked for a tunnel in
    either case. Raises NotReachedError.
    """
    proxy = _proxy_for(destination)
    try:
        async with asyncio.timeout(_CONNECT_S):
            if proxy is None:
                return await _dial(destination.real or destination.name, destination.port), b""
            return await _through(proxy, destination)
    except TimeoutError as error:
        raise NotReachedError("no answer in time") from error
    except OSError as error:
        raise NotReachedError(_say(error)) from error


def _say(error: OSError) -> str:
    # Errors of name services have numbers of their own, and asyncio's texts hold the address.
    if isinstance(error, socket.gaierror):
        return "its name is not known"
    return os.strerror(error.errno) if error.errno else str(error)


def _proxy_for(destination: Destination) -> str | None:
    proxies = getproxies_environment()
    url = proxies.get("https" if destination.tls else "http") or proxies.get("all")
    if not url or destination.real or proxy_bypass(destination.place):
        return None
    return url if "://" in url else f"http://{url}"


async def _dial(host: str, port: int) -> socket.socket:
    """Connect to the first address that answers. Raises OSError."""
    loop = asyncio.get_running_loop()
    failure: OSError = OSError(f"no address of {host}")
    for family, kind, protocol, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        opened = socket.socket(family, kind, protocol)
        try:
            opened.setblocking(False)
            await loop.sock_connect(opened, address)
        except OSError as error:
            opened.close()
            failure = error
        except BaseException:
            opened.close()
            raise
        else:
            with contextlib.suppress(OSError):
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return opened
    raise failure


async def _through(proxy: str, destination: Destination) -> tuple[socket.socket, bytes]:
    parts = urlsplit(proxy)
    if parts.scheme != "http" or not parts.hostname:
        raise NotReachedError("the machine's proxy is none that is spoken to by plain HTTP")
    tunnel = await _dial(parts.hostname, parts.port or 80)
    try:
        return tunnel, await _ask(tunnel, destination.place, _credentials(parts.username, parts.password))
    except BaseException:
        tunnel.close()
        raise


def _credentials(user: str | None, password: str | None) -> str:
    if user is None:
        return ""
    pair = f"{unquote(user)}:{unquote(password or '')}".encode()
    return f"Proxy-Authorization: Basic {base64.b64encode(pair).decode()}\r\n"


async def _ask(tunnel: socket.socket, place: str, credentials: str) -> bytes:
    """Ask a proxy for a tunnel (RFC 9110, 9.3.6); returns what came behind its answer."""
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(
        tunnel, f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n{credentials}\r\n".encode()
    )
    answer = b""
    while b"\r\n\r\n" not in answer:
        data = await loop.sock_recv(tunnel, _MOST_HEAD)
        if not data or len(answer) > _MOST_HEAD:
            raise NotReachedError("the machine's proxy gave no answer")
        answer += data
    head, _, rest = answer.partition(b"\r\n\r\n")
    words = head.split(b"\r\n", 1)[0].split(maxsplit=2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].startswith(b"2"):
        status = words[1][:3].decode("ascii", "replace") if len(words) > 1 else "nothing"
        raise NotReachedError(f"the machine's proxy answered {status}")
    return rest
