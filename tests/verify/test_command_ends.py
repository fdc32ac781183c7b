"""What the command ends with, as scripts and CI see it: codes, streams, and nothing left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from verifying import command_of, copy_servers, nothing_left

from sandbox.errors import ExitCode

COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "hangs": (("at_start.py", "hang"), ("--timeout", "start=2")),
    "exits": (("at_start.py", "exit"), ()),
    # Time enough to start and to say what must be quoted.
    "floods": (("at_start.py", "flood"), ("--timeout", "start=6")),
    "never answers": (("exhausts.py",), ("--tool", "never_answer", "--timeout", "call=1")),
    "lies": (("error_wrote.py",), ()),
    "tells the truth": (("one_value.py", "honest"), ()),
}
"""Servers with their words, and the options of ``hintproof verify``."""


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, subprocess.CompletedProcess[str]]:
    """Run every command as a user does, side by side."""
    place = tmp_path_factory.mktemp("commands")
    copy_servers(place)
    (place / "workspace").mkdir()
    with nothing_left(str(place)):
        running = {name: _start(place, *command) for name, command in COMMANDS.items()}
        return {name: _end(process) for name, process in running.items()}


def _start(place: Path, server: tuple[str, ...], options: tuple[str, ...]) -> subprocess.Popen[str]:
    name, *words = server
    command = command_of(place, name, place / "workspace", *words)
    return subprocess.Popen(
        [sys.executable, "-m", "sandbox", "verify", "-q", "--json", *options, "--", *command],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _end(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    with process:
        stdout, stderr = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


@pytest.mark.parametrize(
    ("name", "told"),
    [("hangs", "2 s"), ("exits", "at_start: no API key, giving up"), ("floods", "flood flood")],
)
def test_a_server_that_cannot_be_spoken_to_ends_the_run_with_exit_code_3(
    ended: dict[str, subprocess.CompletedProcess[str]], name: str, told: str
) -> None:
    assert ended[name].returncode == ExitCode.SERVER_UNREACHABLE
    assert ended[name].stdout == ""
    assert told in ended[name].stderr
    assert "Traceback" not in ended[name].stderr


def test_a_server_that_answers_no_call_verifies_nothing(
    ended: dict[str, subprocess.CompletedProcess[str]],
) -> None:
    assert ended["never answers"].returncode == ExitCode.NOTHING_VERIFIED
    [tool] = json.loads(ended["never answers"].stdout)["tools"]
    assert tool["calls"] == {"tried": 1, "accepted": 0}


def test_a_lie_fails_the_run_and_the_truth_does_not(
    ended: dict[str, subprocess.CompletedProcess[str]],
) -> None:
    assert ended["lies"].returncode == ExitCode.CONTRADICTED
    assert ended["tells the truth"].returncode == ExitCode.OK
    for name in ("lies", "tells the truth"):
        report = json.loads(ended[name].stdout)
        assert report["exit_code"] == ended[name].returncode
        assert ended[name].stderr == ""
