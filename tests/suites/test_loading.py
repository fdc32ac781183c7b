"""Scenario files are read strictly, and errors point at the line and column."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.errors import ConfigError, UsageError
from sandbox.model import Hint, Verdict
from sandbox.suites import find_scenarios, load_scenario

WHOLE = """\
# A comment.
hintproof: 0
target: python3 server.py --name 'two words'
workspace: data
env: {KEY: value, EMPTY: ''}
calls:
  delete_user:
    - {user_id: 2, deep: [1.5, null, true, {a: "x"}]}
    - {}
expect:
  delete_user:
    readOnlyHint: contradicted
    idempotentHint: {verdict: inconclusive, reason: no-effect-seen}
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "x.hintproof.yaml"
    file.write_text(text)
    return file


def test_a_whole_scenario_is_read_as_plain_values(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    scenario = load_scenario(written(tmp_path, WHOLE))
    assert scenario.target == ("python3", "server.py", "--name", "two words")
    assert (scenario.folder, scenario.workspace) == (tmp_path, tmp_path / "data")
    assert scenario.env == {"KEY": "value", "EMPTY": ""}
    arguments = [call.arguments for call in scenario.calls]
    assert arguments == [{"user_id": 2, "deep": [1.5, None, True, {"a": "x"}]}, {}]
    assert type(arguments[0]["user_id"]) is int
    assert type(arguments[0]["deep"]) is list
    assert scenario.calls[0].origin == "example of x.hintproof.yaml:8"
    first, second = scenario.expect
    assert (first.tool, first.hint, first.verdict, first.reason, first.line) == (
        "delete_user",
        Hint.READ_ONLY,
        Verdict.CONTRADICTED,
        "",
        12,
    )
    assert (second.verdict, second.reason) == (Verdict.INCONCLUSIVE, "no-effect-seen")


@pytest.mark.parametrize(
    ("text", "position", "why"),
    [
        ("target: x\n", "1:1", "the first key must be"),
        ("hintproof: 1\ntarget: x\n", "1:1", "format version 1"),
        ("hintproof: false\ntarget: x\n", "1:1", "format version False"),
        ("hintproof: 0\n", "1:1", "no `target`"),
        ("hintproof: 0\ntarget: x\nexpects: {}\n", "3:1", "Did you mean expect"),
        ("hintproof: 0\ntarget: []\n", "2:1", "names no command"),
        ("hintproof: 0\ntarget: [a, 1]\n", "2:13", "not a text"),
        ('hintproof: 0\ntarget: "a \'b"\n', "2:1", "No closing quotation"),
        ("hintproof: 0\ntarget: x\nworkspace: nowhere\n", "3:1", "no folder"),
        ("hintproof: 0\ntarget: x\nenv: {PORT: 80}\n", "3:7", "put it into quotes"),
        ("hintproof: 0\ntarget: x\ncalls:\n  t: {a: 1}\n", "4:3", "not a list"),
        ("hintproof: 0\ntarget: x\ncalls:\n  t: [1]\n", "4:7", "not a mapping"),
        ("hintproof: 0\ntarget: x\ncalls:\n  t: [{day: 2027-01-01}]\n", "4:8", "no form in JSON"),
        (
            "hintproof: 0\ntarget: x\nexpect:\n  t:\n    readonlyHint: consistent\n",
            "5:5",
            "Did you mean readOnlyHint",
        ),
        (
            "hintproof: 0\ntarget: x\nexpect:\n  t:\n    readOnlyHint: contradict\n",
            "5:5",
            "Did you mean contradicted",
        ),
        (
            "hintproof: 0\ntarget: x\nexpect:\n  t:\n    readOnlyHint: {reason: a}\n",
            "5:5",
            "names no verdict",
        ),
        (
            "hintproof: 0\ntarget: x\nexpect:\n  t:\n    readOnlyHint: {verdict: moot, why: a}\n",
            "5:35",
            "no such key",
        ),
        ("hintproof: 0\ntarget: x\ntarget: y\n", "3:1", "duplicate key"),
        ("hintproof: 0\ntarget: [x\n", "3:1", "expected"),
        ("- hintproof\n", "1:1", "not a mapping"),
    ],
)
def test_a_fault_is_named_with_file_line_and_column(
    tmp_path: Path, text: str, position: str, why: str
) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_scenario(file)
    assert str(caught.value).startswith(f"{file}:{position}: ")
    assert why in str(caught.value)


def test_a_file_that_is_no_text_is_a_config_error(tmp_path: Path) -> None:
    file = tmp_path / "x.hintproof.yaml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"x\.hintproof\.yaml"):
        load_scenario(file)


def test_folders_are_searched_and_each_scenario_is_found_once(tmp_path: Path) -> None:
    for name in ("b", "a/deep"):
        (tmp_path / name).mkdir(parents=True)
        written(tmp_path / name, WHOLE)
    (tmp_path / "other.yaml").write_text("")
    found = find_scenarios([tmp_path, tmp_path / "b" / "x.hintproof.yaml"])
    assert found == (tmp_path / "a" / "deep" / "x.hintproof.yaml", tmp_path / "b" / "x.hintproof.yaml")


def test_no_scenario_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No scenario"):
        find_scenarios([tmp_path])
    with pytest.raises(UsageError, match="no such"):
        find_scenarios([tmp_path / "nowhere"])


def test_the_shipped_scenarios_are_valid() -> None:
    shipped = find_scenarios([Path(__file__).parents[2] / "scenarios"])
    assert len({load_scenario(file).name for file in shipped}) == len(shipped) >= 2
