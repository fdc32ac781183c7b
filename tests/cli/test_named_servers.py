"""Servers named by files: what they need, what is made up for it, and what no output shows."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from commands import HERE, Hintproof, server

NEEDY = HERE / "needy_server.py"


def config(folder: Path, **entry: object) -> None:
    plain = {"command": sys.executable, "args": [str(NEEDY), "data"], **entry}
    (folder / ".mcp.json").write_text(json.dumps({"mcpServers": {"needy": plain}}))
    (folder / "data").mkdir()


def test_a_server_that_asks_at_its_start_is_started_again_with_made_up_values(hintproof: Hintproof) -> None:
    done = hintproof("list", *server(NEEDY))
    assert done.code == 0, done.err
    assert "starting the server again with made-up values for EXAMPLE_TOKEN" in done.err
    told = " ".join(done.out.split())
    assert "Made up, because nobody gave it: EXAMPLE_TOKEN, EXAMPLE_URL, folder." in told


def test_what_cannot_be_made_up_is_asked_for_with_the_option(hintproof: Hintproof) -> None:
    given = ("-e", "EXAMPLE_TOKEN=abcdef", "-e", "EXAMPLE_URL=https://x.example", "-e", "FLAVOUR=")
    done = hintproof("list", *given, *server(NEEDY, "data"))
    assert done.code == 3
    assert "Give them with: -e FLAVOUR_OF_DAY=..." in done.err


def test_secrets_of_a_file_are_in_no_output(hintproof: Hintproof, tmp_path: Path) -> None:
    secret = "the-secret-of-the-file"
    config(tmp_path, env={"EXAMPLE_TOKEN": secret, "EXAMPLE_URL": "https://api.example/"})
    done = hintproof("verify", ".mcp.json", "--json")
    assert done.code == 0, done.err
    report = json.loads(done.out)
    assert report["target"] == ".mcp.json#needy"
    assert report["tools"][0]["calls"]["accepted"] > 0
    assert secret not in done.out + done.err
    kept = [path for path in (tmp_path / ".hintproof").rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if secret.encode() in path.read_bytes()]


def test_what_a_file_asks_for_is_given_with_set(hintproof: Hintproof, tmp_path: Path) -> None:
    package = {
        "registryType": "npm",
        "identifier": "x",
        "environmentVariables": [{"name": "FLAVOUR", "isRequired": True}],
    }
    remote = {
        "type": "http",
        "url": "https://{tenant}.example/mcp",
        "variables": {"tenant": {"isRequired": True}},
    }
    content = {"name": "io.example/x", "packages": [package], "remotes": [remote]}
    (tmp_path / "server.json").write_text(json.dumps(content))
    done = hintproof("list", "server.json#npm")
    assert (done.code, done.out) == (2, "")
    assert "server.json#npm needs what only you can give. Give it with: -e FLAVOUR=..." in done.err
    done = hintproof("list", "server.json#http")
    assert "no such package. The file offers: npm, streamable-http" in done.err
    done = hintproof("list", "server.json#streamable-http")
    assert "--set tenant=..." in done.err
    done = hintproof("list", "server.json#streamable-http", "--set", "tenant=s3cret-tenant")
    assert "a server behind an address" in done.err
    assert "s3cret-tenant" not in done.err
    done = hintproof("list", "server.json", "--set", "tenant")
    assert "write NAME=VALUE" in done.err


def test_names_of_servers_do_not_move_the_cursor(hintproof: Hintproof, tmp_path: Path) -> None:
    servers = {"a\x1b[2J\n::error::b": {"command": "no-such-program"}, "c": {"command": "no-such-program"}}
    (tmp_path / "mcp.json").write_text(json.dumps({"servers": servers}))
    done = hintproof("list", "mcp.json")
    assert done.code == 3
    assert "\x1b[2J" not in done.out + done.err
    assert "\n::error::" not in done.out + done.err
