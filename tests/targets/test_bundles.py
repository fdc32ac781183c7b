"""Bundles: how they are started, what they ask for, and what hostile ones come to."""

from __future__ import annotations

import json
import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox.errors import BundleError, ConfigError, TargetNotFoundError, UsageError
from sandbox.model import HOME
from sandbox.targets.made_up import WORKSPACE
from sandbox.targets.named import read_targets
from sandbox.targets.orders import Given, Order

MANIFEST: dict[str, object] = {
    "manifest_version": "0.3",
    "name": "files",
    "version": "1.0.0",
    "description": "d",
    "author": {"name": "A"},
    "server": {
        "type": "node",
        "entry_point": "server/index.js",
        "mcp_config": {
            "command": "node",
            "args": ["${__dirname}/server/index.js", "${user_config.dirs}"],
            "env": {"TOKEN": "${user_config.token}"},
        },
    },
    "tools": [{"name": "read_file", "description": "Read"}],
    "tools_generated": True,
    "user_config": {
        "dirs": {
            "type": "directory",
            "title": "Dirs",
            "description": "x",
            "multiple": True,
            "required": True,
            "default": ["${HOME}/Desktop"],
        },
        "token": {"type": "string", "title": "T", "description": "t", "sensitive": True, "required": True},
    },
}


def bundle(folder: Path, manifest: object = MANIFEST, name: str = "files.mcpb", **files: str) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", json.dumps(manifest))
        for file, content in {"server/index.js": "//", **files}.items():
            archive.writestr(file, content)
    return path


def read(path: Path, given: Given | None = None) -> Order:
    environ = {"HOME": str(path.parent), "PATH": "/usr/bin", "XDG_CACHE_HOME": str(path.parent / "cache")}
    (order,) = read_targets((path.name,), cwd=path.parent, environ=environ, given=given)
    return order


def manifest(**server: object) -> dict[str, object]:
    return {**MANIFEST, "server": {"type": "node", "entry_point": "server/index.js", **server}}


def test_the_example_of_the_format(tmp_path: Path) -> None:
    order = read(bundle(tmp_path))
    folder = Path(order.cwd)
    assert order.name == "files.mcpb"
    # The desktop of whoever runs this is not handed out for a default's sake.
    assert order.command == ("node", f"{folder}/server/index.js", WORKSPACE)
    assert order.env["TOKEN"]
    assert order.notes == (
        "Made up, because nobody gave it: dirs, token. What depends on a real value was not seen.",
    )
    assert (folder / "server" / "index.js").read_text() == "//"
    assert stat.S_IMODE((folder / "server" / "index.js").stat().st_mode) == 0o644


def test_an_input_with_several_values_is_several_arguments(tmp_path: Path) -> None:
    given = Given(values={"dirs": ("/a", "/b"), "token": ("s3cret",)})
    order = read(bundle(tmp_path), given)
    assert order.command[2:] == ("/a", "/b")
    assert order.env == {"TOKEN": "s3cret"}
    assert order.secrets == ("s3cret",)
    assert order.notes == ()


def test_it_is_unpacked_once(tmp_path: Path) -> None:
    first = read(bundle(tmp_path))
    (Path(first.cwd) / "mark").touch()
    assert read(tmp_path / "files.mcpb").cwd == first.cwd
    assert (Path(first.cwd) / "mark").exists()
    assert read(bundle(tmp_path, **{"server/other.js": "2"})).cwd != first.cwd
    assert [path.name for path in (tmp_path / "cache/hintproof/bundles").glob(".new-*")] == []


def test_the_old_form(tmp_path: Path) -> None:
    old = {key: value for key, value in MANIFEST.items() if key != "manifest_version"}
    assert read(bundle(tmp_path, {**old, "dxt_version": "0.1"}, "files.dxt")).command[0] == "node"


def test_what_linux_has_of_its_own(tmp_path: Path) -> None:
    config = {
        "command": "${__dirname}\\server.exe",
        "args": ["${/}", "${HOME}", "${DOCUMENTS}", "${user_config.none}"],
        "platform_overrides": {"linux": {"command": "${__dirname}/server/run"}, "win32": {"command": "no"}},
    }
    order = read(bundle(tmp_path, manifest(type="binary", mcp_config=config), **{"server/run": "\x7fELF"}))
    assert order.command == (
        f"{order.cwd}/server/run",
        "/",
        HOME,
        f"{HOME}/Documents",
        "${user_config.none}",
    )
    assert os.access(order.command[0], os.X_OK)


def test_defaults_are_taken_and_optional_inputs_left_out(tmp_path: Path) -> None:
    content = {
        **manifest(
            mcp_config={
                "command": "node",
                "args": ["${user_config.a}", "${user_config.b}", "x${user_config.c}"],
            }
        ),
        "user_config": {
            "a": {"type": "number", "default": 5},
            "b": {"type": "string"},
            "c": {"type": "boolean", "default": False},
        },
    }
    assert read(bundle(tmp_path, content)).command == ("node", "5", "xfalse")


