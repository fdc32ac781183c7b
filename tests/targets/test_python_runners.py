"""uvx, uv run and pipx run become the program of an environment that exists already."""

from __future__ import annotations

import pytest
from machine import Machine

from sandbox.errors import TargetNotFoundError, UsageError


@pytest.fixture
def installed(machine: Machine) -> Machine:
    """A machine whose project has an environment with one server, mcp-server-x 1.2.3."""
    base = machine.python("opt/python")
    site = machine.venv("project/.venv", base)
    machine.distribution(site, "mcp-server-x", "1.2.3", program="mcp-server-x")
    return machine


@pytest.mark.parametrize(
    "command",
    [
        ["uvx", "mcp-server-x"],
        ["uvx", "mcp-server-x@latest"],
        ["uvx", "mcp-server-x@1.2.3"],
        ["uvx", "--from", "mcp_server_x[extra]>=1", "mcp-server-x"],
        ["uvx", "--python", "3.12", "--with", "other", "-q", "mcp-server-x"],
        ["uv", "tool", "run", "mcp-server-x"],
        ["uv", "run", "mcp-server-x"],
        ["uv", "run", "--extra", "fast", "--", "mcp-server-x"],
        ["pipx", "run", "mcp-server-x"],
        ["pipx", "run", "--spec", "mcp-server-x==1.2.3", "mcp-server-x"],
    ],
    ids=" ".join,
)
def test_a_runner_becomes_the_program_in_the_projects_environment(
    installed: Machine, command: list[str]
) -> None:
    launch = installed.resolve(*command, "--flag", "value")
    venv = installed.project / ".venv"
    assert launch.argv == (
        str(venv / "bin" / "python"),
        str(venv / "bin" / "mcp-server-x"),
        "--flag",
        "value",
    )


def test_uvx_searches_the_active_environment_and_the_tool_folders(machine: Machine) -> None:
    base = machine.python("opt/python")
    places = {
        "mcp-active": "elsewhere/venv",
        "mcp-tool": "home/.local/share/uv/tools/mcp-tool",
        "mcp-pipx": "home/.local/share/pipx/venvs/mcp-pipx",
        "mcp-cached": "home/.cache/uv/archive-v0/0a1b2c",
    }
    for name, place in places.items():
        machine.distribution(machine.venv(place, base), name, "1.0", program=name)
    machine.variables["VIRTUAL_ENV"] = str(machine.root / "elsewhere" / "venv")
    for name, place in places.items():
        assert machine.resolve("uvx", name).argv[1] == str(machine.root / place / "bin" / name)


def test_a_version_that_is_not_the_installed_one_is_told_apart(installed: Machine) -> None:
    with pytest.raises(
        TargetNotFoundError, match=r"Installed, but not that version: 1\.2\.3.*install mcp-server-x==2\.0"
    ):
        installed.resolve("uvx", "mcp-server-x@2.0")


def test_a_tool_that_is_not_installed_is_one_error_with_the_command_to_type(machine: Machine) -> None:
    with pytest.raises(TargetNotFoundError, match="uv tool install mcp-server-y"):
        machine.resolve("uvx", "mcp-server-y")
    with pytest.raises(TargetNotFoundError, match="pipx install mcp-server-y"):
        machine.resolve("pipx", "run", "mcp-server-y")


def test_uv_run_in_another_folder_runs_there(machine: Machine) -> None:
    base = machine.python("opt/python")
    machine.venv("elsewhere/.venv", base)
    machine.file("elsewhere/pyproject.toml")
    machine.file("elsewhere/server.py")
    folder = machine.root / "elsewhere"
    for command in (["uv", "--directory", str(folder), "run"], ["uv", "run", f"--directory={folder}"]):
        launch = machine.resolve(*command, "server.py", "arg")
        assert launch.argv == (str(folder / ".venv" / "bin" / "python"), "server.py", "arg")
        assert launch.cwd == str(folder)


def test_uv_run_starts_modules_and_the_environments_own_python(installed: Machine) -> None:
    python = str(installed.project / ".venv" / "bin" / "python")
    assert installed.resolve("uv", "run", "-m", "mcp_server_x").argv == (python, "-m", "mcp_server_x")
    assert installed.resolve("uv", "run", "python", "-m", "mcp_server_x").argv == (
        python,
        "-m",
        "mcp_server_x",
    )


def test_uv_run_without_an_environment_says_how_to_make_one(machine: Machine) -> None:
    with pytest.raises(TargetNotFoundError, match=f"uv sync --project {machine.project}"):
        machine.resolve("uv", "run", "server.py")


@pytest.mark.parametrize(
    "command",
    [
        ["uvx"],
        ["uvx", "git+ssh://host/repository"],
        ["uv", "pip", "install", "x"],
        ["pipx", "install", "x"],
        ["uv", "run"],
    ],
)
def test_a_runner_that_starts_no_server_is_a_usage_error(machine: Machine, command: list[str]) -> None:
    with pytest.raises(UsageError):
        machine.resolve(*command)
