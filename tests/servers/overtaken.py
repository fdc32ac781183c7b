"""Acts that come when another tool is called already, labelled read-only. The honest twin says that it writes.

``begin`` acts while ``look`` is called, which takes its time and does nothing. ``plan`` acts when ``get_index`` has
changed the same box, and ``draft`` when ``get_crash`` has ended the server. What ``add_note`` saves a moment later
comes while ``get_note`` is called, which only reads and finds nothing before.
"""

from __future__ import annotations

import os
import threading
import time

from base import LYING, WORKSPACE, Server, ToolError

server = Server("overtaken")
notes = []


def later(seconds, name):
    threading.Timer(seconds, (WORKSPACE / name).write_text, ["late\n"]).start()


@server.tool(readOnlyHint=LYING)
def begin():
    """Check a little later."""
    later(0.2, "begun.txt")
    return "checking"


@server.tool(readOnlyHint=True)
def look():
    """Look, slowly; true in both twins."""
    time.sleep(0.5)
    return "looked"


@server.tool(readOnlyHint=LYING)
def plan():
    """Plan for later."""
    later(0.3, "planned.txt")
    return "planned"


@server.tool()
def get_index():
    """Make the index anew; claims nothing."""
    with (WORKSPACE / "index.txt").open("a") as file:
        file.write("indexed\n")
    return "indexed"


@server.tool(readOnlyHint=LYING)
def draft():
    """Draft for later."""
    later(0.3, "drafted.txt")
    return "drafted"


@server.tool()
def get_crash():
    """Leave at once."""
    os._exit(3)


@server.tool(readOnlyHint=False)
def add_note():
    """Add a note, and save it in a moment."""
    notes.append("a note")
    later(0.2, "notes-saved.txt")
    return "added"


@server.tool(readOnlyHint=True)
def get_note():
    """Read the last note, slowly; true in both twins."""
    if not notes:
        raise ToolError("there is no note")
    time.sleep(0.5)
    return notes[-1]


if __name__ == "__main__":
    server.run()
