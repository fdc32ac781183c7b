"""Servers of clients' configuration files: where they stand, what variables mean, what is asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from sandbox.errors import ConfigError, UsageError
from sandbox.targets.named import read_targets
from sandbox.targets.orders import Ecosystem, Given, Need, Order

VS_CODE = """{
  // one input, used twice
  "inputs": [{"type": "promptString", "id": "tok", "description": "API token", "password": true}],
  "servers": {
    "files": {"type": "stdio", "command": "npx", "args": ["-y", "@example/files", "${workspaceFolder}"],
              "env": {"TOKEN": "${input:tok}"}, "envFile": "${workspaceFolder}/.env"},
    "remote": {"type": "http", "url": "https://x.example/mcp", "headers": {"Authorization": "Bearer ${input:tok}"}},
  },
}"""


def read(
    path: Path,
    content: object,
    only: str = "",
    given: Given | None = None,
    **environ: str,
) -> tuple[Order, ...]:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    word = f"{path.name}#{only}" if only else path.name
    host = {"HOME": "/home/me", "PATH": "/usr/bin", **environ}
    return read_targets((word,), cwd=path.parent, environ=host, given=given)


def one(path: Path, entry: Mapping[str, object], given: Given | None = None, **environ: str) -> Order:
    (order,) = read(path, {"mcpServers": {"it": entry}}, given=given, **environ)
    return order


def test_the_example_of_claude_desktop(tmp_path: Path) -> None:
    content = {"mcpServers": {"fs": {"command": "npx", "args": ["-y", "@x/fs", "/data"], "env": {"K": "v"}}}}
    (order,) = read(tmp_path / "claude_desktop_config.json", content)
    assert order.name == "claude_desktop_config.json#fs"
    assert order.package is not None
    assert (order.package.ecosystem, order.package.name) == (Ecosystem.NPM, "@x/fs")
    assert order.package.arguments == ("/data",)
    assert order.env == {"K": "v"}


def test_the_example_of_vs_code(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("export A=1\n# B=2\nC='three # four' \n")
    files, remote = read(tmp_path / ".vscode" / "mcp.json", VS_CODE)
    assert files.cwd == str(tmp_path)
    assert files.problem == ""
    assert files.package is not None
    assert files.package.arguments == (str(tmp_path),)
    assert files.env["A"] == "1"
    assert files.env["C"] == "three # four"
    assert "B" not in files.env
    assert len(files.env["TOKEN"]) > 20  # made up
    assert files.notes == (
        "Made up, because nobody gave it: tok. What depends on a real value was not seen.",
    )
    # Nothing made up is sent to strangers.
    assert remote.url == "https://x.example/mcp"
    assert remote.needs == (Need("input", "tok", "API token", secret=True),)


def test_an_input_that_is_given_is_used_everywhere_and_is_a_secret(tmp_path: Path) -> None:
    given = Given(values={"tok": ("s3cret",)})
    (tmp_path / ".env").write_text("")
    files, remote = read(tmp_path / ".vscode" / "mcp.json", VS_CODE, given=given)
    assert files.env["TOKEN"] == "s3cret"
    assert remote.headers == {"Authorization": "Bearer s3cret"}
    assert remote.needs == ()
    assert "s3cret" in files.secrets


def test_an_input_that_picks_takes_its_default_and_refuses_another_value(tmp_path: Path) -> None:
    content = {
        "inputs": [{"type": "pickString", "id": "mode", "options": ["ro", "rw"], "default": "rw"}],
        "servers": {"a": {"command": "serve", "args": ["${input:mode}"]}},
    }
    (order,) = read(tmp_path / "mcp.json", content)
    assert order.command == ("serve", "rw")
    (order,) = read(tmp_path / "mcp.json", content, given=Given(values={"mode": ("no",)}))
    assert "--set mode=...: it is one of ro, rw" in order.problem


@pytest.mark.parametrize(
    "content",
    [
        {"mcpServers": {"a": {"command": "serve"}}},
        {"servers": {"a": {"command": "serve"}}},
        {"mcp": {"servers": {"a": {"command": "serve"}}}, "editor.fontSize": 12},
        {"mcp.servers": {"a": {"command": "serve"}}},
        {"a": {"command": "serve"}},
    ],
)
def test_servers_stand_at_several_places(tmp_path: Path, content: object) -> None:
    (order,) = read(tmp_path / "settings.json", content)
    assert (order.name, order.command) == ("settings.json#a", ("serve",))


def test_variables_as_claude_code_has_them(tmp_path: Path) -> None:
    entry = {
        "command": "${DIR}/serve",
        "args": ["${PORT:-3000}", "${EMPTY:-}", "${NOT_SET}", "$DIR", "${DIR:-x}"],
    }
    order = one(tmp_path / ".mcp.json", entry, DIR="/opt")
    assert order.command == ("/opt/serve", "3000", "", "${NOT_SET}", "$DIR", "/opt")
    assert order.notes == ("NOT_SET is not set, so ${NOT_SET} stays as it is, as in the client.",)


def test_claude_desktop_has_no_variables(tmp_path: Path) -> None:
    order = one(tmp_path / "claude_desktop_config.json", {"command": "serve", "args": ["${HOME}"]})
    assert order.command == ("serve", "${HOME}")


def test_a_variable_of_env_that_nobody_set_is_made_up(tmp_path: Path) -> None:
    order = one(tmp_path / ".mcp.json", {"command": "serve", "env": {"TOKEN": "${GITHUB_TOKEN}"}})
    assert order.env["TOKEN"].startswith("ghp_")
    assert order.needs == ()
    assert "GITHUB_TOKEN" in order.notes[0]


def test_a_secret_of_the_shell_is_handed_out_only_where_the_user_says_so(tmp_path: Path) -> None:
    entry = {"command": "serve", "args": ["${API_KEY}"], "env": {"K": "${API_KEY}", "LEVEL": "${LEVEL}"}}
    order = one(tmp_path / ".mcp.json", entry, API_KEY="the-real-one", LEVEL="debug")
    assert "the-real-one" not in str(order)
    assert order.env["LEVEL"] == "debug"
    assert any("API_KEY of this shell was not handed" in note for note in order.notes)
    given = Given(env={"API_KEY": "the-real-one"})
    order = one(tmp_path / ".mcp.json", entry, given=given, API_KEY="the-real-one")
    assert order.env["K"] == order.command[1] == "the-real-one"
    assert "the-real-one" in order.secrets


def test_variables_that_name_each_other_stay_as_they_are(tmp_path: Path) -> None:
    order = one(tmp_path / ".mcp.json", {"command": "serve", "args": ["${A}"]}, A="${B}", B="${A}")
    assert order.command == ("serve", "${B}")


def test_http_with_a_command_starts_it_and_speaks_http_to_it(tmp_path: Path) -> None:
    entry = {"type": "http", "command": "node", "args": ["server.js"], "url": "http://localhost:3001/api/mcp"}
    order = one(tmp_path / ".mcp.json", entry)
    assert (order.command, order.transport) == (("node", "server.js"), "http")
    assert (order.port, order.path, order.url) == (3001, "/api/mcp", "")


@pytest.mark.parametrize(
    ("args", "env", "port"),
    [
        (["--port", "4000"], {}, 4000),
        (["--port=4000"], {}, 4000),
        ([], {"PORT": "4000"}, 4000),
        ([], {}, 0),
    ],
)
def test_the_port_is_found_among_the_arguments_and_variables(
    tmp_path: Path, args: list[str], env: dict[str, str], port: int
) -> None:
    order = one(tmp_path / ".mcp.json", {"type": "http", "command": "serve", "args": args, "env": env})
    assert (order.transport, order.port) == ("http", port)


def test_a_server_started_here_is_not_looked_for_elsewhere(tmp_path: Path) -> None:
    entry = {"type": "http", "command": "serve", "url": "https://elsewhere.example/mcp"}
    assert "the address is localhost" in one(tmp_path / ".mcp.json", entry).problem


@pytest.mark.parametrize("kind", ["http", "streamable-http", "streamableHttp", "STREAMABLEHTTP", None])
def test_addresses_by_every_name_of_their_type(tmp_path: Path, kind: str | None) -> None:
    entry = {"url": "https://x.example/mcp", **({"type": kind} if kind else {})}
    order = one(tmp_path / ".mcp.json", entry)
    assert (order.url, order.transport, order.command) == ("https://x.example/mcp", "http", ())


def test_a_transport_may_be_nested(tmp_path: Path) -> None:
    order = one(tmp_path / ".mcp.json", {"transport": {"type": "sse", "url": "https://x.example/sse"}})
    assert (order.url, order.transport) == ("https://x.example/sse", "sse")


def test_containers_take_the_entrys_variables(tmp_path: Path) -> None:
    entry = {
        "command": "docker",
        "args": ["run", "-i", "--rm", "-e", "GITHUB_TOKEN", "-e", "LEVEL", "ghcr.io/x/y"],
        "env": {"LEVEL": "debug"},
    }
    order = one(tmp_path / ".mcp.json", entry, GITHUB_TOKEN="of-the-shell")
    assert order.image is not None
    assert order.image.image == "ghcr.io/x/y"
    assert order.image.env["LEVEL"] == "debug"
    assert order.image.env["GITHUB_TOKEN"].startswith("ghp_")


def test_one_entry_that_cannot_be_used_leaves_the_others_alone(tmp_path: Path) -> None:
    content = {
        "mcpServers": {
            "good": {"command": "serve"},
            "nothing": {},
            "no object": 3,
            "nul": {"command": "serve", "args": ["a\0b"]},
            "args": {"command": "serve", "args": "one line"},
            "type": {"command": "serve", "type": "carrier-pigeon"},
            "env": {"command": "serve", "env": {"A=B": "c"}},
            "long": {"command": "serve", "args": ["x" * 200_000]},
            "cwd": {"command": "serve", "cwd": "gone"},
        }
    }
    good, *bad = read(tmp_path / ".mcp.json", content)
    assert (good.problem, good.command) == ("", ("serve",))
    said = [
        "neither a command nor a url",
        "an object is needed, not a number",
        "NUL",
        "a list is needed",
        "carrier-pigeon",
        "no variable's name",
        "longer than 128 KB",
        "no such folder",
    ]
    for order, why in zip(bad, said, strict=True):
        assert why in order.problem
        assert order.command == ()


def test_one_server_is_named_by_its_name(tmp_path: Path) -> None:
    content = {"mcpServers": {"a": {"command": "one"}, "b#c": {"command": "two"}}}
    (order,) = read(tmp_path / "mcp.json", content, only="b#c")
    assert (order.command, order.words) == (("two",), ("mcp.json#b#c",))
    with pytest.raises(UsageError, match="The file names: a, b#c"):
        read(tmp_path / "mcp.json", content, only="c")


def test_numbers_and_booleans_are_texts(tmp_path: Path) -> None:
    order = one(tmp_path / ".mcp.json", {"command": "serve", "args": [1, True], "env": {"N": 2, "OFF": None}})
    assert order.command == ("serve", "1", "true")
    assert order.env == {"N": "2"}


def test_the_whole_configuration_of_five_kinds(tmp_path: Path) -> None:
    content = {
        "mcpServers": {
            "npm": {"command": "npx", "args": ["-y", "@example/memory@1.2.3"]},
            "pypi": {
                "command": "uvx",
                "args": ["--with", "pydantic<2.12", "example-git", "--repository", "."],
            },
            "command": {"command": "python3", "args": ["server.py"]},
            "image": {"command": "docker", "args": ["run", "-i", "--rm", "mcp/time"]},
            "http": {
                "type": "http",
                "command": "python3",
                "args": ["web.py"],
                "url": "http://127.0.0.1:8123/mcp",
            },
        }
    }
    npm, pypi, command, image, http = read(tmp_path / ".mcp.json", content)
    assert npm.package is not None
    assert (npm.package.name, npm.package.version) == ("@example/memory", "1.2.3")
    assert pypi.package is not None
    assert (pypi.package.name, pypi.package.pins) == ("example-git", ("pydantic<2.12",))
    assert command.command == ("python3", "server.py")
    assert image.image is not None
    assert (http.transport, http.port, http.command) == ("http", 8123, ("python3", "web.py"))
    assert not any(order.problem or order.needs for order in (npm, pypi, command, image, http))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}', "stands twice"),
        ('{"mcpServers": {"a": {"command": "x", "command": "y"}}}', "stands twice"),
        ('{"mcpServers": ' + "[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ('{"a": ' + "9" * 10_000 + "}", "digits"),
        ('{"a": NaN}', "no number"),
        ('{"a" 1}', "not JSON"),
        ("{/*" * 100_000, "not JSON"),
        ('{"' + '\\"' * 500_000, "not JSON"),
        ("{}", "neither a client's configuration"),
        ('{"mcpServers": {}}', "names no servers"),
        ('{"mcpServers": [1]}', "neither a client's configuration"),
    ],
)
def test_hostile_files_are_refused_at_once(tmp_path: Path, content: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(tmp_path / "mcp.json", content)


def test_a_file_of_100_mb_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    with path.open("wb") as file:
        file.truncate(100 << 20)
    with pytest.raises(ConfigError, match="longer than 4 MB"):
        read_targets((str(path),), cwd=tmp_path, environ={})


def test_variables_do_not_grow_without_end(tmp_path: Path) -> None:
    entry = {"command": "serve", "args": ["${A}" * 20_000]}
    assert "longer than 128 KB" in one(tmp_path / ".mcp.json", entry, A="x" * 100_000).problem


def test_comments_in_strings_are_none(tmp_path: Path) -> None:
    text = '{"mcpServers": {"a": {"command": "x", /* , */ "args": ["//no", "/* no */", "a,]", "\\\\"],} // end\n}}'
    (order,) = read(tmp_path / "mcp.json", text)
    assert order.command == ("x", "//no", "/* no */", "a,]", "\\")
