"""Python commands become an interpreter, its closure and the server's own code."""

from __future__ import annotations

import json

import pytest
from machine import Machine

from sandbox.errors import TargetNotFoundError, UsageError


def test_a_script_is_copied_with_its_project_and_runs_where_the_user_stood(machine: Machine) -> None:
    base = machine.python("opt/python")
    machine.file("project/pyproject.toml")
    machine.file("project/src/server.py", "import helper\n")
    machine.file("project/src/helper.py")
    machine.file("project/node_modules/big/index.js")
    launch = machine.resolve(str(base), "src/server.py", "--verbose")
    assert launch.argv == (str(base), "src/server.py", "--verbose")
    assert launch.cwd == str(machine.project)
    assert launch.exposures == (str(machine.root / "opt" / "python"),)
    seeded = {seed.path for seed in launch.seeds}
    assert {str(machine.project / "src" / "server.py"), str(machine.project / "src" / "helper.py")} <= seeded
    assert not any("node_modules" in path for path in seeded)


def test_a_script_named_by_its_absolute_path_runs_in_its_project(machine: Machine) -> None:
    base = machine.python("opt/python")
    machine.file("elsewhere/pyproject.toml")
    script = machine.file("elsewhere/server.py")
    launch = machine.resolve(str(base), str(script))
    assert launch.cwd == str(machine.root / "elsewhere")


@pytest.mark.parametrize(
    ("words", "server", "arguments"),
    [
        (["-u", "server.py", "-x"], ("-u", "server.py"), ("-x",)),
        (["-X", "dev", "-W", "error", "server.py"], ("-X", "dev", "-W", "error", "server.py"), ()),
        (["-um", "server", "--flag"], ("-u", "-m", "server"), ("--flag",)),
        (["-mserver", "--flag"], ("-m", "server"), ("--flag",)),
        (["-c", "import server", "a"], ("-c", "import server"), ("a",)),
    ],
)
def test_interpreter_options_are_told_from_the_servers_arguments(
    machine: Machine, words: list[str], server: tuple[str, ...], arguments: tuple[str, ...]
) -> None:
    base = machine.python("opt/python")
    machine.file("project/server.py")
    launch = machine.resolve(str(base), *words)
    assert launch.argv == (str(base), *server, *arguments)


def test_a_virtual_environment_brings_its_base_and_keeps_its_own_program(machine: Machine) -> None:
    base = machine.python("opt/python")
    site = machine.venv("project/.venv", base)
    machine.distribution(site, "mcp-server-x", "1.0", program="mcp-server-x")
    launch = machine.resolve(".venv/bin/mcp-server-x")
    venv = machine.project / ".venv"
    assert launch.argv == (str(venv / "bin" / "python"), str(venv / "bin" / "mcp-server-x"))
    assert launch.exposures == (str(machine.root / "opt" / "python"), str(venv))
    assert launch.env["PATH"].split(":")[0] == str(venv / "bin")
    assert launch.versions["python"] == "3.12.1"
    assert launch.cwd == ""


def test_a_virtual_environment_without_its_base_is_an_error_that_says_so(machine: Machine) -> None:
    base = machine.python("opt/python")
    machine.venv("project/.venv", base)
    machine.file("project/server.py")
    (base.parent / "python3.12").unlink()
    with pytest.raises(TargetNotFoundError, match="is gone"):
        machine.resolve(".venv/bin/python", "server.py")


def test_a_link_on_the_way_to_the_interpreter_is_led_on_in_the_box(machine: Machine) -> None:
    base = machine.python("store/cpython-3.12")
    link = machine.link("home/.local/bin/python3", base)
    site = machine.venv("project/.venv", link)
    machine.distribution(site, "mcp-server-x", "1.0")
    launch = machine.resolve(".venv/bin/python", "-m", "mcp_server_x")
    assert str(machine.root / "store" / "cpython-3.12") in launch.exposures
    assert {seed.path: seed.target for seed in launch.seeds if seed.kind == "symlink"} == {
        str(link): str(base)
    }


@pytest.mark.parametrize(
    ("files", "variables", "expected"),
    [
        ({"project/.python-version": "3.11\n"}, {}, "3.11.9"),
        ({}, {}, "3.12.1"),
        ({"project/.python-version": "3.11.2\n"}, {"PYENV_VERSION": "3.12.1"}, "3.12.1"),
        ({"project/.python-version": "# pinned\n3.11.2\n"}, {}, "3.11.2"),
    ],
)
def test_a_pyenv_shim_is_followed_by_reading(
    machine: Machine, files: dict[str, str], variables: dict[str, str], expected: str
) -> None:
    for version in ("3.11.2", "3.11.9", "3.12.1"):
        machine.python(f"home/.pyenv/versions/{version}", version.rpartition(".")[0])
    machine.file("home/.pyenv/version", "3.12.1\n")
    shim = machine.program("home/.pyenv/shims/python", "#!/usr/bin/env bash\nexec pyenv exec python\n")
    for path, content in files.items():
        machine.file(path, content)
    machine.file("project/server.py")
    machine.variables |= {"PATH": str(shim.parent), **variables}
    launch = machine.resolve("python", "server.py")
    assert launch.exposures == (str(machine.home / ".pyenv" / "versions" / expected),)


