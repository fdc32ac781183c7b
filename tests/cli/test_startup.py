"""What a command imports before it does anything: help has to come at once."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from commands import PATIENCE_S, ROOT, environment

HEAVY = ("mcp", "mcp_types", "pydantic", "rich", "cryptography", "jsonschema", "anyio", "httpx2", "ruamel")

LOADED = """
import json, sys
from sandbox.cli.main import main
sys.argv = ["hintproof", *sys.argv[1:]]
try:
    main()
except SystemExit as end:
    code = end.code
sys.stderr.write(json.dumps([code, sorted(sys.modules)]))
"""


def loaded(*words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *words],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=True,
    )
    code, modules = json.loads(done.stderr)
    assert code == 0
    return set(modules)


@pytest.mark.parametrize("words", [["--help"], ["--version"]], ids=" ".join)
def test_help_loads_nothing_heavy_and_no_command(words: list[str]) -> None:
    modules = loaded(*words)
    assert not modules & set(HEAVY)
    assert {name for name in modules if name.startswith("sandbox.cli.")} == {"sandbox.cli.main"}


@pytest.mark.parametrize(
    "words", [["verify", "--help"], ["judge", "--help"], ["explain", "moot"]], ids=" ".join
)
def test_no_command_loads_the_protocol_before_it_needs_it(words: list[str]) -> None:
    assert not loaded(*words) & {"mcp", "mcp_types", "pydantic", "cryptography", "httpx2"}
