"""What a server that ended at its start asked for, and the values that are made up for it."""

from __future__ import annotations

import pytest

from sandbox.targets.made_up import make_up
from sandbox.targets.needs import asked_for, filled, from_refusal
from sandbox.targets.orders import Need

REAL = {
    "Error: GITHUB_PERSONAL_ACCESS_TOKEN environment variable is required": ["GITHUB_PERSONAL_ACCESS_TOKEN"],
    "BRAVE_API_KEY environment variable is not set": ["BRAVE_API_KEY"],
    "Please set SLACK_BOT_TOKEN and SLACK_TEAM_ID environment variables": [
        "SLACK_BOT_TOKEN",
        "SLACK_TEAM_ID",
    ],
    "Missing required environment variables:\n  - JIRA_URL\n  - JIRA_TOKEN\n\nSee the docs of OTHER_NAME": [
        "JIRA_URL",
        "JIRA_TOKEN",
    ],
    "File \"os.py\", line 1, in __getitem__\nKeyError: 'APIKEY'": ["APIKEY"],
    "Environment variable `TOKEN` must be provided": ["TOKEN"],
    "throw new Error('process.env.KEY is undefined')": ["KEY"],
    "1 validation error for Settings\napi_key\n  Field required [type=missing, input_value={}, input_type=dict]": [
        "API_KEY"
    ],
    'ZodError: [{"code":"invalid_type","path":["NOTION_TOKEN"],"message":"Required"}]': ["NOTION_TOKEN"],
    "usage: server [-h] --db-path DB_PATH\nserver: error: the following arguments are required: --db-path": [
        "--db-path"
    ],
    "server: error: the following arguments are required: --root, repository": ["--root", "repository"],
    "Usage: cli [OPTIONS]\n\nError: Missing option '--token'.": ["--token"],
    "Error: Missing argument 'DIRECTORY'.": ["DIRECTORY"],
    "error: required option '-t, --token <token>' not specified": ["--token"],
    "error: missing required argument 'dir'": ["dir"],
    'Error: required flag(s) "api-url" not set': ["--api-url"],
    "error: the following required arguments were not provided:\n  --path <PATH>\n\nUsage: x --path <PATH>": [
        "--path"
    ],
    "Usage: mcp-server-filesystem <allowed-directory> [additional-directories...]": ["allowed-directory"],
    "Usage: node index.js --token <token> [--debug <level>] <folder>": ["--token", "folder"],
}


@pytest.mark.parametrize("text", REAL, ids=lambda text: text[:30])
def test_what_real_servers_say(text: str) -> None:
    assert [need.name for need in from_refusal(text)] == REAL[text]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'zod' imported from /x.js",
        "Error: listen EADDRINUSE: address already in use",
        "ModuleNotFoundError: No module named 'mcp'",
        "npm WARN config NPM_CONFIG_CACHE is missing",
        "The file is missing",
        "SERVER_STARTED\nready",
        "Usage: server [options] [dir]",
    ],
)
def test_other_ends_ask_for_nothing(text: str) -> None:
    assert from_refusal(text) == ()


def test_a_hostile_end_is_bounded() -> None:
    text = "\n".join(f"A_{number} is required" for number in range(100_000))
    assert len(from_refusal(text)) == 20
    assert from_refusal("Usage: x " + "<" * 1_000_000) == ()
    assert from_refusal("missing " * 1_000_000) == ()


def test_made_up_values_stand_where_they_were_asked_for() -> None:
    needs = from_refusal("GITHUB_TOKEN is required\nthe following arguments are required: --root, repository")
    variables, words, names = filled(needs)
    assert variables["GITHUB_TOKEN"].startswith("ghp_")
    assert words == ("--root", "/home/user/workspace", "/home/user/workspace")
    assert names == ("GITHUB_TOKEN", "--root", "repository")


def test_what_nothing_can_be_made_up_for_is_asked_of_the_user() -> None:
    needs = from_refusal("FLAVOUR_OF_DAY must be set")
    assert filled(needs) == ({}, (), ())
    assert "-e FLAVOUR_OF_DAY=..." in asked_for(needs)
    assert asked_for(()) == ""


def test_the_same_name_gives_the_same_value_and_another_name_another() -> None:
    assert (
        make_up(Need("env", "A_TOKEN")) == make_up(Need("env", "A_TOKEN")) != make_up(Need("env", "B_TOKEN"))
    )
