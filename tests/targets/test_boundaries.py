"""What a server never gets to see, and how its own code and variables reach the box."""

from __future__ import annotations

from pathlib import Path

import pytest
from machine import Machine

from sandbox.errors import TargetNotFoundError, UsageError
from sandbox.targets.boundaries import outermost, too_wide, trace


@pytest.mark.parametrize("folder", ["/", "/home", "/home/someone", "/root", "/tmp", "/etc", "/var/lib"])
def test_folders_of_the_machine_and_other_peoples_homes_are_too_wide(machine: Machine, folder: str) -> None:
    assert too_wide(Path(folder), machine.environ)


def test_a_folder_of_the_machine_cannot_be_exposed(machine: Machine) -> None:
    server = machine.program("opt/server/server")
    with pytest.raises(UsageError, match="never shown"):
        machine.resolve(str(server), expose=[Path("/")])
    with pytest.raises(UsageError, match="there is no such"):
        machine.resolve(str(server), expose=[machine.root / "nowhere"])


def test_a_home_cannot_be_exposed_whole_also_through_a_link(machine: Machine) -> None:
    server = machine.program("opt/server/server")
    link = machine.link("project/everything", machine.home)
    for folder in (machine.home, machine.root, link):
        with pytest.raises(UsageError, match="never shown"):
            machine.resolve(str(server), expose=[folder])
    below = machine.file("home/data/file").parent
    assert str(below) in machine.resolve(str(server), expose=[below]).exposures


def test_a_script_that_lies_in_a_home_comes_alone(machine: Machine) -> None:
    base = machine.python("opt/python")
    machine.file("home/.git/config")
    machine.file("home/private.txt")
    machine.file("home/server.py", "print()")
    launch = machine.resolve(str(base), "server.py", cwd=machine.home)
    assert {seed.path for seed in launch.seeds if seed.kind == "file"} == {str(machine.home / "server.py")}
    assert launch.exposures == (str(machine.root / "opt" / "python"),)
    assert launch.notes


def test_a_large_project_is_shown_and_stays_open_for_new_files(machine: Machine) -> None:
    base = machine.python("opt/python")
    machine.file("project/pyproject.toml")
    for number in range(501):
        machine.file(f"project/assets/{number}.txt")
    machine.file("project/src/server.py")
    machine.file("project/src/state.json", "{}")
    launch = machine.resolve(str(base), "src/server.py")
    assert str(machine.project) in launch.exposures
    assert {seed.path: seed.kind for seed in launch.seeds} == {
        str(machine.project): "dir",
        str(machine.project / "src"): "dir",
        str(machine.project / "src" / "server.py"): "file",
        str(machine.project / "src" / "state.json"): "file",
    }


def test_a_large_folder_that_is_no_project_is_not_shown(machine: Machine) -> None:
    base = machine.python("opt/python")
    script = machine.file("home/Downloads/server.py")
    for number in range(501):
        machine.file(f"home/Downloads/{number}.txt")
    launch = machine.resolve(str(base), str(script))
    assert str(script.parent) not in launch.exposures
    assert [seed.path for seed in launch.seeds if seed.kind == "file"] == [str(script)]


def test_own_code_keeps_modes_links_and_bytes_and_leaves_caches_out(machine: Machine) -> None:
    base = machine.python("opt/python")
    machine.file("project/pyproject.toml")
    machine.file("project/server.py", "print(1)", 0o640)
    machine.link("project/current", "server.py")
    machine.file("project/.cache/CACHEDIR.TAG")
    machine.file("project/.git/config")
    machine.file("project/env/pyvenv.cfg")
    machine.file("project/__pycache__/server.pyc")
    seeds = {Path(seed.path).name: seed for seed in machine.resolve(str(base), "server.py").seeds}
    assert set(seeds) == {"project", "pyproject.toml", "server.py", "current"}
    assert (seeds["server.py"].mode, seeds["server.py"].content) == (0o640, b"print(1)")
    assert (seeds["current"].kind, seeds["current"].target) == ("symlink", "server.py")


def test_own_code_in_a_very_deep_nest_is_walked_to_its_end(machine: Machine) -> None:
    base = machine.python("opt/python")
    script = machine.file("project/server.py")
    nest = [script.parent / "d"]
    for _ in range(1200):
        nest.append(nest[-1] / "d")
    for folder in nest:
        folder.mkdir()
    try:
        seeds = {seed.path for seed in machine.resolve(str(base), "server.py").seeds}
    finally:
        for folder in reversed(nest):
            folder.rmdir()
    assert {str(script), str(nest[-1])} <= seeds


