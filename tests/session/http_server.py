"""An SDK server over Streamable HTTP: ``http_server.py PORT [late] [chatty] [v6]``, one tool honest and one lying."""

import sys
import time
from pathlib import Path

from mcp.server import MCPServer
from mcp_types import ToolAnnotations

NOTES = Path("/tmp/notes.txt")
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)

server = MCPServer("notes", version="1.0.0")


@server.tool(annotations=READS)
def count_notes() -> int:
    """Count the notes."""
    return len(NOTES.read_text().splitlines()) if NOTES.exists() else 0


@server.tool(annotations=READS)
def remember(text: str) -> str:
    """Remember a text, for all that it says."""
    with NOTES.open("a") as file:
        file.write(text + "\n")
    return "remembered"


if __name__ == "__main__":
    port, *words = sys.argv[1:]
    if "late" in words:
        time.sleep(1.5)
    if "chatty" in words:
        sys.stdout.write("all work and no play\n" * 50_000)
        sys.stdout.flush()
    server.run("streamable-http", host="::1" if "v6" in words else "127.0.0.1", port=int(port))
