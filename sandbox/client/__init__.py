"""The only room that speaks MCP: a conversation with a server that somebody else launched.

The doors that need the ``mcp`` package are loaded when they are first asked for: importing it costs more
than a second, and settings and errors must stay cheap for those who only name them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from sandbox.client.errors import HandshakeError
from sandbox.client.refusals import recognise_refusal
from sandbox.client.settings import ClientSettings, ToolListing
from sandbox.client.wire import WireLog

if TYPE_CHECKING:
    from sandbox.client.conversation import Conversation, converse
    from sandbox.client.http import converse_http

__all__ = [
    "ClientSettings",
    "Conversation",
    "HandshakeError",
    "ToolListing",
    "WireLog",
    "converse",
    "converse_http",
    "recognise_refusal",
]

_LAZY = {
    "Conversation": "sandbox.client.conversation",
    "converse": "sandbox.client.conversation",
    "converse_http": "sandbox.client.http",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)
