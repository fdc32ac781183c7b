"""What a container is shown of this machine: all that the server needs, at the same paths, and no home."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from standin import ROOT

from sandbox.config import Settings
from sandbox.errors import TargetNotFoundError, UsageError
from sandbox.hosts.closure import look
from sandbox.hosts.job import Job, Task
from sandbox.hosts.mounts import Bind, Sight, View, arrange
from sandbox.targets.dockerrun import image_order
from sandbox.targets.orders import Ecosystem, PackageOrder

REAL = ROOT / ".real"


def made(path: Path, content: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def executable(path: Path, content: str = "#!/bin/sh\n") -> Path:
    made(path, content).chmod(0o755)
    return path


def seen(cwd: Path, *command: str, home: Path, path: str = "/usr/bin:/bin", **settings: object) -> Sight:
    job = Job(Task.VERIFY, command, str(cwd), Settings(**settings))  # type: ignore[arg-type]
    return look(job, {"PATH": path, "HOME": str(home)})


def targets(view: View) -> list[str]:
    return [bind.target for bind in view.binds]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with things in it that no server has any business with."""
    made(tmp_path / "home" / ".ssh" / "id_ed25519", "secret")
    return tmp_path / "home"


class TestArranging:
    """From paths to binds."""

    def test_an_outer_folder_shows_the_inner_ones(self, tmp_path: Path) -> None:
        made(tmp_path / "a" / "b" / "c")
        made(tmp_path / "a-b")
        view = arrange([f"{tmp_path}/a/b/c", f"{tmp_path}/a", f"{tmp_path}/a-b", f"{tmp_path}/gone"])
        assert targets(view) == [f"{tmp_path}/a", f"{tmp_path}/a-b"]
        assert view.shows(f"{tmp_path}/a/b/c")
        assert not view.shows(f"{tmp_path}/a-c")

    def test_a_path_through_a_link_is_shown_at_its_place_and_as_it_was_named(self, tmp_path: Path) -> None:
        made(tmp_path / "real" / "deep" / "x.txt")
        (tmp_path / "link").symlink_to("real")
        (tmp_path / "again").symlink_to(tmp_path / "link")
        view = arrange([f"{tmp_path}/again/deep"])
        real = f"{tmp_path}/real/deep"
        assert view.binds == (
            Bind(real, f"{tmp_path}/again/deep"),
            Bind(real, f"{tmp_path}/link/deep"),
            Bind(real, real),
        )

    def test_what_lies_beside_is_named_through_the_same_links(self, tmp_path: Path) -> None:
        """A program of a virtual environment is only one with the environment around it."""
        made(tmp_path / "real" / "venv" / "pyvenv.cfg")
        python = executable(tmp_path / "base" / "python")
        (tmp_path / "real" / "venv" / "python").symlink_to(python)
        (tmp_path / "link").symlink_to("real")
        view = arrange([f"{tmp_path}/real/venv", f"{tmp_path}/link/venv/python"])
        assert view.binds == (
            Bind(str(python), str(python)),
            Bind(f"{tmp_path}/real/venv", f"{tmp_path}/link/venv"),
            Bind(f"{tmp_path}/real/venv", f"{tmp_path}/real/venv"),
        )

    def test_a_link_to_a_folder_above_itself_comes_to_an_end(self, tmp_path: Path) -> None:
        (tmp_path / "up").symlink_to(".")
        made(tmp_path / "x")
        assert f"{tmp_path}/up/x" in targets(arrange([f"{tmp_path}/up/up/x"]))

    def test_a_link_inside_what_is_shown_needs_no_bind_of_its_own(self, tmp_path: Path) -> None:
        made(tmp_path / "data" / "x.txt")
        (tmp_path / "project").mkdir()
        (tmp_path / "project" / "data").symlink_to("../data")
        view = arrange([f"{tmp_path}/project", f"{tmp_path}/project/data/x.txt"])
        assert targets(view) == [f"{tmp_path}/data/x.txt", f"{tmp_path}/project"]

    def test_links_in_a_circle_are_an_error(self, tmp_path: Path) -> None:
        (tmp_path / "a").symlink_to("b")
        (tmp_path / "b").symlink_to("a")
        with pytest.raises(UsageError, match="in a circle"):
            arrange([f"{tmp_path}/a/x"])

    def test_a_name_that_is_not_utf8_is_an_error_that_says_what_to_do(self, tmp_path: Path) -> None:
        folder = os.fsencode(tmp_path) + b"/\xff"
        os.mkdir(folder)
        with pytest.raises(UsageError, match="--host local"):
            arrange([os.fsdecode(folder)])

    def test_folders_that_only_have_to_be_there(self, tmp_path: Path) -> None:
        made(tmp_path / "shown" / "x")
        view = arrange(
            [f"{tmp_path}/shown"],
            [
                f"{tmp_path}/shown/in",
                f"{tmp_path}/bare/in",
                f"{tmp_path}/bare",
                str(tmp_path),
                "/",
                "/usr/lib",
            ],
        )
        assert view.folders == (f"{tmp_path}/bare/in",)

    def test_the_containers_own_folders_stay_its_own(self) -> None:
        assert arrange(["/usr/bin", "/proc/self", "/bin/sh", "/dev/null"]) == View(())


