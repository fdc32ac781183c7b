"""Node commands become a script, its package and every folder that its imports reach."""

from __future__ import annotations

from pathlib import Path

import pytest
from machine import Machine

from sandbox.errors import TargetNotFoundError, UsageError


def test_an_installed_package_is_shown_with_its_neighbours_and_its_own_folder_is_copied(
    machine: Machine,
) -> None:
    node = machine.node()
    script = machine.package("project/node_modules/@scope/server", "@scope/server")
    machine.package("project/node_modules/dep", "dep")
    launch = machine.resolve("node", "node_modules/@scope/server/dist/index.js", "--flag")
    assert launch.argv == (str(node), "node_modules/@scope/server/dist/index.js", "--flag")
    assert str(machine.project / "node_modules") in launch.exposures
    assert {seed.path for seed in launch.seeds if seed.kind == "file"} == {
        str(script),
        str(script.parents[1] / "package.json"),
    }
    assert launch.versions["@scope/server"] == "1.0.0"


def test_the_program_that_npm_links_runs_as_the_script_it_links_to(machine: Machine) -> None:
    node = machine.node()
    script = machine.package("project/node_modules/server", "server")
    machine.link("project/node_modules/.bin/server", "../server/dist/index.js")
    launch = machine.resolve("node_modules/.bin/server")
    assert launch.argv[0] == str(node)
    assert Path(launch.argv[1]).resolve() == script


def test_a_project_script_is_copied_and_its_modules_are_shown(machine: Machine) -> None:
    machine.node()
    script = machine.package("project", "my-server")
    machine.package("project/node_modules/dep", "dep")
    machine.package("node_modules/above", "above")
    launch = machine.resolve("node", "dist/index.js")
    assert launch.exposures == (
        str(machine.root / "node_modules"),
        str(machine.root / "opt"),
        str(machine.project / "node_modules"),
    )
    assert str(script) in {seed.path for seed in launch.seeds}
    assert launch.cwd == str(machine.project)


def test_a_linked_workspace_package_is_shown_with_what_it_needs(machine: Machine) -> None:
    machine.node()
    machine.package("project", "my-server")
    machine.package("packages/lib", "lib")
    machine.package("packages/lib/node_modules/deep", "deep")
    machine.link("project/node_modules/lib", machine.root / "packages" / "lib")
    launch = machine.resolve("node", "dist/index.js")
    assert str(machine.root / "packages" / "lib") in launch.exposures


def test_a_pnpm_store_outside_the_project_is_shown(machine: Machine) -> None:
    machine.node()
    machine.package("project", "my-server")
    store = "home/.local/share/pnpm/store/links"
    machine.package(f"{store}/a@1/node_modules/a", "a")
    machine.package(f"{store}/b@1/node_modules/b", "b")
    machine.link(f"{store}/a@1/node_modules/b", "../../b@1/node_modules/b")
    machine.link("project/node_modules/a", machine.root / store / "a@1" / "node_modules" / "a")
    launch = machine.resolve("node", "dist/index.js")
    assert {str(machine.root / store / f"{name}@1" / "node_modules") for name in "ab"} <= set(
        launch.exposures
    )


def test_a_node_in_a_home_is_shown_with_its_version_only(machine: Machine) -> None:
    node = machine.program("home/.nvm/versions/node/v22/bin/node")
    machine.variables["PATH"] = str(node.parent)
    machine.package("project", "my-server")
    launch = machine.resolve("node", "--enable-source-maps", "dist/index.js")
    assert launch.exposures == (str(machine.home / ".nvm" / "versions" / "node" / "v22"),)
    assert launch.env["PATH"].startswith(f"{node.parent}:")


def test_npx_finds_a_scoped_package_in_the_project(machine: Machine) -> None:
    node = machine.node()
    script = machine.package(
        "project/node_modules/@scope/server", "@scope/server", "1.2.3", {"other-name": "dist/index.js"}
    )
    launch = machine.resolve("npx", "-y", "@scope/server@1.2.3", "arg")
    assert launch.argv == (str(node), str(script), "arg")
    assert launch.command == ("npx", "-y", "@scope/server@1.2.3", "arg")


def test_npx_searches_above_the_project_then_its_cache_then_the_global_folder(machine: Machine) -> None:
    machine.node()
    machine.file("opt/lib/node_modules/keep")
    everywhere = {
        "above": machine.package("node_modules/above", "above"),
        "cached": machine.package("home/.npm/_npx/0a1b/node_modules/cached", "cached"),
        "global": machine.package("opt/lib/node_modules/global", "global"),
    }
    for name, script in everywhere.items():
        assert machine.resolve("npx", name).argv[1] == str(script)


