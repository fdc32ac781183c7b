"""The registry's server.json: every package and remote, in the forms of every schema."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from sandbox.errors import UsageError
from sandbox.targets.made_up import WORKSPACE
from sandbox.targets.named import read_targets
from sandbox.targets.orders import Ecosystem, Given, Order
from sandbox.workspace import DEFAULT_WORKSPACE

FILES: dict[str, Any] = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    "name": "io.github.example/files",
    "description": "Read and write files in one directory",
    "version": "1.4.0",
    "packages": [
        {
            "registryType": "npm",
            "identifier": "@example/files",
            "version": "1.4.0",
            "runtimeHint": "npx",
            "runtimeArguments": [{"type": "named", "name": "-y"}],
            "packageArguments": [
                {"type": "positional", "value": "serve"},
                {"type": "named", "name": "--mode", "default": "rw", "choices": ["rw", "ro"]},
                {
                    "type": "positional",
                    "valueHint": "target_dir",
                    "description": "Directory to serve",
                    "format": "filepath",
                    "isRequired": True,
                    "isRepeated": True,
                },
            ],
            "environmentVariables": [
                {"name": "FILES_TOKEN", "description": "API token", "isRequired": True, "isSecret": True},
                {"name": "LOG_LEVEL", "default": "info", "choices": ["debug", "info"]},
                {
                    "name": "FILES_URL",
                    "value": "https://{host}/api",
                    "variables": {"host": {"default": "example.com"}},
                },
            ],
            "transport": {"type": "stdio"},
        },
        {
            "registryType": "pypi",
            "identifier": "example-files",
            "version": "1.4.0",
            "runtimeHint": "uvx",
            "packageArguments": [{"type": "named", "name": "--port", "format": "number", "default": "8080"}],
            "transport": {"type": "streamable-http", "url": "http://127.0.0.1:{--port}/mcp"},
        },
        {
            "registryType": "oci",
            "identifier": "images.example/files:1.4.0",
            "runtimeHint": "docker",
            "runtimeArguments": [
                {
                    "type": "named",
                    "name": "--mount",
                    "isRepeated": True,
                    "isRequired": True,
                    "value": "type=bind,src={source},dst={target}",
                    "variables": {
                        "source": {"format": "filepath", "isRequired": True},
                        "target": {"default": "/project"},
                    },
                }
            ],
            "transport": {"type": "stdio"},
        },
        {
            "registryType": "mcpb",
            "identifier": "https://github.com/example/files/releases/download/v1.4.0/files.mcpb",
            "fileSha256": "fe333e598595000ae021bd27117db32ec69af6987f507ba7a63c90638ff633ce",
            "transport": {"type": "stdio"},
        },
    ],
    "remotes": [
        {
            "type": "streamable-http",
            "url": "https://{tenant}.example.com/mcp",
            "variables": {"tenant": {"description": "Tenant", "isRequired": True}},
            "headers": [
                {
                    "name": "Authorization",
                    "value": "Bearer {token}",
                    "isSecret": True,
                    "variables": {"token": {"isRequired": True, "isSecret": True}},
                }
            ],
        },
        {"type": "sse", "url": "https://old.example.com/sse"},
    ],
}


def read(folder: Path, content: object, only: str = "", given: Given | None = None) -> tuple[Order, ...]:
    (folder / "server.json").write_text(json.dumps(content))
    word = f"server.json#{only}" if only else "server.json"
    environ = {"HOME": str(folder), "PATH": "/usr/bin"}
    return read_targets((word,), cwd=folder, environ=environ, given=given)


def package(folder: Path, given: Given | None = None, **fields: object) -> Order:
    plain = {"registryType": "npm", "identifier": "example", "transport": {"type": "stdio"}}
    content = {"name": "io.example/it", "packages": [{**plain, **fields}]}
    (order,) = read(folder, content, given=given)
    return order


def test_the_full_example_of_the_registry(tmp_path: Path) -> None:
    npm, pypi, oci, bundle, remote, old = read(tmp_path, FILES)
    assert [order.name.partition("#")[2] for order in (npm, pypi, oci, bundle, remote, old)] == [
        "npm",
        "pypi",
        "oci",
        "mcpb",
        "streamable-http",
        "sse",
    ]
    assert npm.package is not None
    assert (npm.package.ecosystem, npm.package.name, npm.package.version) == (
        Ecosystem.NPM,
        "@example/files",
        "1.4.0",
    )
    assert npm.package.arguments == ("serve", "--mode", "rw", DEFAULT_WORKSPACE)
    assert npm.env["LOG_LEVEL"] == "info"
    assert npm.env["FILES_URL"] == "https://example.com/api"
    assert len(npm.env["FILES_TOKEN"]) == 40
    assert npm.notes == (
        "Made up, because nobody gave it: target_dir, FILES_TOKEN. What depends on a real value was not seen.",
    )
    assert (npm.problem, npm.needs) == ("", ())

    assert pypi.package is not None
    assert pypi.package.arguments == ("--port", "8080")
    assert (pypi.transport, pypi.port, pypi.path) == ("http", 8080, "/mcp")

    assert [need.name for need in oci.needs] == ["source"]
    assert "the bundle https://github.com/example" in bundle.problem
    assert [need.name for need in remote.needs] == ["tenant", "token"]
    assert (old.url, old.transport) == ("https://old.example.com/sse", "sse")


def test_what_is_given_takes_the_place_of_what_is_made_up(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    given = Given(
        env={"FILES_TOKEN": "real"},
        values={
            "target_dir": ("/a", "/b"),
            "mode": ("ro",),
            "source": (str(tmp_path / "data"),),
            "tenant": ("acme",),
            "token": ("s3cret",),
        },
    )
    npm, _, oci, _, remote, _ = read(tmp_path, FILES, given=given)
    assert npm.package is not None
    assert npm.package.arguments == ("serve", "--mode", "ro", "/a", "/b")
    assert npm.env["FILES_TOKEN"] == "real"
    assert npm.notes == ()
    assert oci.image is not None
    assert (oci.image.image, oci.image.mounts[0].target) == ("images.example/files:1.4.0", "/project")
    assert remote.url == "https://acme.example.com/mcp"
    assert remote.headers == {"Authorization": "Bearer s3cret"}
    assert "s3cret" in remote.secrets
    assert remote.needs == ()


def test_a_value_that_is_no_choice_is_a_problem(tmp_path: Path) -> None:
    npm, *_ = read(tmp_path, FILES, given=Given(values={"--mode": ("x",)}))
    assert "one of rw, ro" in npm.problem


def test_one_package_by_its_name(tmp_path: Path) -> None:
    (order,) = read(tmp_path, FILES, only="pypi")
    assert order.words == ("server.json#pypi",)
    with pytest.raises(UsageError, match="The file offers: npm, pypi, oci"):
        read(tmp_path, FILES, only="nuget")


def test_the_second_of_a_kind_has_a_number(tmp_path: Path) -> None:
    content = copy.deepcopy(FILES)
    content["packages"].append({**content["packages"][0], "identifier": "other"})
    (order,) = read(tmp_path, content, only="npm-2")
    assert order.package is not None
    assert order.package.name == "other"


def test_the_old_form_in_snake_case(tmp_path: Path) -> None:
    content = {
        "name": "io.github.example/old",
        "description": "d",
        "status": "active",
        "version_detail": {"version": "0.9.0"},
        "packages": [
            {
                "registry_name": "npm",
                "name": "@example/old",
                "version": "0.9.0",
                "runtime_hint": "npx",
                "runtime_arguments": [{"type": "named", "name": "-y"}],
                "package_arguments": [
                    {
                        "type": "positional",
                        "value_hint": "target_dir",
                        "default": "/data",
                        "is_required": True,
                    }
                ],
                "environment_variables": [{"name": "OLD_TOKEN", "is_required": True, "is_secret": True}],
            },
            {"registry_name": "docker", "name": "example/old", "version": "0.9.0"},
        ],
        "remotes": [{"transport_type": "streamable", "url": "https://old.example/mcp"}],
    }
    npm, oci, remote = read(tmp_path, content)
    assert npm.package is not None
    assert (npm.package.name, npm.package.version) == ("@example/old", "0.9.0")
    assert npm.package.arguments == ("/data",)
    assert npm.env["OLD_TOKEN"]
    assert oci.image is not None
    assert oci.image.image == "example/old:0.9.0"
    assert (remote.url, remote.transport) == ("https://old.example/mcp", "http")


def test_the_registrys_own_answer(tmp_path: Path) -> None:
    answer = {"server": FILES, "_meta": {"io.modelcontextprotocol.registry/official": {"status": "active"}}}
    assert len(read(tmp_path, answer)) == 6
    listed = {"servers": [answer, {"server": {**FILES, "name": "io.example/other"}}]}
    assert len(read(tmp_path, listed)) == 12
    (order,) = read(tmp_path, listed, only="io.example/other:npm")
    assert order.words == ("server.json#io.example/other:npm",)
    with pytest.raises(UsageError, match="no server is called that"):
        read(tmp_path, listed, only="io.example/third")


def test_optional_inputs_that_nobody_gave_are_left_out(tmp_path: Path) -> None:
    order = package(
        tmp_path,
        packageArguments=[
            {"type": "named", "name": "--verbose", "description": "Say more"},
            {"type": "named", "name": "--yes"},
            {"type": "positional", "valueHint": "extra"},
        ],
        environmentVariables=[{"name": "OPTIONAL", "description": "d"}],
    )
    assert order.package is not None
    assert order.package.arguments == ("--yes",)
    assert order.env == {}


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ({"name": "GITHUB_TOKEN", "isSecret": True}, "ghp_"),
        ({"name": "SERVICE_URL"}, "https://service.example"),
        ({"name": "POSTGRES_URL"}, "postgresql://sample:"),
        ({"name": "MAX_ROWS", "format": "number"}, "10"),
        ({"name": "HTTP_PORT"}, "8080"),
        ({"name": "READ_ONLY", "format": "boolean"}, "true"),
        ({"name": "DATA_DIR"}, WORKSPACE),
        ({"name": "ANYTHING", "choices": ["b", "a"]}, "b"),
        ({"name": "USER_EMAIL"}, "user@example.com"),
        ({"name": "AWS_REGION"}, "us-east-1"),
    ],
)
def test_what_is_made_up_looks_right_for_its_kind(
    tmp_path: Path, variable: dict[str, object], value: str
) -> None:
    order = package(tmp_path, environmentVariables=[{**variable, "isRequired": True}])
    assert order.env[str(variable["name"])].startswith(value)
    assert order.needs == ()


def test_the_workspace_that_is_named_is_the_one_of_the_box() -> None:
    assert WORKSPACE == DEFAULT_WORKSPACE


def test_what_nobody_can_make_up_is_asked_for_with_the_option_to_give(tmp_path: Path) -> None:
    order = package(
        tmp_path,
        packageArguments=[
            {
                "type": "named",
                "name": "--config",
                "format": "filepath",
                "isRequired": True,
                "description": "Settings",
            }
        ],
        environmentVariables=[{"name": "FLAVOUR", "isRequired": True}],
    )
    assert [(need.kind, need.name) for need in order.needs] == [("argument", "--config"), ("env", "FLAVOUR")]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"registryType": "nuget"}, "packages of nuget are not run here"),
        ({"identifier": "../../etc"}, "no package of npm is named"),
        ({"identifier": "https://evil.example/x.tgz"}, "no package of npm is named"),
        ({"identifier": "--script"}, "no package of npm is named"),
        ({"version": "file:../x"}, "no package of npm is named"),
        ({"transport": {"type": "sse", "url": "http://localhost/sse"}}, "sse cannot be spoken to"),
        ({"transport": {"type": "streamable-http", "url": "http://[::1/"}}, "url"),
        ({"packageArguments": "x"}, "a list is needed"),
        ({"packageArguments": [3]}, "an object is needed"),
        ({"environmentVariables": [{"name": "A", "value": "a\0"}]}, "NUL"),
        (
            {"packageArguments": [{"type": "positional", "value": str(at)} for at in range(501)]},
            "more than 500",
        ),
        (
            {"runtimeArguments": [{"type": "named", "name": "--with", "value": "x @ file:///etc"}]},
            "only packages by name",
        ),
        ({"registryType": "oci", "identifier": "Not Like That"}, "no image is named like that"),
        (
            {
                "registryType": "oci",
                "identifier": "x",
                "runtimeArguments": [{"type": "named", "name": "--privileged"}],
            },
            "",
        ),
    ],
)
def test_a_package_that_cannot_be_used_says_why(tmp_path: Path, fields: dict[str, object], said: str) -> None:
    order = package(tmp_path, **fields)
    assert said in order.problem
    assert bool(order.problem) == bool(said)


def test_variables_that_name_each_other_stay_as_they_are(tmp_path: Path) -> None:
    variables = {"a": {"value": "{b}", "variables": {"b": {"default": "{a}"}}}}
    order = package(
        tmp_path, environmentVariables=[{"name": "X_URL", "value": "{a}-{c}", "variables": variables}]
    )
    assert order.env == {"X_URL": "{a}-{c}"}


def test_inputs_within_inputs_without_end_are_refused(tmp_path: Path) -> None:
    deep: dict[str, object] = {"default": "x"}
    for _ in range(300):
        deep = {"value": "{a}", "variables": {"a": deep}}
    order = package(tmp_path, environmentVariables=[{"name": "X", **deep}])
    assert "deep" in order.problem


def test_a_bundle_beside_the_file_is_checked_and_read(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        manifest = {
            "manifest_version": "0.3",
            "name": "files",
            "server": {"type": "node", "mcp_config": {"command": "node", "args": ["${__dirname}/a.js"]}},
        }
        archive.writestr("manifest.json", json.dumps(manifest))
        archive.writestr("a.js", "")
    (tmp_path / "files.mcpb").write_bytes(buffer.getvalue())
    url = "https://example.com/releases/files.mcpb"
    digest = hashlib.sha256(buffer.getvalue()).hexdigest()
    order = package(tmp_path, registryType="mcpb", identifier=url, fileSha256=digest.upper())
    assert (order.problem, order.command[0]) == ("", "node")
    assert Path(order.command[1]).is_file()
    order = package(tmp_path, registryType="mcpb", identifier=url, fileSha256="0" * 64)
    assert "its SHA-256 is not the one" in order.problem
