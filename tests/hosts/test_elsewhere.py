"""macOS and Windows, as far as functions can tell: where their paths are in a Linux container."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from standin import PATIENCE_S, ROOT

from sandbox.config import Settings
from sandbox.errors import UsageError
from sandbox.hosts.elsewhere import command_inside, inside, look, too_wide
from sandbox.hosts.job import Job, Task
from sandbox.targets.dockerrun import image_order

HERE = Path(__file__).parent


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("C:\\Users\\me\\my notes", "/c/Users/me/my notes"),
        ("d:\\", "/d"),
        ("D:/work/x,y", "/d/work/x,y"),
    ],
)
def test_a_path_of_a_drive_is_below_the_drives_letter(path: str, expected: str) -> None:
    assert inside(path, windows=True) == expected
    assert inside("/Users/me/x", windows=False) == "/Users/me/x"


@pytest.mark.parametrize("path", ["\\\\server\\share\\x", "relative\\x", "\\x"])
def test_a_path_of_no_drive_is_an_error(path: str) -> None:
    with pytest.raises(UsageError, match="is on no drive"):
        inside(path, windows=True)


def test_a_command_is_written_as_linux_has_it() -> None:
    words = [
        "npx.cmd",
        "-y",
        "srv",
        "C:\\Users\\me",
        "--db=D:\\x.db",
        "src\\server.py",
        "a\\",
        "https://x/y",
        "--re=\\d+",
    ]
    assert list(command_inside(words, windows=True)) == [
        "npx", "-y", "srv", "/c/Users/me", "--db=/d/x.db", "src/server.py", "a\\", "https://x/y", "--re=\\d+",
    ]  # fmt: skip
    assert list(command_inside(words, windows=False)) == words


@pytest.mark.parametrize(
    ("path", "home", "windows", "wide"),
    [
        ("/Users/me", "/Users/me", False, True),
        ("/Users", "/Users/me", False, True),
        ("/private/tmp", "/Users/me", False, True),
        ("/Users/me/x", "/Users/me", False, False),
        ("C:\\", "C:\\Users\\me", True, True),
        ("c:\\users\\ME", "C:\\Users\\me", True, True),
        ("C:\\Users", "C:\\Users\\me", True, True),
        ("D:\\", "C:\\Users\\me", True, True),
        ("C:\\Users\\me\\x", "C:\\Users\\me", True, False),
    ],
)
def test_homes_and_drives_are_too_wide(path: str, home: str, windows: bool, wide: bool) -> None:
    assert too_wide(path, home, windows=windows) is wide


def test_the_project_and_what_the_command_names_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    for folder in ("p/src", "notes", "data", ".npm/_npx", ".ssh"):
        (home / folder).mkdir(parents=True)
    (home / "p/package.json").write_text("{}")
    words = ("npx", "-y", "srv", "../../notes", f"--db={home}/data/new.db", "--name", "x")
    sight = look(Job(Task.VERIFY, words, f"{home}/p/src", Settings()), {})
    assert [bind.target for bind in sight.view.binds] == [f"{home}/.npm/_npx", f"{home}/notes", f"{home}/p"]
    assert sight.view.folders == (f"{home}/data",)
    assert sight.job.environ == {"HOME": str(home), "npm_config_cache": f"{home}/.npm", "PATH": ""}
    assert sight.job.stands_for == words
    assert "the container runs Linux" in sight.if_missing


@pytest.mark.parametrize(
    ("system", "code", "said"),
    [
        ("darwin", 4, "a sandbox on this machine itself needs Linux; use --host docker here."),
        ("darwin", 4, "Nor is there a sandbox in docker: no Docker engine listens"),
        ("win32", 2, "is on no drive of this machine"),
    ],
)
def test_a_command_there_gets_by_without_what_only_linux_has(
    tmp_path: Path, system: str, code: int, said: str
) -> None:
    done = subprocess.run(
        [sys.executable, str(HERE / "on_another_system.py"), system, "verify", "--", "python", "server.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "DOCKER_HOST": "unix:///nowhere/docker.sock"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert list((tmp_path / ".hintproof/runs").iterdir()) == []


def test_an_images_server_is_shown_what_is_mounted_and_no_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    for folder in ("p", "notes"):
        (home / folder).mkdir(parents=True)
    words = ("docker", "run", "-v", f"{home}/notes:/data", "-v", f"{home}/gone:/gone", "srv", f"{home}/p")
    job = Job(Task.VERIFY, words, f"{home}/p", Settings(), image=image_order(words, cwd=home / "p"))
    sight = look(job, {})
    assert [bind.target for bind in sight.view.binds] == [f"{home}/notes"]
    assert sight.view.folders == (f"{home}/p",)
