"""Looks for the latest day whose dependencies a server starts on; run in a box: ``python datesearch.py JSON``.

Standard library only and alone in the box. Later steps find in the cache what earlier ones fetched. It prints
one line of JSON: the day ("" for none), and what came of each day.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from datetime import date, timedelta

_ASK = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"install","version":"1"}}}\n'
    b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
)


def complaint(argv: list[str], broken: str, seconds: float) -> str:
    """What a server says of code that does not fit together; "" where it lists its tools, or fails for another cause."""
    with tempfile.TemporaryFile() as complaints:
        # Modules that were compiled for one set of versions must not be found by the next.
        server = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=complaints,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        ending = threading.Timer(seconds, server.kill)
        ending.start()
        answered = False
        try:
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(_ASK)
            server.stdin.flush()
            for line in server.stdout:
                answered = b'"id":2' in line.replace(b" ", b"") and b'"result"' in line
                if answered:
                    break
        except OSError:
            pass
        finally:
            ending.cancel()
            server.kill()
            server.wait()
        complaints.seek(0)
        said = complaints.read(1 << 20).decode("utf-8", "replace")
    found = None if answered else re.search(broken + ".*", said, re.MULTILINE)
    return found[0][:200] if found else ""


def main() -> int:
    """Halve the time between a day that works and one that does not."""
    order = json.loads(sys.argv[1])
    low, high = date.fromisoformat(order["low"]), date.fromisoformat(order["high"])
    deadline = time.monotonic() + order["seconds"]
    tried: dict[str, str] = {}
    best = ""
    day = low
    while True:
        subprocess.run(
            order["clear"], stdout=sys.stderr, check=False
        )  # what is installed already would be kept
        installed = subprocess.run(
            [*order["install"], "--exclude-newer", day.isoformat(), "--", *order["requirements"]],
            stdout=sys.stderr,
            check=False,
        )
        why = (
            complaint(order["server"], order["broken"], 20) if installed.returncode == 0 else "not installed"
        )
        tried[day.isoformat()] = why
        if not why:
            best, low = day.isoformat(), day
        elif not best:
            break
        else:
            high = day
        day = low + (high - low) // 2
        if (
            (high - low) <= timedelta(days=order["close"])
            or time.monotonic() > deadline
            or day in (low, high)
        ):
            break
    sys.stdout.write(json.dumps({"best": best, "tried": tried}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
