"""The one door for the words that name servers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from machine import Machine

from sandbox.errors import BundleError, ConfigError, TargetNotFoundError, UsageError
from sandbox.targets.named import looks_like_target, read_targets
from sandbox.targets.orders import Ecosystem, Order


def read(machine: Machine, *words: str, command: tuple[str, ...] = (), image: str = "") -> tuple[Order, ...]:
    return read_targets(words, command, cwd=machine.project, environ=machine.environ, image=image)


def test_packages_images_addresses_and_commands(machine: Machine) -> None:
    npm, pypi, image, url = read(
        machine, "npm:@x/y@1", "pypi:z[a]==2", "oci:mcp/time", "https://x.example/mcp"
    )
    assert npm.package is not None
    assert (npm.package.ecosystem, npm.package.name, npm.package.version) == (Ecosystem.NPM, "@x/y", "1")
    assert pypi.package is not None
    assert (pypi.package.name, pypi.package.extras, pypi.package.version) == ("z", ("a",), "2")
    assert image.image is not None
    assert url.url == "https://x.example/mcp"
    (command,) = read(machine, command=("node", "server.js"))
    assert (command.command, command.words) == (("node", "server.js"), ("--", "node", "server.js"))


def test_a_runner_is_a_package_only_where_it_is_not_installed(machine: Machine) -> None:
    (order,) = read(machine, command=("npx", "-y", "@x/y", "--a"))
    assert order.package is not None
    assert (order.package.name, order.package.arguments, order.command) == ("@x/y", ("--a",), ())
    machine.package("project/node_modules/@x/y", "@x/y")
    (order,) = read(machine, command=("npx", "-y", "@x/y", "--a"))
    assert (order.package, order.command) == (None, ("npx", "-y", "@x/y", "--a"))


def test_words_after_the_dashes_are_arguments_of_the_one_target(machine: Machine) -> None:
    (npm,) = read(machine, "npm:x", command=("--a",))
    assert npm.package is not None
    assert (npm.package.arguments, npm.words) == (("--a",), ("npm:x", "--", "--a"))
    (image,) = read(machine, "oci:x", command=("--a",))
    assert image.image is not None
    assert (image.image.arguments, image.image.command) == (("--a",), ("oci:x", "--a"))
    with pytest.raises(UsageError, match="arguments of one server, and 2 are named"):
        read(machine, "npm:x", "npm:y", command=("--a",))
    with pytest.raises(UsageError, match="takes no arguments"):
        read(machine, "https://x.example", command=("--a",))


def test_values_of_docker_run_are_in_no_name(machine: Machine) -> None:
    (order,) = read(machine, command=("docker", "run", "-e", "TOKEN=s3cret", "x"))
    assert order.image is not None
    assert order.image.env == {"TOKEN": "s3cret"}
    assert "s3cret" not in (order.name, *order.words)
    assert "s3cret" not in order.name


def test_an_image_for_a_command_is_no_target_besides(machine: Machine) -> None:
    (order,) = read(machine, command=("node", "x.js"), image="node:22")
    assert order.image is not None
    assert order.image.entrypoint == ("node",)
    with pytest.raises(UsageError, match="cannot be named as well"):
        read(machine, "npm:x", image="node:22")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("server", "Write npm:server or pypi:server"),
        ("server.py", "such as: -- python server.py"),
        ("./gone", "no such file or folder"),
        ("gone.json#a", "gone.json: there is no such file or folder"),
        ("@x/y", "Write npm:@x/y"),
        ("a\0b", "is not a target"),
        ("x" * 10_000, "is not a target"),
    ],
)
def test_words_that_name_nothing_say_what_to_write(machine: Machine, word: str, said: str) -> None:
    with pytest.raises(TargetNotFoundError, match=said):
        read(machine, word)


def test_files_that_name_no_servers_say_what_to_write(machine: Machine) -> None:
    machine.file("project/there.py")
    with pytest.raises(UsageError, match="python there"):
        read(machine, "there.py")
    machine.file("project/other.json", '{"a": 1}')
    with pytest.raises(ConfigError, match="neither a client's configuration"):
        read(machine, "other.json")
    with pytest.raises(UsageError, match="No target"):
        read(machine)


def test_of_several_words_one_bad_file_stops_none_of_the_others(machine: Machine) -> None:
    machine.file("project/bad.mcpb", "no archive")
    machine.file("project/bad.json", "{")
    bundle, config, good = read(machine, "bad.mcpb", "bad.json", "npm:x")
    assert "no zip archive" in bundle.problem
    assert "not JSON" in config.problem
    assert good.problem == ""
    with pytest.raises(BundleError):
        read(machine, "bad.mcpb")
    with pytest.raises(TargetNotFoundError):
        read(machine, "gone.json", "npm:x")


def test_which_words_look_like_targets(machine: Machine) -> None:
    machine.file("project/mcp.json", json.dumps({"mcpServers": {"a": {"command": "x"}}}))
    machine.program("project/server")
    here = machine.project
    for word in ("npm:x", "pypi:x", "oci:x", "http://x", ".", "mcp.json", "mcp.json#a"):
        assert looks_like_target(word, here)
    for word in ("read_file", "server", "./server", "gone.json", "python"):
        assert not looks_like_target(word, here)
    assert Path(here).is_dir()
