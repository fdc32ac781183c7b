"""What a run leaves can be judged again without a sandbox, and its findings run again."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import USER_ADMIN, Hintproof, Verified, server

WITHOUT_ROOMS = """
import sys
rooms = [f"sandbox.{room}" for room in ("boxes", "linux", "world", "client", "session", "probe", "targets")]
outside = ["mcp", "pydantic", "cryptography", "anyio"]
for name in (*rooms, *outside):
    sys.modules[name] = None  # importing it now fails
from sandbox.cli.main import main
sys.argv = ["hintproof", "judge", "--json"]
main()
"""


def told(report: dict[str, Any]) -> list[Any]:
    return [(tool["name"], tool["findings"], tool["proposed"], tool["calls"]) for tool in report["tools"]]


def contradiction(report: dict[str, Any]) -> str:
    (found,) = [
        finding["id"]
        for tool in report["tools"]
        for finding in tool["findings"]
        if finding["verdict"] == "contradicted"
    ]
    return str(found)


def test_a_run_judged_again_has_the_same_findings(hintproof: Hintproof, lie: Verified) -> None:
    report = json.loads(lie.done.out)
    for name in ("last", lie.run.name, lie.run.name[:12], str(lie.run)):
        done = hintproof("judge", name, "--json", cwd=lie.folder)
        judged = json.loads(done.out)
        assert done.code == 1
        assert told(judged) == told(report)
        assert judged["server"] == report["server"]


def test_judging_needs_no_sandbox_on_the_machine(lie: Verified, hintproof: Hintproof) -> None:
    done = hintproof("judge", "--json", cwd=lie.folder)
    alone = hintproof(cwd=lie.folder, before=(sys.executable, "-c", WITHOUT_ROOMS))
    assert (alone.code, alone.out) == (done.code, done.out), alone.err


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("tools/*delete_user.json", '{"tool": ', "cannot be read"),
        ("tools/*delete_user.json", '{"tool": 3}', "damaged or of another version"),
        ("tools/*delete_user.json", "[]", "damaged or of another version"),
        ("run.json", '{"format": "hintproof.run/99"}', "another version"),
        ("run.json", '{"format": "hintproof.run/1"}', "damaged or of another version"),
        ("report.json", "\x00", "cannot be read"),
        ("report.json", '{"server": [], "remarks": 4}', "damaged or of another version"),
    ],
)
def test_a_damaged_run_is_told_with_the_file_and_what_to_do(
    hintproof: Hintproof, lie: Verified, file: str, content: str, said: str
) -> None:
    run = lie.folder / "damaged"
    shutil.copytree(lie.run, run, dirs_exist_ok=True)
    (target,) = run.glob(file)
    target.write_text(content)
    done = hintproof("judge", "damaged", cwd=lie.folder)
    shutil.rmtree(run)
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err


def test_a_run_without_a_finished_tool_verified_nothing(
    hintproof: Hintproof, lie: Verified, tmp_path: Path
) -> None:
    shutil.copytree(lie.run, tmp_path / "run")
    shutil.rmtree(tmp_path / "run/tools")
    done = hintproof("judge", "run")
    assert done.code == 5
    assert "stopped before its first tool" in done.err


def test_a_contradiction_is_seen_again_until_the_server_is_mended(
    hintproof: Hintproof, tmp_path: Path
) -> None:
    script = tmp_path / "lying/server.py"
    shutil.copytree(USER_ADMIN / "lying", script.parent)
    finding = contradiction(json.loads(hintproof("verify", "--json", *server(script)).out))

    again = hintproof("replay", finding)
    assert "making the calls again in a fresh box" in again.err
    assert again.code == 1, again.err
    assert f"Seen again. {finding}: delete_user readOnlyHint" in again.out
    assert "row.deleted" in again.out

    script.write_text(script.read_text().replace("DELETE FROM users WHERE", "SELECT 1 FROM users WHERE"))
    mended = hintproof("replay", finding[:6])
    assert mended.code == 0, mended.err
    assert f"Not seen again. {finding}" in mended.out


def test_a_finding_of_a_scenario_runs_again_from_its_own_folder(hintproof: Hintproof, tmp_path: Path) -> None:
    shutil.copytree(USER_ADMIN / "lying", tmp_path / "lying")
    assert hintproof("run", "lying").code == 0
    finding = contradiction(json.loads(hintproof("judge", "--json").out))
    done = hintproof("replay", finding)
    assert done.code == 1, done.err


def test_investigate_shows_when_who_and_what_and_is_replayed(hintproof: Hintproof) -> None:
    given = ["--args", '{"user_id": 1}']
    done = hintproof("investigate", "delete_user", *given, *server(USER_ADMIN / "lying/server.py"))
    assert done.code == 1, done.err
    (row,) = [line for line in done.out.splitlines() if " row.deleted " in line and "ms" not in line]
    when, who, what, *_ = row.split()
    assert float(when) > 0
    assert who.startswith("python")
    assert what == "row.deleted"
    assert 'call delete_user {"user_id": 1}' in done.out
    assert 'reply accepted: {"deleted": 1}' in done.out
    finding = done.out.split("hintproof replay ")[1].split()[0]

    judged = hintproof("judge")
    assert judged.code == 1
    assert "stopped before its end" not in judged.out
    assert hintproof("replay", finding).code == 1


def test_a_clean_tool_is_investigated_without_complaint(hintproof: Hintproof) -> None:
    done = hintproof("investigate", "get_user", "--json", *server(USER_ADMIN / "honest/server.py"))
    assert done.code == 0, done.err
    assert json.loads(done.out)["tool"]["name"] == "get_user"