def test_inputs_that_name_each_other_stay_as_they_are(tmp_path: Path) -> None:
    content = {
        **manifest(mcp_config={"command": "node", "args": ["${user_config.a}"]}),
        "user_config": {
            "a": {"type": "string", "default": "${user_config.b}"},
            "b": {"type": "string", "default": "${user_config.a}"},
        },
    }
    assert read(bundle(tmp_path, content)).command == ("node", "${user_config.b}")


def test_a_bundle_that_installs_at_its_start_says_what_to_do(tmp_path: Path) -> None:
    order = read(bundle(tmp_path, manifest(type="uv")))
    assert "uv sync --project" in order.problem


def test_an_unpacked_bundle_is_read_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    for word in ("manifest.json", "."):
        (order,) = read_targets((word,), cwd=tmp_path, environ={})
        assert order.command[1] == f"{tmp_path}/server/index.js"


def _entries(*names: str, mode: int = 0o100644) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                info = zipfile.ZipInfo(name)
                info.external_attr = mode << 16
                archive.writestr(info, "x")

    return write


def _bomb(path: Path) -> None:
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open("bomb", "w") as file,
    ):
        for _ in range(80):
            file.write(bytes(1 << 20))


def _liar(path: Path) -> None:
    """Says that its file has a byte."""
    _bomb(path)
    content = bytearray(path.read_bytes())
    for sign, at in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        start = content.rfind(sign)
        content[start + at : start + at + 4] = (1).to_bytes(4, "little")
    path.write_bytes(content)


def _encrypted(path: Path) -> None:
    _entries("a")(path)
    content = bytearray(path.read_bytes())
    content[6] |= 1
    content[content.rfind(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)


def _many(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(0x10000):
            archive.writestr(f"{number:x}", "")


@pytest.mark.parametrize(
    ("write", "said"),
    [
        (_entries("../out"), "no path inside"),
        (_entries("a/../../out"), "no path inside"),
        (_entries("/etc/passwd"), "no path inside"),
        (_entries("a\\..\\b"), "no path inside"),
        (_entries("C:/a"), "no path inside"),
        (_entries("a\x1b[2J"), "no path inside"),
        (_entries("a/" * 600 + "b"), "no path inside"),
        (_entries("x" * 300), "no path inside"),
        (_entries("a", "a/b"), "a file and a folder of the same name"),
        (_bomb, "more than it may"),
        (_liar, "cannot be unpacked|more than it may"),
        (_encrypted, "encrypted"),
        (_many, "too many files"),
        (lambda path: path.write_bytes(b"PK\x05\x06" + b"\xff" * 18), "too many files"),
        (lambda path: path.write_bytes(b"no archive"), "no zip archive"),
        (lambda path: path.write_bytes(b""), "no zip archive"),
    ],
)
def test_hostile_archives_are_refused_and_leave_nothing(
    tmp_path: Path, write: Callable[[Path], None], said: str
) -> None:
    path = tmp_path / "bad.mcpb"
    write(path)
    with pytest.raises(BundleError, match=said):
        read(path)
    assert list((tmp_path / "cache/hintproof/bundles").iterdir()) == []
    assert not (tmp_path / "cache/hintproof/out").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.mcpb"
    _entries("a", "a")(path)
    with pytest.raises(BundleError, match="twice"):
        read(path)


def test_links_are_not_made(tmp_path: Path) -> None:
    path = bundle(tmp_path)
    with zipfile.ZipFile(path, "a") as archive:
        link = zipfile.ZipInfo("out")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc")
    assert not os.path.lexists(Path(read(path).cwd, "out"))


def test_an_archive_of_600_mb_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "big.mcpb"
    with path.open("wb") as file:
        file.truncate(600 << 20)
    with pytest.raises(BundleError, match="larger than 512 MB"):
        read(path)


def test_what_is_no_bundle_says_so(tmp_path: Path) -> None:
    _entries("a")(tmp_path / "empty.mcpb")
    with pytest.raises(TargetNotFoundError, match="no manifest"):
        read(tmp_path / "empty.mcpb")
    with pytest.raises(ConfigError, match="an object is needed"):
        read(bundle(tmp_path, {**MANIFEST, "server": 3}))
    with pytest.raises(ConfigError, match="says no command"):
        read(bundle(tmp_path, manifest(type="binary", mcp_config={"args": ["x"]})))
    with pytest.raises(UsageError, match="a bundle holds one server"):
        read_targets(("files.mcpb#a",), cwd=tmp_path, environ={})


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    for name in ("pipe.mcpb", "pipe.json"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(TargetNotFoundError, match="no regular file"):
            read(tmp_path / name)