def test_npx_honours_npms_own_settings(machine: Machine) -> None:
    machine.node()
    machine.file("home/.npmrc", "prefix = ${HOME}/global\ncache=/nonexistent\n")
    script = machine.package("home/global/lib/node_modules/server", "server")
    machine.package("elsewhere/_npx/0a1b/node_modules/cached", "cached")
    assert machine.resolve("npx", "server").argv[1] == str(script)
    machine.variables["npm_config_cache"] = str(machine.root / "elsewhere")
    assert machine.resolve("npx", "cached").argv[1].startswith(str(machine.root / "elsewhere"))


def test_npx_runs_a_command_of_a_package_that_is_named_apart(machine: Machine) -> None:
    machine.node()
    bins = {"one": "dist/one.js", "two": "dist/two.js"}
    machine.package("project/node_modules/tools", "tools", bins=bins)
    for name in bins:
        machine.program(f"project/node_modules/tools/dist/{name}.js", "#!/usr/bin/env node\n")
    assert machine.resolve("npx", "--package=tools", "two").argv[1].endswith("/tools/dist/two.js")
    assert machine.resolve("npx", "-p", "tools", "one").argv[1].endswith("/tools/dist/one.js")
    with pytest.raises(TargetNotFoundError, match="It installs: one, two"):
        machine.resolve("npx", "tools")


def test_npx_without_a_spec_takes_any_packages_command_of_that_name(machine: Machine) -> None:
    machine.node()
    script = machine.package(
        "project/node_modules/@scope/server", "@scope/server", bins={"serve": "dist/index.js"}
    )
    machine.link("project/node_modules/.bin/serve", "../@scope/server/dist/index.js")
    assert machine.resolve("npx", "serve").argv[1] == str(script)


def test_npx_reads_through_the_shell_scripts_that_pnpm_writes(machine: Machine) -> None:
    machine.node()
    script = machine.package("project/node_modules/server", "server", bins={"serve": "dist/index.js"})
    machine.program(
        "project/node_modules/.bin/serve", '#!/bin/sh\nexec node "$basedir/../server/dist/index.js" "$@"\n'
    )
    assert machine.resolve("npx", "serve").argv[1] == str(script)


@pytest.mark.parametrize(
    ("asked", "found"),
    [("1", True), ("1.2", True), ("1.2.3", True), ("latest", True), ("^1", True), ("1.3.0", False)],
)
def test_npx_takes_only_an_installed_version_that_was_asked_for(
    machine: Machine, asked: str, found: bool
) -> None:
    machine.node()
    machine.package("project/node_modules/server", "server", "1.2.3")
    if found:
        assert machine.resolve("npx", f"server@{asked}").argv[1].endswith("/server/dist/index.js")
    else:
        with pytest.raises(
            TargetNotFoundError, match=r"Installed, but not that version: 1\.2\.3.*npm install server@1\.3\.0"
        ):
            machine.resolve("npx", f"server@{asked}")


def test_a_package_that_is_not_installed_is_one_error_with_the_command_to_type(machine: Machine) -> None:
    with pytest.raises(TargetNotFoundError, match=r"Install it first: npm install @scope/server$"):
        machine.resolve("npx", "--yes", "@scope/server", "/some/folder")


def test_a_package_that_was_not_built_says_so(machine: Machine) -> None:
    script = machine.package("project/node_modules/server", "server")
    script.unlink()
    with pytest.raises(TargetNotFoundError, match="Build or install"):
        machine.resolve("npx", "server")


@pytest.mark.parametrize(
    "command",
    [
        ["npx", "-c", "server --flag"],
        ["npx", "./folder"],
        ["npx", "github:owner/repository"],
        ["bunx", "server"],
        ["pnpm", "dlx", "server"],
        ["npm", "start"],
        ["node", "-e", "1"],
        ["docker", "run", "image"],
        ["sh", "-c", "server"],
        ["env", "A=b", "server"],
    ],
)
def test_what_cannot_be_followed_says_what_to_write_instead(machine: Machine, command: list[str]) -> None:
    machine.node()
    with pytest.raises(UsageError, match=r"[Nn]ame |Install|put the server"):
        machine.resolve(*command)
