"""What of an image and of its order becomes of a launch."""

from __future__ import annotations

import dataclasses
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sandbox.containers.accounts import Account
from sandbox.containers.cache import UnpackedImage
from sandbox.containers.imageconfig import ImageConfig
from sandbox.errors import ImageError, TargetNotFoundError, UsageError
from sandbox.model import HOME, ImageRoot
from sandbox.targets.dockerrun import image_order
from sandbox.targets.images import image_launch
from sandbox.targets.launch import Launch, WorkspacePlace

APP = Account(1234, 5, (), "app", "/home/app")
CONFIG = ImageConfig("amd64", entrypoint=("/server",), command=("--stdio",))


@dataclass
class Setting:
    """A host with a project folder, and an image unpacked beside it."""

    base: Path
    config: ImageConfig = CONFIG
    user: Account = APP
    environ: Mapping[str, str] = field(default_factory=dict)

    @property
    def project(self) -> Path:
        return self.base / "project"

    @property
    def root(self) -> Path:
        return self.base / "cache" / "root"

    def put(self, path: str, content: str = "") -> None:
        """A file of the image, or with a slash at the end a folder."""
        target = self.root / path.lstrip("/")
        (target if path.endswith("/") else target.parent).mkdir(parents=True, exist_ok=True)
        if not path.endswith("/"):
            target.write_text(content)

    def launch(
        self,
        *command: str,
        image: str = "",
        workspace: Path | None = None,
        expose: tuple[Path, ...] = (),
        **env: str,
    ) -> Launch:
        environ = {"HOME": str(self.base / "home"), **self.environ}
        order = image_order(command or ("oci:test",), image=image, cwd=self.project, environ=environ)
        assert order is not None
        unpacked = UnpackedImage(str(self.root), "sha256:1", self.config, self.user, ("a note",))
        return image_launch(
            order, unpacked, cwd=self.project, environ=environ, env=env, expose=expose, workspace=workspace
        )


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    made = Setting(tmp_path)
    made.project.mkdir()
    (made.project / "file.txt").write_text("of the host")
    made.put("/etc/passwd")
    (tmp_path / "cache" / "empty").mkdir()
    return made


def placed(launch: Launch) -> dict[str, bytes | str]:
    """What the seeds put where: the content of files, the kind of anything else."""
    return {seed.path: seed.content if seed.kind == "file" else seed.kind for seed in launch.seeds}


