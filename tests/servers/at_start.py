"""A server that cannot be spoken to: ``hang`` never answers, ``exit`` ends at once, ``flood`` prints for
ever. Otherwise fine."""

from __future__ import annotations

import sys
import time

from base import Server

server = Server("at-start")


@server.tool(readOnlyHint=True)
def fine():
    """Say that all is well."""
    return "well"


if __name__ == "__main__":
    if "exit" in sys.argv:
        sys.exit("at_start: no API key, giving up")
    while "hang" in sys.argv:
        time.sleep(60)
    while "flood" in sys.argv:
        sys.stdout.write("flood " * 1000 + "\n")
    server.run()
