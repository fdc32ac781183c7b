"""A client configuration with servers of several kinds and an image beside it, verified by one command."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from imageruns import hintproof

HERE = Path(__file__).parent
TESTS = HERE.parent


@pytest.mark.real
def test_five_servers_of_different_kinds_in_one_command(tmp_path: Path, stock: Path) -> None:
    http = str(TESTS / "session/http_server.py")
    entries = {
        "npm": {
            "command": "npx",
            "args": ["-y", "@modelcontextprotocol/server-sequential-thinking@2026.8.31"],
        },
        "pypi": {"command": "uvx", "args": ["mcp-server-time==2026.10.19"]},
        "command": {"command": sys.executable, "args": [str(TESTS / "servers/one_value.py")]},
        "http": {
            "type": "http",
            "command": sys.executable,
            "args": [http, "8123"],
            "url": "http://127.0.0.1:8123/mcp",
        },
    }
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": entries}))
    ran = hintproof(
        "verify",
        "mcp.json",
        f"oci:{stock}/root.tar",
        "--jobs",
        "2",
        "--json",
        "--host",
        "local",
        cwd=tmp_path,
    )
    targets = {target["name"]: target["class"] for target in ran.answer["targets"]}
    assert list(targets) == [*(f"mcp.json#{name}" for name in entries), f"oci:{stock}/root.tar"]
    assert targets == {
        "mcp.json#npm": "verified",
        "mcp.json#pypi": "verified",
        "mcp.json#command": "contradicted",
        "mcp.json#http": "contradicted",
        f"oci:{stock}/root.tar": "contradicted",
    }, ran.said
    assert ran.code == 1
