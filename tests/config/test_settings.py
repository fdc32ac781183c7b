"""Settings come from defaults, then the file, then the command line; what is wrong is named with its place."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest

from sandbox import policy
from sandbox.config import Budget, Settings, find_settings_file, resolve_settings
from sandbox.config.settings import PROFILES
from sandbox.errors import ConfigError, UsageError
from sandbox.model import FailOn, Limits, Severity


def resolved(folder: Path, environ: Mapping[str, str] | None = None, **flags: object) -> Settings:
    return resolve_settings(flags, cwd=folder, environ=environ or {})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The root of a repository, where the search for settings ends."""
    (tmp_path / ".git").mkdir()
    return tmp_path


def test_without_a_file_and_flags_the_defaults_hold(folder: Path) -> None:
    assert resolved(folder) == Settings()


def test_the_command_line_wins_over_the_file_and_the_file_over_the_defaults(folder: Path) -> None:
    (folder / "hintproof.toml").write_text(
        'seed = 7\nfail_on = "inconclusive"\n[limits]\nmemory_mb = 100\nprocesses = 9\n'
    )
    settings = resolved(folder, seed="8", limits=["memory_mb=200"])
    assert (settings.seed, settings.fail_on) == (8, FailOn.INCONCLUSIVE)
    assert settings.limits == Limits(memory_mb=200, processes=9)
    assert settings.source == folder / "hintproof.toml"


def test_options_that_were_not_given_change_nothing(folder: Path) -> None:
    assert resolved(folder, seed=None, tools=(), expose=[]) == Settings()


def test_every_setting_can_be_given_as_words(folder: Path) -> None:
    settings = resolved(
        folder,
        {"TOKEN": "from the shell"},
        profile="spec",
        budget=["90", "200calls"],
        workspace="data",
        env=["KEY=value=with", "EMPTY=", "TOKEN"],
        expose=["lib", "/opt/thing"],
        closed_world=["API.example.com"],
        transport="http",
        port="8080",
        path="/rpc",
        tools=["get_*"],
        timeouts=["call=2.5"],
        fail_on="never",
        min_severity="high",
        min_coverage="80",
    )
    assert settings.budget == Budget(90.0, 200)
    assert settings.workspace == folder / "data"
    assert settings.env == {"KEY": "value=with", "EMPTY": "", "TOKEN": "from the shell"}
    assert settings.expose == (folder / "lib", Path("/opt/thing"))
    assert settings.closed_world == ("api.example.com",)
    assert (settings.transport, settings.port, settings.path) == ("http", 8080, "/rpc")
    assert (settings.tools, settings.timeouts.call) == (("get_*",), 2.5)
    assert (settings.fail_on, settings.min_severity, settings.min_coverage) == (
        FailOn.NEVER,
        Severity.HIGH,
        80,
    )


def test_paths_in_the_file_are_relative_to_it(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.hintproof]\nworkspace = "data"\nexpose = ["lib"]\n')
    below = folder / "src" / "deep"
    below.mkdir(parents=True)
    settings = resolved(below)
    assert (settings.workspace, settings.expose) == (folder / "data", (folder / "lib",))


def test_the_search_ends_at_the_repository(folder: Path) -> None:
    (folder / "hintproof.toml").write_text("seed = 1\n")
    inner = folder / "inner"
    (inner / ".git").mkdir(parents=True)
    assert find_settings_file(inner) is None