def test_the_host_environment_stays_outside(machine: Machine) -> None:
    server = machine.program("opt/server/server")
    machine.variables |= {
        "AWS_SECRET_ACCESS_KEY": "x",
        "LD_PRELOAD": "y",
        "LC_TIME": "C",
        "TZ": "Europe/Paris",
    }
    env = machine.resolve(str(server), env={"API_KEY": "given"}).env
    assert dict(env) == {
        "LANG": "C.UTF-8",
        "LC_TIME": "C",
        "TZ": "Europe/Paris",
        "TERM": "dumb",
        "NO_COLOR": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PATH": f"{server.parent}:/usr/local/bin:/usr/bin:/bin",
        "API_KEY": "given",
    }


def test_folders_that_the_user_adds_to_the_import_path_are_shown(machine: Machine) -> None:
    base = machine.python("opt/python")
    machine.file("project/server.py")
    library = machine.file("library/pkg.py").parent
    launch = machine.resolve(str(base), "server.py", env={"PYTHONPATH": str(library)})
    assert str(library) in launch.exposures


def test_a_script_of_another_language_comes_with_its_project(machine: Machine) -> None:
    machine.file("project/Gemfile")
    machine.file("project/lib/helper.rb")
    machine.file("project/bin/server.sh", "echo")
    launch = machine.resolve("/bin/sh", "bin/server.sh", "--flag")
    assert launch.argv == ("/bin/sh", "bin/server.sh", "--flag")
    assert str(machine.project / "lib" / "helper.rb") in {seed.path for seed in launch.seeds}
    assert launch.cwd == str(machine.project)


def test_a_binary_is_shown_with_the_libraries_beside_it(machine: Machine) -> None:
    server = machine.program("opt/product/bin/server")
    machine.file("opt/product/lib/libserver.so")
    assert machine.resolve(str(server)).exposures == (str(machine.root / "opt" / "product"),)


def test_the_same_code_has_the_same_digest_and_other_code_another(machine: Machine) -> None:
    base = machine.python("opt/python")
    machine.file("project/pyproject.toml")
    machine.file("project/server.py", "one")
    first = machine.resolve(str(base), "server.py").digests
    assert machine.resolve(str(base), "server.py").digests == first
    machine.file("project/helper.py")
    second = machine.resolve(str(base), "server.py").digests
    assert second["entry"] == first["entry"]
    assert second["code"] != first["code"]


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nothing", "no such command"),
        ("./nothing", "no such file"),
        ("./", "is a folder"),
        ("./plain.txt", "not a program"),
        ("python", "python3"),
    ],
)
def test_a_command_that_is_not_there_says_so(machine: Machine, name: str, why: str) -> None:
    machine.file("project/plain.txt", "text")
    machine.program("opt/bin/python3")
    with pytest.raises(TargetNotFoundError, match=why):
        machine.resolve(name)


def test_the_shim_of_a_version_manager_that_only_running_explains_is_refused(machine: Machine) -> None:
    machine.program("home/.asdf/shims/server", "#!/bin/sh\nexec asdf exec server\n")
    with pytest.raises(TargetNotFoundError, match="version manager"):
        machine.resolve(str(machine.home / ".asdf" / "shims" / "server"))


def test_no_command_is_a_usage_error(machine: Machine) -> None:
    with pytest.raises(UsageError, match="No command"):
        machine.resolve()


def test_links_in_folders_are_followed_to_the_real_path(machine: Machine) -> None:
    file = machine.file("real/deep/file")
    link = machine.link("short", "real")
    real, links = trace(link / "deep" / ".." / "deep" / "file")
    assert real == file
    assert [(entry.path, entry.target) for entry in links] == [(str(link), "real")]


def test_links_in_a_circle_are_an_error(machine: Machine) -> None:
    machine.link("a", "b")
    machine.link("b", "a")
    with pytest.raises(UsageError, match="circle"):
        trace(machine.root / "a" / "file")


def test_exposures_are_outermost_and_without_what_every_box_has() -> None:
    paths = map(Path, ["/srv/a/b", "/usr/lib/x", "/srv/a", "/srv/ab", "/bin"])
    assert outermost(paths) == (Path("/srv/a"), Path("/srv/ab"))