def test_a_script_is_shown_with_its_project_and_the_folder_that_it_works_on(home: Path) -> None:
    project = home / "work" / "project"
    made(project / "package.json", '{"name": "it"}')
    made(project / "node_modules" / "dep" / "index.js")
    script = made(project / "src" / "server.js")
    notes = made(home / "notes" / "a.txt").parent
    sight = seen(home, "node", str(script), str(notes), home=home)
    assert targets(sight.view) == [str(notes), str(project)]
    assert sight.view.folders == ()  # the home is there: what is shown lies in it
    assert sight.job.command == ("node", str(script), str(notes))


def test_a_home_is_never_shown_not_even_as_the_current_folder(home: Path) -> None:
    script = made(home / "server.py")
    sight = seen(home, "python3", "server.py", "notes.db", home=home)
    assert targets(sight.view) == [str(script)]
    assert not sight.view.shows(f"{home}/.ssh/id_ed25519")


@pytest.mark.parametrize("cwd", ["/", "/tmp", "/var"])
def test_nor_is_a_folder_of_the_machine(home: Path, cwd: str) -> None:
    script = made(home / "x" / "server.py")
    sight = seen(Path(cwd), "python3", str(script), home=home)
    assert targets(sight.view) == [str(home / "x")]


def test_of_a_folder_for_a_file_to_come_only_that_it_is_there(home: Path) -> None:
    made(home / "data" / "others.db")
    script = made(home / "x" / "server.py")
    sight = seen(home / "x", "python3", str(script), "--db", f"{home}/data/new.db", home=home)
    assert targets(sight.view) == [str(home / "x")]
    assert sight.view.folders == (f"{home}/data",)


def test_what_the_settings_ask_for_is_shown(home: Path) -> None:
    script = made(home / "x" / "server.py")
    lib, work = made(home / "lib" / "a.so").parent, made(home / "work, of: mine" / "a.txt").parent
    sight = seen(
        home / "x",
        "python3",
        str(script),
        home=home,
        expose=(lib,),
        workspace=work,
        env={"DATA": str(made(home / "y" / "z.json"))},
    )
    assert targets(sight.view) == [str(lib), str(work), str(home / "x"), f"{home}/y/z.json"]


def test_npx_is_told_as_what_it_runs_and_its_cache_is_shown_in_part(home: Path) -> None:
    package = home / ".npm" / "_npx" / "0123" / "node_modules" / "srv"
    made(package / "package.json", '{"name": "srv", "version": "1.0.0", "bin": "cli.js"}')
    made(package / "cli.js", "#!/usr/bin/env node\n")
    made(home / ".npm" / "_npx" / "4567" / "node_modules" / "other" / "package.json", "{}")
    cwd = made(home / "p" / "x").parent
    sight = seen(cwd, "npx", "-y", "srv", "--flag", home=home)
    assert sight.job.stands_for == (f"{package}/cli.js", "--flag")
    assert sight.job.command == ("npx", "-y", "srv", "--flag")
    assert targets(sight.view) == [str(package.parent), str(cwd)]
    with pytest.raises(TargetNotFoundError, match="npm install other"):
        seen(cwd, "npx", "-y", "other@2", home=home)


