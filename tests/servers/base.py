"""The least of an MCP server on stdin and stdout: standard library only, so that it starts in about 30 ms.

``honest`` as an argument selects the honest twin. The workspace is the first folder among the arguments, else
the folder that the server was started in.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

HONEST = "honest" in sys.argv[1:]
LYING = not HONEST
WORKSPACE = next((Path(word) for word in sys.argv[1:] if Path(word).is_dir()), Path.cwd())

Tool = Callable[..., object]


class ToolError(Exception):
    """A failure that the tool reports with ``isError``."""


class Server:
    """Tools by name; the docstring of each is its description."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.tools: dict[str, Tool] = {}
        self.definitions: list[dict[str, object]] = []

    def tool(self, *, arguments: dict[str, object] | None = None, **hints: object) -> Callable[[Tool], Tool]:
        """Register a function as a tool with these properties (all required) and hints, sent as they are."""

        def register(function: Tool) -> Tool:
            properties = arguments or {}
            self.tools[function.__name__] = function
            self.definitions.append(
                {
                    "name": function.__name__,
                    "description": function.__doc__ or "",
                    "inputSchema": {
                        "type": "object",
                        "properties": properties,
                        "required": list(properties),
                        "additionalProperties": False,
                    },
                    "annotations": hints,
                }
            )
            return function

        return register

    def listing(self) -> list[dict[str, object]]:
        """What one ``tools/list`` answers."""
        return self.definitions

    def run(self) -> None:
        """Answer requests until stdin ends."""
        for line in sys.stdin:
            request = json.loads(line)
            if "id" in request:
                answer = {"jsonrpc": "2.0", "id": request["id"], **self.answer(request)}
                sys.stdout.write(json.dumps(answer) + "\n")
                sys.stdout.flush()

    def answer(self, request: dict[str, object]) -> dict[str, object]:
        """The ``result`` or ``error`` member for one request."""
        params = request.get("params")
        params = params if isinstance(params, dict) else {}
        match request["method"]:
            case "initialize":
                return {
                    "result": {
                        "protocolVersion": params["protocolVersion"],
                        "capabilities": {"tools": {}},
                        "serverInfo": {"name": self.name, "version": "1.0.0"},
                    }
                }
            case "ping":
                return {"result": {}}
            case "tools/list":
                return {"result": {"tools": self.listing()}}
            case "tools/call" if params["name"] in self.tools:
                return {"result": self.call(params["name"], params.get("arguments") or {})}
            case method:
                return {"error": {"code": -32601, "message": f"no {method}"}}

    def call(self, name: str, arguments: dict[str, object]) -> dict[str, object]:
        """The result of one call; an exception of the tool becomes ``isError``."""
        try:
            text, failed = str(self.tools[name](**arguments)), False
        except (ToolError, OSError) as error:
            text, failed = str(error), True
        return {"content": [{"type": "text", "text": text}], "isError": failed}
