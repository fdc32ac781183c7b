"""Text of the server, and values of ``-e``, in everything that a command writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import Hintproof, rogue

TOKEN = 'tok-"93€ [x]'
"""A value with what JSON, terminals and file names write in another way."""

FORMS = (TOKEN, json.dumps(TOKEN)[1:-1], json.dumps(TOKEN, ensure_ascii=False)[1:-1])
ESCAPES = ("\x1b[31m", "\u202e", "\x07", "\r", "::error::")

COMMANDS = [
    ["verify"],
    ["verify", "--json"],
    ["verify", "-v"],
    ["investigate", "leak"],
    ["investigate", "leak", "--json"],
    ["list"],
    ["list", "--json"],
    ["arguments"],
    ["arguments", "--json"],
]


def written(folder: Path) -> dict[str, str]:
    """Every file below a folder, and its name."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes().decode("utf-8", "replace") for path in files}


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_value_of_e_is_nowhere(hintproof: Hintproof, tmp_path: Path, command: list[str]) -> None:
    done = hintproof(*command, "-e", f"TOKEN={TOKEN}", "-e", "SHORT=xyz", *rogue("leaks"))
    assert done.code in {0, 1}, done.err

    files = written(tmp_path)
    if command[0] in {"verify", "investigate"}:
        assert {"report.json", "run.json"} <= {Path(name).name for name in files}
        assert any("wire/" in name for name in files)
        assert any("tools/" in name for name in files)
    for place, text in {"stdout": done.out, "stderr": done.err, **files}.items():
        for form in FORMS:
            assert form not in text, place
            assert form not in place
        assert "SHORT=xyz" not in text
    assert "[redacted]" in done.out


def test_a_value_of_e_is_not_in_the_last_words_of_a_server_either(hintproof: Hintproof) -> None:
    done = hintproof("verify", "-e", "TOKEN", *rogue("dies"), TOKEN=TOKEN)
    assert done.code == 3
    assert "cannot start: [redacted]" in done.err
    assert TOKEN not in done.err


def test_replay_asks_for_the_values_that_were_not_saved(hintproof: Hintproof) -> None:
    report = json.loads(hintproof("verify", "--json", "-e", f"TOKEN={TOKEN}", *rogue("leaks")).out)
    (finding,) = [
        finding
        for tool in report["tools"]
        for finding in tool["findings"]
        if finding["verdict"] == "contradicted"
    ]
    refused = hintproof("replay", finding["id"])
    assert refused.code == 2
    assert "-e TOKEN" in refused.err

    again = hintproof("replay", finding["id"], "-e", f"TOKEN={TOKEN}")
    assert again.code == 1, again.err
    assert "Seen again." in again.out
    assert not any(form in again.out + again.err for form in FORMS)


@pytest.mark.parametrize(
    "command",
    [["verify"], ["verify", "--json"], ["verify", "-v"], ["list"], ["list", "--json"], ["arguments"]],
    ids=" ".join,
)
def test_escape_sequences_of_a_server_never_reach_the_terminal(
    hintproof: Hintproof, command: list[str]
) -> None:
    done = hintproof(*command, *rogue("escapes"))
    assert done.code in {0, 1}, done.err
    for text in (done.out, done.err):
        shown = [escape for escape in ESCAPES if escape in text]
        assert shown == ["::error::"] * ("--json" in command and text == done.out)
    assert "shout" in done.out


@pytest.mark.parametrize("mode", ["dies", "refuses"])
def test_nor_do_those_of_its_errors(hintproof: Hintproof, mode: str) -> None:
    done = hintproof("verify", *rogue(mode))
    assert "\\x1b[31mred" in done.out + done.err
    assert not [escape for escape in ESCAPES if escape in done.out + done.err]
