"""A folder with a server's source: which command starts it, and what it lacks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from machine import Machine

from sandbox.errors import ConfigError, TargetNotFoundError, UsageError
from sandbox.targets.named import read_targets
from sandbox.targets.orders import Order


def read(machine: Machine, *arguments: str, word: str = ".") -> Order:
    (order,) = read_targets((word,), arguments, cwd=machine.project, environ=machine.environ)
    return order


def node(machine: Machine, *, built: bool = True, installed: bool = True, **fields: object) -> None:
    plain = {"name": "@example/files", "bin": {"files": "dist/index.js"}, "dependencies": {"zod": "^3"}}
    machine.file("project/package.json", json.dumps({**plain, **fields}))
    if built:
        machine.file("project/dist/index.js")
    if installed:
        machine.package("project/node_modules/zod", "zod")


def test_a_node_package_that_is_built_and_installed(machine: Machine) -> None:
    node(machine)
    order = read(machine, "--root", "/data")
    assert order.command == ("node", f"{machine.project}/dist/index.js", "--root", "/data")
    assert (order.problem, order.name, order.words) == ("", ".", (".", "--", "--root", "/data"))


def test_its_package_json_names_the_folder(machine: Machine) -> None:
    node(machine)
    assert read(machine, word="package.json").command == read(machine).command


@pytest.mark.parametrize(
    ("built", "installed", "said"),
    [
        (False, False, "npm install && npm run build"),
        (False, True, "npm run build"),
        (True, False, "zod of its packages is not installed. Install them first: cd {} && npm install"),
    ],
)
def test_what_a_node_package_lacks_is_said_with_the_command(
    machine: Machine, built: bool, installed: bool, said: str
) -> None:
    node(machine, built=built, installed=installed, scripts={"build": "tsc"})
    assert said.format(machine.project) in read(machine).problem


def test_the_projects_own_package_manager_is_named(machine: Machine) -> None:
    node(machine, installed=False)
    machine.file("project/pnpm-lock.yaml")
    assert "pnpm install" in read(machine).problem


@pytest.mark.parametrize(
    ("fields", "script"),
    [
        ({"bin": "cli.js"}, "cli.js"),
        ({"bin": {"files": "a.js", "other": "b.js"}}, "a.js"),
        ({"bin": {"x-mcp": "a.js", "other": "b.js"}}, "a.js"),
        ({"bin": None, "scripts": {"start": "node --enable-source-maps src/a.js"}}, "src/a.js"),
        ({"bin": None, "main": "./lib/a.js"}, "lib/a.js"),
    ],
)
def test_the_script_that_is_the_server(machine: Machine, fields: dict[str, object], script: str) -> None:
    node(machine, **fields)
    machine.file(f"project/{script}")
    order = read(machine)
    assert f"{machine.project}/{script}" in order.command
    assert order.problem == ""


def test_a_line_of_shell_is_not_followed(machine: Machine) -> None:
    node(machine, bin=None, scripts={"start": "node a.js; rm -rf /"})
    with pytest.raises(UsageError, match="does not say how a server is started"):
        read(machine)


def test_two_programs_of_which_neither_is_called_like_a_server(machine: Machine) -> None:
    node(machine, bin={"one": "a.js", "two": "b.js"})
    with pytest.raises(UsageError, match="which program is the server"):
        read(machine)


def test_a_script_outside_of_the_package_is_refused(machine: Machine) -> None:
    node(machine, bin="../../etc/x.js")
    with pytest.raises(ConfigError, match="leads out"):
        read(machine)


def test_a_repository_of_many_names_them(machine: Machine) -> None:
    machine.file("project/package.json", json.dumps({"name": "all", "workspaces": ["src/*"]}))
    machine.package("project/src/one", "one")
    machine.package("project/src/two", "two")
    with pytest.raises(UsageError, match=r"Name the folder of one: \./src/one, \./src/two"):
        read(machine)
    assert read(machine, word="src/one").command[1] == f"{machine.project}/src/one/dist/index.js"


PYPROJECT = (
    '[project]\nname = "example-git"\ndependencies = ["mcp"]\n[project.scripts]\nexample-git = "x:main"\n'
)


def test_a_python_project_with_its_environment(machine: Machine) -> None:
    machine.file("project/pyproject.toml", PYPROJECT)
    site = machine.venv("project/.venv", machine.python("opt/python"))
    machine.distribution(site, "example-git", "1.0", program="example-git")
    order = read(machine)
    assert order.command == (f"{machine.project}/.venv/bin/example-git",)
    assert order.problem == ""


def test_what_a_python_project_lacks_is_said_with_the_command(machine: Machine) -> None:
    machine.file("project/pyproject.toml", PYPROJECT)
    assert f"no environment yet. Make one first: uv sync --project {machine.project}" in read(machine).problem
    machine.venv("project/.venv", machine.python("opt/python"))
    assert "example-git is not installed in" in read(machine).problem


def test_a_python_project_without_programs_is_a_module_or_a_file(machine: Machine) -> None:
    machine.file("project/pyproject.toml", '[project]\nname = "my-server"\n')
    machine.file("project/server.py")
    assert read(machine).command == ("python3", f"{machine.project}/server.py")
    machine.file("project/src/my_server/__main__.py")
    assert read(machine).command == ("python3", "-m", "my_server")


def test_a_lone_server_file(machine: Machine) -> None:
    machine.file("project/server.py")
    assert read(machine).command == ("python3", f"{machine.project}/server.py")


def test_poetrys_own_table(machine: Machine) -> None:
    machine.file("project/pyproject.toml", '[tool.poetry]\nname = "p"\n[tool.poetry.scripts]\np = "p:main"\n')
    assert read(machine).command == ("p",)


def test_a_project_of_both_is_the_one_that_can_be_started(machine: Machine) -> None:
    node(machine)
    machine.file("project/pyproject.toml", PYPROJECT)
    assert read(machine).command[0] == "node"
    (machine.project / "dist/index.js").unlink()
    with pytest.raises(UsageError, match="a package of npm and one of Python"):
        read(machine)


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("go.mod", "a project in Go"),
        ("Cargo.toml", "a project in Rust"),
        ("server.json", "Name a file in it"),
        ("a", "Name the command"),
    ],
)
def test_other_folders_say_what_to_do(machine: Machine, file: str, said: str) -> None:
    machine.file(f"project/{file}", "{}")
    with pytest.raises(UsageError, match=said):
        read(machine)


@pytest.mark.parametrize(
    "content", ["{", "[" * 100_000, '{"name": 3, "bin": [1]}', '{"bin": {"a": 1}}', '{"scripts": 3}']
)
def test_a_hostile_package_json_is_an_error_of_one_line(machine: Machine, content: str) -> None:
    machine.file("project/package.json", content)
    with pytest.raises(UsageError):
        read(machine)


@pytest.mark.parametrize(
    "content", ["[", "a = " + "[" * 100_000, "project = 3", '[project]\nname="a"\nscripts=3']
)
def test_a_hostile_pyproject_is_an_error_of_one_line(machine: Machine, content: str) -> None:
    machine.file("project/pyproject.toml", content)
    with pytest.raises(UsageError):
        read(machine)


def test_a_folder_that_is_not_there(machine: Machine) -> None:
    with pytest.raises(TargetNotFoundError, match="no such file or folder"):
        read(machine, word="./gone")


def test_a_folder_has_no_names(machine: Machine) -> None:
    with pytest.raises(UsageError, match="is a folder"):
        read(machine, word=".#a")
    assert Path(machine.project).is_dir()
