"""What goes to which stream, and in which form."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from commands import PATIENCE_S, USER_ADMIN, Hintproof, Verified, environment, rogue, server
from jsonschema import Draft202012Validator

from sandbox.report.document import report_schema

COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-7][;m]")


def on_a_terminal(*words: str, cwd: Path, **env: str) -> str:
    """What a command writes to a terminal, both streams."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "sandbox", *words],
        cwd=cwd,
        env=environment(TERM="xterm-256color", **env),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    ) as process:
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # EIO: the last one has closed it
                break
            parts.append(part)
        process.wait(PATIENCE_S)
    os.close(ours)
    return b"".join(parts).decode()


def test_json_is_all_there_is_on_stdout_and_valid(lie: Verified) -> None:
    report = json.loads(lie.done.out)
    Draft202012Validator(report_schema()).validate(report)
    assert lie.done.out.startswith("{")
    assert lie.done.out.endswith("}\n")
    assert json.loads((lie.run / "report.json").read_text()) == report
    assert report["exit_code"] == lie.done.code == 1


def test_progress_is_on_stderr_only(lie: Verified) -> None:
    lines = lie.done.err.splitlines()
    assert any("starting the server" in line for line in lines)
    assert any("[3/3] delete_user: " in line and "1 contradicted" in line for line in lines)


def test_quiet_says_nothing_on_stderr_and_all_on_stdout(hintproof: Hintproof) -> None:
    done = hintproof("verify", "-q", *server(USER_ADMIN / "lying/server.py"))
    assert (done.code, done.err) == (1, "")
    assert "delete_user · readOnlyHint true · contradicted · high, certain" in done.out
    assert re.search(r"replay +hintproof replay [0-9a-f]{10}", done.out)
    assert "\x1b" not in done.out


def test_a_terminal_gets_colours_unless_it_does_not_want_them(lie: Verified) -> None:
    assert COLOUR.search(on_a_terminal("judge", cwd=lie.folder))
    assert not COLOUR.search(on_a_terminal("judge", cwd=lie.folder, NO_COLOR="1"))


def test_a_terminal_sees_the_live_line_and_then_the_report(tmp_path: Path) -> None:
    shown = on_a_terminal("verify", *server(USER_ADMIN / "lying/server.py"), cwd=tmp_path)
    live, _, report = shown.partition("hintproof ")
    assert "calls" in live
    assert "contradicted" in report


def test_what_comes_after_the_dashes_is_the_servers(hintproof: Hintproof) -> None:
    words = ["--seed", "9", "--json", "-q", "--", "verify"]
    done = hintproof("list", "--json", *rogue("words", *words))
    assert json.loads(done.out)["tools"][0]["description"] == " ".join(words)


@pytest.mark.parametrize(
    "command",
    ["verify", "investigate", "run", "list", "arguments", "judge", "replay", "doctor", "explain"],
)
def test_every_command_explains_its_options(hintproof: Hintproof, command: str) -> None:
    done = hintproof(command, "--help")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"Usage: hintproof {command}")


def test_list_shows_what_was_sent_and_the_defaults_in_brackets(hintproof: Hintproof) -> None:
    done = hintproof("list", *server(USER_ADMIN / "honest/server.py"))
    assert done.code == 0
    assert re.search(
        r"^get_user +true +\(true\) +\(false\) +false +Look up one user\.$", done.out, re.MULTILINE
    )
    assert "8 of 12 hints declared" in done.out
    assert "starting the server" in done.err


def test_arguments_shows_what_would_be_sent_and_why(hintproof: Hintproof) -> None:
    done = hintproof("arguments", "delete_user", *server(USER_ADMIN / "honest/server.py"))
    assert done.code == 0
    assert done.out.splitlines()[:3] == [
        "delete_user",
        '  minimal: {"user_id": 1}',
        "      user_id: the schema's example",
    ]
    as_json = hintproof("arguments", "--json", *server(USER_ADMIN / "honest/server.py"))
    assert json.loads(as_json.out)["get_user"][0]["arguments"] == {"user_id": 1}


def test_explain_knows_every_word_that_it_lists(hintproof: Hintproof) -> None:
    listed = hintproof("explain").out
    assert "observed-once" in listed
    assert hintproof("explain", "observed-once").out.startswith("observed-once (reason")


def test_doctor_says_what_works(hintproof: Hintproof) -> None:
    done = hintproof("doctor")
    assert done.code == 0, done.out
    assert "Ready." in done.out
    checks = json.loads(hintproof("doctor", "--json").out)
    assert {"name", "works", "meaning"} <= set(checks[0])


def test_output_that_has_no_room_is_said_without_a_traceback(lie: Verified) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "sandbox", "judge", "last", "--json"],
            cwd=lie.folder,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == 70
    assert done.stderr.startswith("hintproof: Cannot write the output: No space left on device.\n")