def test_a_pyenv_version_without_the_program_names_those_that_have_it(machine: Machine) -> None:
    machine.python("home/.pyenv/versions/3.12.1")
    machine.program("home/.pyenv/versions/3.12.1/bin/serve")
    machine.file("home/.pyenv/versions/3.11.2/bin/python")
    machine.file("home/.pyenv/version", "3.11.2\n")
    shim = machine.program("home/.pyenv/shims/serve", "#!/usr/bin/env bash\nexec pyenv exec serve\n")
    machine.variables["PATH"] = str(shim.parent)
    with pytest.raises(TargetNotFoundError, match=r"3\.11\.2.*It is in: 3\.12\.1"):
        machine.resolve("serve")


def test_code_linked_into_site_packages_is_shown(machine: Machine) -> None:
    base = machine.python("opt/python")
    site = machine.venv("project/.venv", base)
    for name in ("by_pth", "by_finder/src/pkg", "by_url"):
        machine.file(f"code/{name}/__init__.py")
    code = machine.root / "code"
    machine.file(site / "path.pth", f"# a comment\n{code / 'by_pth'}\n/nonexistent\n")
    machine.file(
        site / "__editable__.pkg.pth",
        "import __editable___pkg_0_1_finder; __editable___pkg_0_1_finder.install()",
    )
    mapping = {"pkg": str(code / "by_finder" / "src" / "pkg")}
    machine.file(
        site / "__editable___pkg_0_1_finder.py", f"import sys\nMAPPING: dict[str, str] = {mapping!r}\n"
    )
    record = {"url": f"file://{code / 'by_url'}", "dir_info": {"editable": True}}
    machine.file(site / "by_url-1.0.dist-info" / "direct_url.json", json.dumps(record))
    launch = machine.resolve(".venv/bin/python", "-m", "pkg")
    shown = set(launch.exposures)
    assert {str(code / "by_pth"), str(code / "by_finder" / "src" / "pkg")} <= shown


def test_a_project_installed_from_its_own_folder_is_the_servers_own_code(machine: Machine) -> None:
    base = machine.python("opt/python")
    site = machine.venv("project/.venv", base)
    machine.file("project/pyproject.toml")
    machine.file("project/my_server/__init__.py")
    record = {"url": f"file://{machine.project}", "dir_info": {"editable": True}}
    machine.file(site / "my_server-1.0.dist-info" / "direct_url.json", json.dumps(record))
    machine.file(site / "_my_server.pth", str(machine.project))
    launch = machine.resolve(".venv/bin/python", "-m", "my_server")
    assert str(machine.project / "my_server" / "__init__.py") in {seed.path for seed in launch.seeds}


def test_a_module_that_is_not_installed_is_an_error_with_the_command_to_type(machine: Machine) -> None:
    base = machine.python("opt/python")
    with pytest.raises(TargetNotFoundError, match=r"no module mcp_server_git.*-m pip install mcp-server-git"):
        machine.resolve(str(base), "-m", "mcp_server_git")


def test_a_module_in_the_folder_is_own_code(machine: Machine) -> None:
    base = machine.python("opt/python")
    machine.file("project/my_server/__main__.py")
    launch = machine.resolve(str(base), "-m", "my_server", "--debug")
    assert str(machine.project / "my_server" / "__main__.py") in {seed.path for seed in launch.seeds}
    assert launch.cwd == str(machine.project)


def test_user_installed_packages_are_found_again_in_the_box(machine: Machine) -> None:
    base = machine.python("opt/python")
    site = machine.home / ".local" / "lib" / "python3.12" / "site-packages"
    machine.distribution(site, "mcp-server-x", "1.0")
    launch = machine.resolve(str(base), "-m", "mcp_server_x")
    assert str(site) in launch.exposures
    assert launch.env["PYTHONUSERBASE"] == str(machine.home / ".local")


def test_an_interpreter_in_dot_local_does_not_show_the_rest_of_it(machine: Machine) -> None:
    base = machine.python("home/.local")
    machine.file("home/.local/share/keyrings/secret")
    machine.file("project/server.py")
    launch = machine.resolve(str(base), "server.py")
    assert not any(
        (machine.home / ".local" / "share" / "keyrings" / "secret").is_relative_to(shown)
        for shown in launch.exposures
    )
    assert str(machine.home / ".local" / "lib" / "python3.12") in launch.exposures


def test_a_script_whose_interpreter_line_is_too_long_is_understood(machine: Machine) -> None:
    base = machine.python("opt/python")
    site = machine.venv("project/.venv", base)
    machine.distribution(site, "mcp-server-x", "1.0")
    python = machine.project / ".venv" / "bin" / "python"
    text = f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n"
    script = machine.program("project/.venv/bin/mcp-server-x", text)
    assert machine.resolve(".venv/bin/mcp-server-x").argv == (str(python), str(script))


@pytest.mark.parametrize("words", [[], ["-"], ["-u"]])
def test_python_without_a_server_is_a_usage_error(machine: Machine, words: list[str]) -> None:
    base = machine.python("opt/python")
    with pytest.raises(UsageError, match="standard input"):
        machine.resolve(str(base), *words)


def test_a_missing_script_is_named(machine: Machine) -> None:
    base = machine.python("opt/python")
    with pytest.raises(TargetNotFoundError, match=r"server\.py: there is no such file"):
        machine.resolve(str(base), "server.py")


def test_an_interpreter_that_only_finds_its_library_through_a_variable_still_does(machine: Machine) -> None:
    base = machine.python("opt/python")
    machine.file("project/server.py")
    libraries = machine.root / "opt" / "python" / "lib"
    machine.variables["LD_LIBRARY_PATH"] = f"/elsewhere:{libraries}"
    assert machine.resolve(str(base), "server.py").env["LD_LIBRARY_PATH"] == str(libraries)