def test_the_interpreter_in_use_is_the_first_in_the_path_of_the_container(home: Path) -> None:
    base = home / ".pyenv" / "versions" / "3.11.7"
    executable(base / "bin" / "python3", "\x7fELF")
    made(base / "lib" / "python3.11" / "os.py")
    shims = home / ".pyenv" / "shims"
    executable(shims / "python3", "#!/bin/sh\nexec pyenv exec\n")
    made(home / ".pyenv" / "version", "3.11.7\n")
    script = made(home / "x" / "server.py")
    tools = made(home / "x" / "tools" / "t").parent
    sight = seen(home / "x", "python3", str(script), home=home, path=f"{shims}:{tools}:/usr/bin")
    assert targets(sight.view) == [str(base), str(home / "x")]
    assert sight.job.environ is not None
    assert sight.job.environ["PATH"] == f"{base}/bin:{tools}"
    assert sight.job.environ["HOME"] == str(home)


def test_variables_that_decide_nothing_stay_outside(home: Path) -> None:
    job = Job(Task.VERIFY, ("python3", str(made(home / "x" / "s.py"))), str(home), Settings())
    sight = look(job, {"PATH": "/bin", "HOME": str(home), "AWS_SECRET_ACCESS_KEY": "x", "TZ": "UTC"})
    assert sight.job.environ == {"PATH": "", "HOME": str(home), "TZ": "UTC"}


def test_a_program_that_only_a_link_of_the_system_names_is_told_by_its_place() -> None:
    python = Path(sys.executable)
    link = Path("/usr/local/bin/hintproof-hosts-test")
    link.symlink_to(python)
    try:
        job = Job(Task.VERIFY, (link.name, "-c", "0"), str(ROOT), Settings())
        sight = look(job, {"PATH": str(link.parent), "HOME": "/root"})
    finally:
        link.unlink()
    assert sight.job.stands_for[0] == str(python.resolve())


def test_a_program_that_is_not_here_is_left_to_the_container_with_the_project_around(home: Path) -> None:
    project = made(home / "p" / "package.json", "{}").parent
    made(project / "src" / "server.js")
    sight = seen(project / "src", "node", "server.js", home=home, path="/nowhere")
    assert targets(sight.view) == [str(project)]
    assert sight.job.stands_for == ("node", "server.js")
    assert sight.if_missing == ""


def test_what_a_system_folder_has_is_told_apart(home: Path) -> None:
    venv = home / "x" / ".venv"
    made(venv / "pyvenv.cfg", "home = /usr/bin\nversion = 3.11.2\n")
    (venv / "bin").mkdir()
    (venv / "bin" / "python").symlink_to("/bin/sh")  # any program of the system
    script = made(home / "x" / "server.py")
    sight = seen(home / "x", str(venv / "bin" / "python"), str(script), home=home)
    assert "system folders of its own" in sight.if_missing
    assert "uv venv --managed-python" in sight.if_missing

    sight = seen(home / "x", "sh", str(made(home / "x" / "server.sh")), home=home)
    assert "installed in the system folders" in sight.if_missing
    assert "the container's own" in sight.if_it_fails


def test_an_images_server_is_shown_what_is_mounted_named_or_exposed(home: Path) -> None:
    cwd = made(home / "p" / "package.json", "{}").parent
    data, notes, lib = (made(home / name / "x").parent for name in ("data", "notes", "lib"))

    def view(*words: str, image: str = "") -> View:
        order = image_order(words, image=image, cwd=cwd)
        return look(
            Job(Task.VERIFY, words, str(cwd), Settings(expose=(lib,)), image=order), {"HOME": str(home)}
        ).view

    mounted = view("docker", "run", "-v", f"{data}:/data", "-v", f"{home}:/home", "srv", str(notes))
    assert targets(mounted) == [str(data), str(lib)]
    assert targets(view("oci:srv", str(notes), "p")) == [str(lib), str(notes)]
    assert targets(view("run", str(notes), image="srv")) == [str(lib), str(notes)]


def test_a_packages_server_is_shown_what_its_arguments_name(home: Path) -> None:
    cwd = made(home / "p" / "notes.txt").parent
    data, lib = (made(home / name / "x").parent for name in ("data", "lib"))
    order = PackageOrder(Ecosystem.NPM, "a-server", arguments=(str(data), str(home)))
    job = Job(Task.VERIFY, ("npm:a-server", str(data)), str(cwd), Settings(expose=(lib,)), package=order)

    sight = look(job, {"HOME": str(home), "PATH": "/usr/bin", "SECRET": "x"})

    assert targets(sight.view) == [str(data), str(lib), str(cwd)]
    assert sight.job.environ == {"HOME": str(home)}
