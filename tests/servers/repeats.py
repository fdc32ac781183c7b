"""An append and a counter, labelled idempotent. The honest twin sets the value instead."""

from __future__ import annotations

import json

from base import HONEST, WORKSPACE, Server

server = Server("repeats")

LOG = WORKSPACE / "repeats.log"
COUNT = WORKSPACE / "repeats.json"

TEXT = {"type": "string", "minLength": 1, "examples": ["hello"]}


@server.tool(readOnlyHint=False, destructiveHint=True, idempotentHint=True, arguments={"text": TEXT})
def record(text):
    """Record a line."""
    with LOG.open("w" if HONEST else "a") as file:
        file.write(f"{text}\n")
    return "recorded"


@server.tool(readOnlyHint=False, destructiveHint=True, idempotentHint=True)
def count():
    """Count a visit."""
    visits = json.loads(COUNT.read_text())["visits"]
    COUNT.write_text(json.dumps({"visits": 1 if HONEST else visits + 1}))
    return "counted"


if __name__ == "__main__":
    COUNT.write_text(json.dumps({"visits": 0}))
    server.run()