COMMANDS = {
    ("oci:test",): ("/server", "--stdio"),
    ("oci:test", "a", "b"): ("/server", "a", "b"),
    ("docker", "run", "test", "a"): ("/server", "a"),
    ("docker", "run", "--entrypoint", "/other", "test"): ("/other",),
    ("docker", "run", "--entrypoint", "/other", "test", "a"): ("/other", "a"),
    ("docker", "run", "--entrypoint=", "test", "a"): ("a",),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_entrypoint_and_command_are_put_together_as_docker_does(
    setting: Setting, command: tuple[str, ...]
) -> None:
    assert setting.launch(*command).argv == COMMANDS[command]


def test_a_command_runs_in_place_of_the_images_own(setting: Setting) -> None:
    launch = setting.launch("node", "x.js", image="test")
    assert (launch.command, launch.argv) == (("node", "x.js"), ("node", "x.js"))


def test_an_image_without_a_command_asks_for_one(setting: Setting) -> None:
    setting.config = ImageConfig("amd64")
    with pytest.raises(UsageError, match="names no command"):
        setting.launch()


def test_the_images_user_folder_and_digest_are_kept(setting: Setting) -> None:
    setting.config = dataclasses.replace(setting.config, workdir="/srv/app/", version="2.1")
    launch = setting.launch()
    assert launch.image == ImageRoot(str(setting.root), 1234, 5, "/home/app")
    assert launch.cwd == "/srv/app"
    assert placed(launch)["/srv/app"] == "dir"
    assert (launch.digests, launch.versions) == ({"image": "sha256:1"}, {"image": "2.1"})
    assert launch.notes == ("a note",)
    assert launch.exposures == ()


def test_the_workdir_of_the_order_wins_and_one_that_is_there_is_left_alone(setting: Setting) -> None:
    setting.put("/opt/there/")
    launch = setting.launch("docker", "run", "-w", "/opt/there", "test")
    assert launch.cwd == "/opt/there"
    assert "/opt/there" not in placed(launch)
    assert setting.launch().cwd == "/"


def test_variables_are_the_images_then_the_orders_then_those_of_e(setting: Setting) -> None:
    setting.config = dataclasses.replace(
        setting.config,
        env={"A": "image", "B": "image", "C": "image", "PATH": "/x", "SSL_CERT_FILE": "/image.pem"},
    )
    env = setting.launch("docker", "run", "-e", "B=run", "-e", "C=run", "test", C="e").env
    assert (env["A"], env["B"], env["C"], env["PATH"]) == ("image", "run", "e", "/x")
    assert "SSL_CERT_FILE" not in env
    assert setting.launch(SSL_CERT_FILE="/mine.pem").env["SSL_CERT_FILE"] == "/mine.pem"


HOMES = {
    # what the account names, what the image's HOME is, whether a folder is there: the home in the box
    ("/home/app", "", True): "/home/app",
    ("/home/app", "", False): "/home/app",
    ("/home/app", "/srv/x", False): "/srv/x",
    ("", "", False): HOME,
    ("/", "", False): HOME,
    ("/nonexistent", "", False): HOME,
    ("/home/app", "/", False): HOME,
    ("relative", "", False): HOME,
    ("/proc/1", "", False): HOME,
    ("/etc/passwd", "", False): HOME,
}


@pytest.mark.parametrize("case", HOMES)
def test_every_server_has_a_home_that_hides_nothing(setting: Setting, case: tuple[str, str, bool]) -> None:
    named, variable, there = case
    if there:
        setting.put(f"{named}/.bashrc")
    setting.user = dataclasses.replace(APP, home=named)
    setting.config = dataclasses.replace(setting.config, env={"HOME": variable} if variable else {})
    launch = setting.launch()
    assert launch.image is not None
    assert launch.image.home == HOMES[case]
    assert launch.env.get("HOME", launch.image.home) == (variable if HOMES[case] == variable else HOMES[case])
    assert any("no home folder" in note for note in launch.notes) == (HOMES[case] == HOME)
    assert launch.workspace == WorkspacePlace(f"{HOMES[case]}/workspace")


def test_symlinks_of_the_image_are_led_through_not_replaced(setting: Setting) -> None:
    setting.put("/var/home/")
    (setting.root / "home").symlink_to("/var/home")
    (setting.root / "data").symlink_to("var/data")
    setting.config = dataclasses.replace(setting.config, workdir="/home/app/w", volumes=("/data/v",))
    launch = setting.launch()
    assert launch.image is not None
    assert (launch.image.home, launch.cwd) == ("/var/home/app", "/var/home/app/w")
    assert set(placed(launch)) == {"/var/home/app/w", "/var/data/v"}
    (setting.root / "loop").symlink_to("/loop")
    with pytest.raises(ImageError, match="circle"):
        setting.launch("docker", "run", "-v", "x:/loop/y", "test")


def test_a_link_of_the_image_up_to_its_root_has_one_slash_there(setting: Setting) -> None:
    setting.put("/var/")
    (setting.root / "var" / "run").symlink_to("../proc")
    (setting.root / "var" / "app").symlink_to("../srv/app")
    setting.config = dataclasses.replace(setting.config, workdir="/var/app")
    launch = setting.launch("docker", "run", "-v", f"{setting.project}:/var/run/x", "test")
    assert launch.cwd == "/srv/app"
    assert "/var/run/x is not mounted: every box has its own." in launch.notes


@pytest.mark.parametrize("workdir", ["/" + "x" * 256, "/" + "x/" * 3000])
def test_a_folder_of_too_long_a_path_is_refused(setting: Setting, workdir: str) -> None:
    setting.config = dataclasses.replace(setting.config, workdir=workdir)
    with pytest.raises(ImageError, match="so long a path"):
        setting.launch()


def test_a_bind_is_copied_to_its_place_and_is_the_workspace(setting: Setting) -> None:
    launch = setting.launch("docker", "run", "-v", f"{setting.project}:/projects/one", "test", "/projects")
    assert launch.workspace == WorkspacePlace("/projects/one", setting.project)
    assert launch.seeds == ()  # furnishing the workspace places its files
    assert launch.mounts == ()


def test_further_binds_are_copies_and_the_first_that_is_writable_is_worked_in(setting: Setting) -> None:
    for name in ("ro", "rw", ".aws"):
        (setting.base / name).mkdir()
        (setting.base / name / "x").write_text(name)
    words = [
        word
        for name in (".aws", "ro", "rw")
        for word in ("-v", f"{setting.base / name}:/m/{name}" + ":ro" * (name == "ro"))
    ]
    launch = setting.launch("docker", "run", *words, "test")
    assert launch.workspace == WorkspacePlace("/m/rw", setting.base / "rw")
    assert placed(launch) == {"/m/.aws": "dir", "/m/.aws/x": b".aws", "/m/ro": "dir", "/m/ro/x": b"ro"}
    assert any("/m/ro is a copy, which the server may change" in note for note in launch.notes)
    only = setting.launch("docker", "run", *words[:4], "test")
    assert only.workspace == WorkspacePlace("/m/ro", setting.base / "ro")
    hidden = setting.launch("docker", "run", *words[:2], "test")
    assert hidden.workspace == WorkspacePlace("/home/app/workspace")


def test_a_bind_hides_what_the_image_has_there_and_a_volume_does_not(setting: Setting) -> None:
    setting.put("/app/data/old")
    empty = str(setting.base / "cache" / "empty")
    bind = setting.launch("docker", "run", "-v", f"{setting.project}:/app/data", "test")
    assert bind.mounts == ((empty, "/app/data"),)
    tmpfs = setting.launch("docker", "run", "--tmpfs", "/app/data", "test")
    assert tmpfs.mounts == ((empty, "/app/data"),)
    volume = setting.launch("docker", "run", "-v", "name:/app/data", "test")
    assert (volume.mounts, volume.workspace) == ((), WorkspacePlace("/home/app/workspace"))


def test_a_volume_without_content_is_worked_in(setting: Setting) -> None:
    launch = setting.launch("docker", "run", "-v", "mcp-test:/mcp", "test", "--db-path", "/mcp/test.db")
    assert launch.workspace == WorkspacePlace("/mcp")
    assert placed(launch)["/mcp"] == "dir"


def test_a_file_may_be_mounted(setting: Setting) -> None:
    launch = setting.launch("docker", "run", "-v", f"{setting.project}/file.txt:/data/notes.txt", "test")
    assert launch.workspace == WorkspacePlace("/data/notes.txt", setting.project / "file.txt")


def test_a_large_folder_is_shown_at_its_place(setting: Setting) -> None:
    for number in range(600):
        (setting.project / f"{number}.txt").touch()
    (setting.base / "first").mkdir()
    binds = ["-v", f"{setting.base}/first:/first", "-v", f"{setting.project}:/large"]
    launch = setting.launch("docker", "run", *binds, "test")
    assert launch.mounts == ((str(setting.project), "/large"),)
    assert placed(launch) == {"/large": "dir"}


def test_what_is_not_there_or_cannot_be_copied_is_told(setting: Setting) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(setting.base / "docker.sock"))
        launch = setting.launch(
            "docker", "run", "-v", f"{setting.base}/docker.sock:/var/run/docker.sock", "-v", "/nowhere/x:/x",
            "-v", "/tmp:/y", "-v", f"{setting.project}:/proc/z", "test",
        )  # fmt: skip
    assert placed(launch) == {"/x": "dir", "/y": "dir"}
    told = " ".join(launch.notes)
    for words in (
        "docker.sock is left out",
        "/nowhere/x does not exist",
        "/tmp is not copied",
        "/proc/z is not mounted",
    ):
        assert words in told
    with pytest.raises(TargetNotFoundError, match="no such file or folder"):
        setting.launch("docker", "run", "--mount", "type=bind,src=/nowhere/x,dst=/x", "test")


