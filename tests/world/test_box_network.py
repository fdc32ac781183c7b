"""The gateway behind a real box's network, where every address is local and nothing else is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from warden import PATIENCE_S, Warden

from sandbox.world.names import NameBook

PROGRAM = Path(__file__).with_name("box_network.py")


def test_every_address_answers_and_is_recorded_as_the_one_that_was_meant(box: Warden) -> None:
    warden = box.control.fileno()

    done = subprocess.run(
        [sys.executable, PROGRAM, str(warden)],
        pass_fds=[warden],
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE_S,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    v4, v6 = map(str, NameBook().fakes("api.example.org") or ())
    lookups = dict.fromkeys(["udp4", "udp6", "loopback", "tcp4", "tcp6"], v4)
    assert json.loads(done.stdout) == {**lookups, "get4": "{}", "get6": "{}"}
    seen = [(exchange.kind, exchange.host, exchange.address, exchange.port) for exchange in box.exchanges()]
    resolvers = ["8.8.8.8", "2001:4860:4860::8888", "127.0.0.53", "8.8.8.8", "2001:4860:4860::8888"]
    assert seen == [
        *[("dns", "api.example.org", resolver, 53) for resolver in resolvers],
        ("dns", "api.example.org", "8.8.8.8", 53),
        ("http", "api.example.org", v4, 8080),
        ("dns", "api.example.org", "8.8.8.8", 53),
        ("http", "api.example.org", v6, 8080),
    ]
