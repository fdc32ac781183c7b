"""What the arguments name: the workspace, further files, the hosts of the closed world."""

from __future__ import annotations

from pathlib import Path

import pytest
from machine import Machine

from sandbox.errors import UsageError
from sandbox.targets.launch import WorkspacePlace


@pytest.fixture
def server(machine: Machine) -> str:
    """The absolute path of an installed native server."""
    return str(machine.program("opt/server/bin/server"))


def test_the_first_folder_among_the_arguments_is_the_workspace_and_the_server_stands_in_it(
    machine: Machine, server: str
) -> None:
    folder = machine.file("data/one.txt").parent
    other = machine.file("more/two.txt", "two")
    launch = machine.resolve(server, str(other), f"--root={folder}")
    assert launch.workspace == WorkspacePlace(str(folder), folder)
    assert launch.cwd == str(folder)
    assert [(seed.path, seed.content) for seed in launch.seeds if seed.kind == "file"] == [
        (str(other), b"two")
    ]


def test_a_relative_path_keeps_its_meaning(machine: Machine, server: str) -> None:
    machine.file("project/data/one.txt")
    launch = machine.resolve(server, "./data")
    assert launch.workspace == WorkspacePlace(str(machine.project / "data"), machine.project / "data")
    assert launch.cwd == str(machine.project)
    assert any(seed.path == str(machine.project) and seed.kind == "dir" for seed in launch.seeds)


def test_an_existing_file_is_the_workspace_where_no_folder_is_named(machine: Machine, server: str) -> None:
    file = machine.file("data/my.db")
    launch = machine.resolve(server, "--db", str(file))
    assert launch.workspace == WorkspacePlace(str(file), file)
    assert launch.cwd == str(file.parent)


@pytest.mark.parametrize(
    "words",
    [
        ["--db-path", "{}/new.sqlite"],
        ["{}/new.db"],
        ["--memory-file={}/new"],
        ["sqlite:///{}/new.db"],
        ["--out", "{}/notes.md"],
    ],
)
def test_a_file_that_is_to_be_made_gives_an_empty_workspace_around_it(
    machine: Machine, server: str, words: list[str]
) -> None:
    folder = machine.file("data/other.txt").parent
    launch = machine.resolve(server, *(word.format(folder) for word in words))
    assert launch.workspace == WorkspacePlace(str(folder), None)
    assert not any("other.txt" in seed.path for seed in launch.seeds)


@pytest.mark.parametrize(
    "words",
    [
        ["--port", "8080"],
        ["stdio"],
        ["--url", "https://example.com/x.json"],
        ["/usr/bin"],
        ["/etc"],
        ["--file", "/nonexistent/a.db"],
        [""],
        ["x" * 300],
    ],
)
def test_other_words_are_no_workspace(machine: Machine, server: str, words: list[str]) -> None:
    assert machine.resolve(server, *words).workspace is None


def test_a_path_in_a_variable_counts_too(machine: Machine, server: str) -> None:
    folder = machine.file("data/other.txt").parent
    launch = machine.resolve(server, env={"MEMORY_FILE_PATH": str(folder / "memory.json")})
    assert launch.workspace == WorkspacePlace(str(folder), None)


def test_a_workspace_that_was_asked_for_wins(machine: Machine, server: str) -> None:
    asked, named = machine.file("asked/a.txt").parent, machine.file("named/n.txt").parent
    launch = machine.resolve(server, str(named), workspace=asked)
    assert launch.workspace == WorkspacePlace(str(asked), asked)
    assert str(named / "n.txt") in {seed.path for seed in launch.seeds}
    with pytest.raises(UsageError, match="no such folder"):
        machine.resolve(server, workspace=machine.root / "nowhere")


def test_a_home_named_by_the_server_is_not_copied(machine: Machine, server: str) -> None:
    machine.file("home/private.txt", "private")
    launch = machine.resolve(server, str(machine.home))
    assert launch.workspace == WorkspacePlace(str(machine.home), None)
    assert not any("private" in seed.path for seed in launch.seeds)
    assert not any(machine.home.is_relative_to(shown) for shown in launch.exposures)
    assert launch.notes


def test_a_further_folder_that_is_too_large_is_shown_instead_of_copied(machine: Machine, server: str) -> None:
    first = machine.file("first/a.txt").parent
    for number in range(501):
        machine.file(f"large/{number}.txt")
    launch = machine.resolve(server, str(first), str(machine.root / "large"))
    assert str(machine.root / "large") in launch.exposures
    assert not any("large" in seed.path for seed in launch.seeds)


def test_hosts_that_the_user_names_are_the_closed_world(machine: Machine, server: str) -> None:
    launch = machine.resolve(
        server,
        "https://API.example.com:8443/v1",
        "--host",
        "db.internal",
        "--redis=cache.example.com:6379",
        "postgresql://user:secret@pg.example.com/main",
        "--url=http://localhost:9000",
        "--host=127.0.0.1",
        "--name",
        "not-a-host",
        env={"ENDPOINT": "203.0.113.7", "TOKEN": "example.org"},
    )
    assert launch.hosts == (
        "203.0.113.7",
        "api.example.com",
        "cache.example.com",
        "db.internal",
        "pg.example.com",
    )


def test_a_workspace_inside_the_project_is_copied_once(machine: Machine) -> None:
    base = machine.python("opt/python")
    machine.file("project/pyproject.toml")
    machine.file("project/server.py")
    machine.file("project/data/one.txt")
    launch = machine.resolve(str(base), "server.py", "data")
    assert launch.workspace is not None
    assert Path(launch.workspace.at) == machine.project / "data"
    assert not any(seed.path.startswith(launch.workspace.at) for seed in launch.seeds)


def test_a_workspace_named_through_a_link_is_copied_to_the_real_place_and_the_link_leads_there(
    machine: Machine, server: str
) -> None:
    folder = machine.file("data/one.txt").parent
    link = machine.link("short", folder)
    launch = machine.resolve(server, str(link))
    assert launch.workspace == WorkspacePlace(str(folder), link)
    assert {seed.path: seed.target for seed in launch.seeds if seed.kind == "symlink"} == {
        str(link): str(folder)
    }
    assert launch.argv[-1] == str(link)
