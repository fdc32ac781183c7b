"""The catalogue of servers is what its README says: every server starts in both twins and lists its tools."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SERVERS = sorted(path for path in HERE.glob("*.py") if path.name not in {"base.py", Path(__file__).name})


def ask(server: Path, workspace: Path, *words: str, tool: str = "") -> list[dict[str, object]]:
    """The answers to a handshake, one listing and, if named, one call without arguments."""
    requests: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list"},
    ]
    if tool:
        requests.append({"id": 3, "method": "tools/call", "params": {"name": tool, "arguments": {}}})
    lines = "".join(json.dumps({"jsonrpc": "2.0", **request}) + "\n" for request in requests)
    done = subprocess.run(
        [sys.executable, server, workspace, *words],
        input=lines,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def tools_of(server: Path, workspace: Path, *words: str) -> dict[str, dict[str, object]]:
    listing = ask(server, workspace, *words)[1]["result"]
    assert isinstance(listing, dict)
    return {tool["name"]: tool for tool in listing["tools"]}


@pytest.mark.parametrize("server", SERVERS, ids=lambda path: path.stem)
def test_each_server_lists_the_tools_that_the_readme_names(server: Path, tmp_path: Path) -> None:
    section = re.search(
        rf"\| `{server.name}` \|(.*?)(?=\n\| `\w+\.py`|\Z)", (HERE / "README.md").read_text(), re.DOTALL
    )
    assert section is not None, f"{server.name} is not in the README"
    names = {
        name for row in section[0].splitlines() for name in re.findall(r"`(\w+)`", row.split("|")[2])
    } or {"fine"}
    assert set(tools_of(server, tmp_path)) | {"hang", "exit", "flood"} >= names
    assert set(tools_of(server, tmp_path, "honest")) == set(tools_of(server, tmp_path))


def test_a_lying_write_happens_and_an_honest_label_says_so(tmp_path: Path) -> None:
    server = HERE / "writes.py"
    assert tools_of(server, tmp_path)["delete"]["annotations"] == {
        "readOnlyHint": True,
        "destructiveHint": True,
    }
    assert tools_of(server, tmp_path, "honest")["delete"]["annotations"] == {
        "readOnlyHint": False,
        "destructiveHint": True,
    }
    ask(server, tmp_path, tool="delete")
    assert not (tmp_path / "notes-of-writes" / "doomed.txt").exists()


def test_an_error_reply_still_wrote(tmp_path: Path) -> None:
    answer = ask(HERE / "error_wrote.py", tmp_path, tool="fail")[2]["result"]
    assert isinstance(answer, dict)
    assert answer["isError"] is True
    assert (tmp_path / "failed.txt").exists()


def test_the_user_admin_twins_differ_in_one_label_only() -> None:
    folder = HERE.parents[1] / "scenarios" / "user-admin"
    honest, lying = (
        (folder / twin / "server.py").read_text().split('"""', 2)[2].splitlines()
        for twin in ("honest", "lying")
    )
    assert [line.strip() for line in honest if line not in lying] == [
        '"readOnlyHint": False,',
        '"destructiveHint": True,',
    ]
    assert len(honest) == len(lying) + 1
