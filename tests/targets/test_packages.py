"""From an installed package to a Launch: which program is the server, whatever the package's files are like."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from sandbox.errors import TargetNotFoundError
from sandbox.model import Installation
from sandbox.targets.launch import Launch
from sandbox.targets.layers import Layer
from sandbox.targets.orders import Ecosystem, PackageOrder
from sandbox.targets.packages import package_launch


def launched(layer: Layer, command: str = "", cwd: Path = Path("/tmp")) -> Launch:
    order = PackageOrder(layer.ecosystem, layer.name, command=command, arguments=("--x",))
    return package_launch(order, layer, command=("typed",), cwd=cwd, environ=dict(os.environ))


def of_pypi(root: Path, files: dict[str, str]) -> Layer:
    site = root / "lib/python3.11/site-packages"
    for path, text in files.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_text(text)
    python = os.path.realpath(sys.executable)
    facts = Installation("pypi:small==1.0", "2026-01-01T00:00:00Z")
    return Layer("k", str(root), Ecosystem.PYPI, "small", "1.0", facts, interpreter=python)


def of_npm(root: Path, manifest: object, *scripts: str) -> Layer:
    package = root / "node_modules/small"
    package.mkdir(parents=True)
    (package / "package.json").write_text(manifest if isinstance(manifest, str) else json.dumps(manifest))
    for script in scripts:
        (package / script).write_text("")
    facts = Installation("npm:small@1.0.0", "2026-01-01T00:00:00Z")
    return Layer("k", str(root), Ecosystem.NPM, "small", "1.0.0", facts)


@pytest.mark.parametrize(
    ("scripts", "command", "chosen"),
    [
        ("one", "", "one"),
        ("one small", "", "small"),
        ("one other-mcp", "", "other-mcp"),
        ("one two", "two", "two"),
    ],
)
def test_which_program_of_a_distribution_is_the_server(
    tmp_path: Path, scripts: str, command: str, chosen: str
) -> None:
    points = "[console_scripts]\n" + "".join(f"{name} = small:main\n" for name in scripts.split())
    layer = of_pypi(tmp_path, {"small-1.0.dist-info/entry_points.txt": points})

    assert launched(layer, command).argv == (f"/srv/server/bin/{chosen}", "--x")


@pytest.mark.parametrize(("scripts", "command"), [("one two", ""), ("one", "three")])
def test_a_choice_that_nobody_made_is_asked_for(tmp_path: Path, scripts: str, command: str) -> None:
    points = "[console_scripts]\n" + "".join(f"{name} = small:main\n" for name in scripts.split())
    layer = of_pypi(tmp_path, {"small-1.0.dist-info/entry_points.txt": points})

    with pytest.raises(TargetNotFoundError, match=r"-- uvx --from small PROGRAM\. There are: one"):
        launched(layer, command)


def test_a_distribution_without_programs_is_run_as_a_module(tmp_path: Path) -> None:
    layer = of_pypi(tmp_path, {"small-1.0.dist-info/METADATA": "", "small/__main__.py": ""})

    assert launched(layer).argv == ("/srv/server/bin/python", "-m", "small", "--x")


def test_programs_that_are_only_in_the_record_are_found(tmp_path: Path) -> None:
    layer = of_pypi(tmp_path, {"small-1.0.dist-info/RECORD": "../../../bin/small,sha256=x,1\nsmall/a.py,,\n"})

    assert launched(layer).argv[0] == "/srv/server/bin/small"


@pytest.mark.parametrize(
    "manifest",
    [
        {"name": "small", "bin": "index.js"},
        {"name": "small", "bin": {"other": "./index.js"}},
        {"name": "small", "bin": {"small": "index.js", "tool": "missing.js"}},
    ],
)
def test_the_program_of_a_package_of_npm(tmp_path: Path, manifest: object) -> None:
    launch = launched(of_npm(tmp_path, manifest, "index.js"))

    assert launch.argv[1:] == ("/srv/server/node_modules/small/index.js", "--x")
    assert launch.mounts == ((str(tmp_path), "/srv/server"),)


@pytest.mark.parametrize(
    "manifest",
    [
        "not json",
        "[" * 100_000,
        {"name": "small"},
        {"name": "small", "bin": "../../../../etc/passwd"},
        {"name": "small", "bin": {"small": 7}},
        {"name": "small", "bin": "missing.js"},
    ],
)
def test_a_package_of_npm_without_a_program_is_an_error(tmp_path: Path, manifest: object) -> None:
    with pytest.raises(TargetNotFoundError):
        launched(of_npm(tmp_path, manifest))


def test_no_link_of_a_package_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.json"
    outside.write_text(json.dumps({"name": "small", "bin": "index.js"}))
    layer = of_npm(tmp_path / "layer", {}, "index.js")
    manifest = tmp_path / "layer/node_modules/small/package.json"
    manifest.unlink()
    manifest.symlink_to(outside)

    with pytest.raises(TargetNotFoundError):
        launched(layer)


def test_a_path_among_the_arguments_is_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    layer = of_npm(tmp_path / "layer", {"name": "small", "bin": "index.js"}, "index.js")
    order = PackageOrder(Ecosystem.NPM, "small", arguments=("notes",))

    launch = package_launch(order, layer, command=("typed",), cwd=tmp_path, environ=dict(os.environ))

    assert launch.workspace is not None
    assert launch.workspace.at == str(tmp_path / "notes")
    assert launch.cwd == str(tmp_path)