def test_a_pyproject_without_our_table_is_passed_over(folder: Path) -> None:
    (folder / "hintproof.toml").write_text("seed = 1\n")
    inner = folder / "inner"
    inner.mkdir()
    (inner / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert resolved(inner).seed == 1


def test_settings_in_both_files_of_a_folder_are_an_error(folder: Path) -> None:
    (folder / "hintproof.toml").write_text("seed = 1\n")
    (folder / "pyproject.toml").write_text("[tool.hintproof]\nseed = 2\n")
    with pytest.raises(ConfigError, match="one of them"):
        resolved(folder)


def test_allow_rules_carry_reason_place_and_last_day(folder: Path) -> None:
    (folder / "hintproof.toml").write_text(
        'seed = 1\n\n[[allow]]\nhost = "*.Example.com"\nreason = "licence check"\n\n'
        '[[allow]]\npath = "/home/user/.cache/*"\ntool = "get_*"\nreason = "cache"\nexpires = 2027-01-31\n'
    )
    first, second = resolved(folder).allow
    assert (first.host, first.reason, first.tool, first.expires) == (
        "*.example.com",
        "licence check",
        "*",
        None,
    )
    assert (second.path, second.tool) == ("/home/user/.cache/*", "get_*")
    assert second.where == f"{folder / 'hintproof.toml'}:7"
    assert second.active(date(2027, 1, 31))
    assert not second.active(date(2027, 2, 1))


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("seed = 1\n\nsed = 2\n", 3, "no setting is called sed. Did you mean seed"),
        ("seed = 1\n[limits]\nmemory = 5\n", 3, "Did you mean memory_mb"),
        ("[timeouts]\ncal = 5\n", 2, "Did you mean call"),
        ('limits = {memory_mb = "much"}\n', 1, "not a number"),
        ("seed = -1\n", 1, "not a number from 0"),
        ("seed = true\n", 1, "not a number"),
        ("fail_on = 'inconclusiv'\n", 1, "Did you mean inconclusive"),
        ("profile = 'openai'\n", 1, "not one of spec"),
        ("[[allow]]\npath = '/x'\n", 1, "needs a reason"),
        ("[[allow]]\nreason = 'x'\n", 1, "either a path or a host"),
        ("[[allow]]\nreason = 'x'\nhost = 'a'\nexpire = 2027-01-01\n", 4, "Did you mean expires"),
        ("[[allow]]\nreason = 'x'\nhost = 'https://a'\n", 3, "not a host name"),
        ("[[allow]]\nreason = 'x'\nhost = 'a'\nexpires = 'soon'\n", 4, "not a date"),
        ("allow = ['x']\n", 1, "list of tables"),
        ("budget = 'much'\n", 1, "neither SECONDS nor NUMBERcalls"),
        ("closed_world = 'http://x'\n", 1, "no scheme"),
        ("env = ['TOKEN']\n", 1, "TOKEN is to be forwarded"),
        ("min_coverage = 101\n", 1, "from 0 to 100"),
    ],
)
def test_a_fault_in_the_file_is_named_with_its_line(folder: Path, text: str, line: int, why: str) -> None:
    for name, offset, before in (
        ("hintproof.toml", 0, ""),
        ("pyproject.toml", 3, "[project]\nname = 'x'\n[tool.hintproof]\n"),
    ):
        file = folder / name
        inside = text.replace("[[allow", "[[tool.hintproof.allow").replace(
            "[limits", "[tool.hintproof.limits"
        )
        inside = inside.replace("[timeouts", "[tool.hintproof.timeouts")
        file.write_text(before + (inside if before else text))
        with pytest.raises(ConfigError) as caught:
            resolved(folder)
        assert str(caught.value).startswith(f"{file}:{line + offset}: ")
        assert why in str(caught.value)
        file.unlink()


def test_a_file_that_is_not_toml_is_a_config_error(folder: Path) -> None:
    (folder / "hintproof.toml").write_text("seed 1\n")
    with pytest.raises(ConfigError, match="line 1"):
        resolved(folder)


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        ({"budget": ["soon"]}, "--budget: 'soon' is neither"),
        ({"limits": ["memory=5"]}, "--limit: nothing is called memory. Did you mean memory_mb"),
        ({"limits": ["memory_mb"]}, "is not NAME=VALUE"),
        ({"limits": ["open_files=1"]}, "--limit: 1 is not a number from 16 to"),
        ({"env": ["NOT_SET"]}, "-e: NOT_SET is to be forwarded"),
        ({"env": ["1X=2"]}, "not a variable's name"),
        ({"port": "0"}, "--port: "),
        ({"transport": "http"}, "needs --port"),
        ({"transport": "sse"}, "not one of stdio, http"),
        ({"path": "mcp"}, "does not begin with /"),
        ({"seeds": "1"}, "Did you mean seed"),
    ],
)
def test_a_fault_on_the_command_line_names_the_option(
    folder: Path, flags: dict[str, object], why: str
) -> None:
    with pytest.raises(UsageError) as caught:
        resolve_settings(flags, cwd=folder, environ={})
    assert why in str(caught.value)
    assert not isinstance(caught.value, ConfigError)


@pytest.mark.parametrize(
    ("word", "budget"),
    [("90", Budget(90.0)), ("1.5", Budget(1.5)), ("30s", Budget(30.0)), ("200calls", Budget(calls=200))],
)
def test_a_budget_is_seconds_or_calls(folder: Path, word: str, budget: Budget) -> None:
    assert resolved(folder, budget=word).budget == budget


def test_the_profiles_that_settings_may_name_are_those_that_there_are() -> None:
    assert set(PROFILES) == set(policy.PROFILES)
