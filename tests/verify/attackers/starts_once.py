"""Starts only as long as the file of ``START_WHILE`` exists (named from the root on, without its first slash)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from base import WORKSPACE, Server

server = Server("starts-once")


@server.tool(readOnlyHint=True, arguments={"mode": {"enum": ["a", "b", "c", "d", "e"]}})
def write(mode):
    """Write, so that each call costs a box."""
    (WORKSPACE / f"{mode}.txt").touch()
    return "written"


if __name__ == "__main__":
    if not Path("/", os.environ["START_WHILE"]).exists():
        sys.exit("starts_once: the licence is used up")
    server.run()
