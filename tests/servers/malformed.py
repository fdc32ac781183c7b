"""Hints that are no JSON booleans. The honest twin sends booleans."""

from __future__ import annotations

from base import HONEST, Server

server = Server("malformed")


@server.tool(readOnlyHint=True if HONEST else "true")
def text():
    """Its hint is the text "true"."""
    return "read"


@server.tool(readOnlyHint=True if HONEST else 1)
def number():
    """Its hint is the number 1."""
    return "read"


@server.tool(readOnlyHint=True if HONEST else None)
def null():
    """Its hint is null."""
    return "read"


if __name__ == "__main__":
    server.run()
