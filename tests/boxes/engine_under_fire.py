"""An engine for test_lifelines.py: keeps two boxes running and others coming and going until its stdin ends.

It prints one JSON line once the two boxes run.
"""

from __future__ import annotations

import json
import select
import sys

from sandbox.boxes import BoxPlan, Launcher
from sandbox.errors import BoxLostError
from sandbox.model import SeedEntry

token = sys.argv[1]
PLAN = BoxPlan(
    ("/bin/sh", "-c", f"sleep {token} & setsid sleep {token} & exec sleep {token}"),
    seeds=(SeedEntry("/home/user/seed", "file", content=b"x"),),
)


def main() -> None:
    with Launcher.start() as launcher:
        for _ in range(2):
            launcher.launch(PLAN)
        sys.stdout.write(json.dumps({"daemon": launcher.daemon_pid}) + "\n")
        sys.stdout.flush()
        while not select.select([sys.stdin], [], [], 0)[0]:
            try:
                launcher.launch(PLAN).close()
            except BoxLostError:
                # This round's victim was the daemon, or a process of the box that was coming up.
                continue


if __name__ == "__main__":
    main()