def test_an_argument_that_names_a_folder_of_the_host_is_the_workspace_at_its_path(setting: Setting) -> None:
    path = str(setting.project)
    assert setting.launch("oci:test", path).workspace == WorkspacePlace(path, setting.project)
    assert setting.launch("/server", path, image="test").workspace == WorkspacePlace(path, setting.project)
    # In a container it would name a folder that is not there.
    assert setting.launch("docker", "run", "test", path).workspace == WorkspacePlace("/home/app/workspace")


def test_what_the_image_has_is_meant_before_what_the_host_has(setting: Setting) -> None:
    setting.put(f"{setting.project}/of-the-image")
    assert setting.launch("oci:test", str(setting.project)).workspace == WorkspacePlace("/home/app/workspace")
    setting.put("/projects/")
    assert setting.launch("oci:test", "/projects").workspace == WorkspacePlace("/projects")
    assert setting.launch("docker", "run", "test", "/projects").workspace == WorkspacePlace("/projects")


def test_the_workspace_that_was_asked_for_wins(setting: Setting) -> None:
    (setting.base / "other").mkdir()
    asked = setting.base / "other"
    launch = setting.launch("docker", "run", "-v", f"{setting.project}:/p", "test", workspace=asked)
    assert launch.workspace == WorkspacePlace(str(asked), asked)
    assert placed(launch)["/p/file.txt"] == b"of the host"
    launch = setting.launch("docker", "run", "-v", f"{asked}:/p", "test", workspace=asked)
    assert launch.workspace == WorkspacePlace("/p", asked)
    with pytest.raises(UsageError, match="no such folder"):
        setting.launch(workspace=Path("nowhere"))


def test_exposed_folders_are_shown_and_files_copied(setting: Setting) -> None:
    launch = setting.launch(expose=(setting.project, setting.project / "file.txt"))
    assert launch.mounts == ((str(setting.project), str(setting.project)),)
    assert placed(launch)[f"{setting.project}/file.txt"] == b"of the host"
    with pytest.raises(UsageError, match="never shown"):
        setting.launch(expose=(Path("/"),))


def test_hosts_that_the_user_names_are_the_closed_world(setting: Setting) -> None:
    setting.config = dataclasses.replace(setting.config, env={"URL": "https://images.example/"})
    words = ["-e", "API_URL=https://api.example/v1", "--add-host", "db.example:10.0.0.1"]
    launch = setting.launch("docker", "run", *words, "test", "--host", "cli.example")
    assert launch.hosts == ("api.example", "cli.example", "db.example")


def test_a_workspace_does_not_hide_a_folder_of_its_name(setting: Setting) -> None:
    setting.put("/home/app/workspace/of-the-image")
    assert setting.launch().workspace == WorkspacePlace("/home/app/hintproof-workspace")


def test_a_mount_of_two_lines_is_refused(setting: Setting) -> None:
    with pytest.raises(UsageError, match=r"--mount 'type=bind,src=/a.*no list of words"):
        setting.launch("docker", "run", "--mount", "type=bind,src=/a\n,dst=/b", "test")
