"""Which commands name an image, and what of them reaches the server."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.errors import TargetNotFoundError, UsageError
from sandbox.targets.dockerrun import ImageOrder, image_order
from sandbox.targets.mounts import Mount


def order(command: str | list[str], **host: str) -> ImageOrder:
    words = command.split() if isinstance(command, str) else command
    found = image_order(words, cwd=Path("/work/here"), environ=host)
    assert found is not None
    return found


@pytest.mark.parametrize("command", ["npx -y server", "python docker.py run image", "dockerd", "./oci:x", ""])
def test_other_commands_name_no_image(command: str) -> None:
    assert image_order(command.split(), cwd=Path("/"), environ={}) is None


def test_an_oci_target_runs_the_images_own_command_with_the_arguments() -> None:
    found = order("oci:ghcr.io/example/files:1.4 --root /data")
    assert (found.image, found.arguments) == ("ghcr.io/example/files:1.4", ("--root", "/data"))
    assert found.entrypoint is None


def test_a_command_in_an_image_replaces_the_entrypoint() -> None:
    found = image_order(["node", "server.js"], image="node:22", cwd=Path("/"), environ={})
    assert found == ImageOrder(("node", "server.js"), "node:22", ("server.js",), ("node",))
    assert image_order([], image="node:22", cwd=Path("/"), environ={}) == ImageOrder(
        ("oci:node:22",), "node:22"
    )


@pytest.mark.parametrize("command", ["oci:other", "docker run other"])
def test_an_image_is_named_once(command: str) -> None:
    with pytest.raises(UsageError, match="names an image as well"):
        image_order(command.split(), image="node:22", cwd=Path("/"), environ={})


REAL_CONFIGURATIONS = {
    "docker run -i --rm -e GITHUB_PERSONAL_ACCESS_TOKEN ghcr.io/github/github-mcp-server": ImageOrder(
        (), "ghcr.io/github/github-mcp-server", env={"GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_1"}
    ),
    "docker run -i --rm --mount type=bind,src=/home/u/Desktop,dst=/projects/Desktop"
    " --mount type=bind,src=/home/u/x.txt,dst=/projects/x.txt,ro mcp/filesystem /projects": ImageOrder(
        (),
        "mcp/filesystem",
        ("/projects",),
        mounts=(
            Mount("/projects/Desktop", "/home/u/Desktop", must_exist=True),
            Mount("/projects/x.txt", "/home/u/x.txt", read_only=True, must_exist=True),
        ),
    ),
    "docker run --rm -i -v mcp-test:/mcp mcp/sqlite --db-path /mcp/test.db": ImageOrder(
        (), "mcp/sqlite", ("--db-path", "/mcp/test.db"), mounts=(Mount("/mcp"),)
    ),
    "docker run -i --init -e DOCKER_CONTAINER=true mcp/puppeteer": ImageOrder(
        (), "mcp/puppeteer", env={"DOCKER_CONTAINER": "true"}
    ),
    "/usr/bin/podman run -i --rm --userns=keep-id -v ./data:/data:ro,Z localhost/files:dev": ImageOrder(
        (),
        "localhost/files:dev",
        mounts=(Mount("/data", "/work/here/data", read_only=True),),
        notes=(
            "Of podman run's options --userns keep-id has no meaning in a box and was not followed.",
        ),
    ),
    "docker container run -it --name=files -u 1000:1000 -w /srv --entrypoint /bin/server"
    " --platform linux/amd64 --pull=always img@sha256:" + 64 * "a" + " serve": ImageOrder(
        (),
        "img@sha256:" + 64 * "a",
        ("serve",),
        ("/bin/server",),
        user="1000:1000",
        workdir="/srv",
        platform="linux/amd64",
        pull="always",
        notes=("Of docker run's options -t has no meaning in a box and was not followed.",),
    ),
    "docker run -i --rm --network host -p 8080:80 --add-host=db.local:10.0.0.1 --cap-add=NET_ADMIN"
    " --security-opt no-new-privileges --read-only --tmpfs /tmp/x:size=1m -l a=b -m 512m --cpus 2 --privileged"
    " server": ImageOrder(
        (),
        "server",
        mounts=(Mount("/tmp/x", scratch=True),),
        hosts=("db.local",),
        notes=(
            "Of docker run's options --network host, -p 8080:80, --cap-add NET_ADMIN,"
            " --security-opt no-new-privileges, --read-only, -m 512m, --cpus 2, --privileged have no meaning in a"
            " box and were not followed.",
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("command", REAL_CONFIGURATIONS)
def test_commands_of_client_configurations_are_read(command: str) -> None:
    expected = REAL_CONFIGURATIONS[command]
    found = order(command, GITHUB_PERSONAL_ACCESS_TOKEN="ghp_1")
    assert found.command == tuple(command.replace("=true", "").split())
    assert not found.host_paths
    for field in ImageOrder.__slots__:
        if field not in ("command", "host_paths"):
            assert getattr(found, field) == getattr(expected, field), field


def test_every_way_to_write_an_option_means_the_same() -> None:
    ways = (
        ["-e", "A=1"],
        ["-eA=1"],
        ["-e=A=1"],
        ["--env", "A=1"],
        ["--env=A=1"],
        ["-ie", "A=1"],
        ["-itdeA=1"],
    )
    assert all(order(["docker", "run", *way, "image"]).env == {"A": "1"} for way in ways)
    assert order("docker run --rm=false -i=false -- image -e X").arguments == ("-e", "X")


def test_no_value_of_a_variable_is_told_with_the_command() -> None:
    found = order("docker run -e A=secret --env=B=secret -ieC=secret -e D image -e E=told")
    assert found.command == tuple("docker run -e A --env=B -ieC -e D image -e E=told".split())
    assert found.env == {"A": "secret", "B": "secret", "C": "secret"}


def test_a_variable_without_a_value_comes_from_the_host_or_stays_unset() -> None:
    found = order("docker run -e SET -e UNSET -e EMPTY= image", SET="here")
    assert found.env == {"SET": "here", "EMPTY": ""}


def test_env_files_come_first_and_are_read_as_docker_reads_them(tmp_path: Path) -> None:
    file = tmp_path / "server.env"
    file.write_text('# a comment\n\nA=from file\n  B="quoted"\nFROM_HOST\nC=1\n')
    found = image_order(
        ["docker", "run", "-e", "C=2", "--env-file", "server.env", "image"],
        cwd=tmp_path,
        environ={"FROM_HOST": "yes"},
    )
    assert found is not None
    assert found.env == {"A": "from file", "B": '"quoted"', "FROM_HOST": "yes", "C": "2"}
    with pytest.raises(TargetNotFoundError, match="--env-file nowhere"):
        order("docker run --env-file nowhere image")


REFUSED = {
    "docker run --evn A=1 image": "Did you mean --env?",
    "docker run --mout type=bind image": "Did you mean --mount?",
    "docker run -x image": "no option -x",
    "docker run --volumes-from other image": "another container",
    "docker run --rootfs /x": "name an image",
    "docker run -i": "no image is named",
    "docker run -i --name": "a value has to follow",
    "docker run IMAGE": "lower case",
    "docker run ./image.tar": "name an archive as oci:./image.tar",
    "docker compose run server": "only docker run",
    "docker": "only docker run",
    "docker --context other run image": "DOCKER_HOST",
    "docker run -v ~/x:/x image": "expands ~",
    "docker run -v ${workspaceFolder}:/x image": "a variable that a client fills in",
    "docker run -v /a:b image": "no absolute path",
    "docker run -v /a:/ image": "the whole of an image",
    "docker run -v a/b:/x image": "neither a volume's name",
    "docker run -v C:\\x:/x:ro:z image": "SOURCE:TARGET",
    "docker run -v /a:/x -v /b:/x/ image": "mounted twice",
    "docker run --mount type=bind,src=/a image": "dst=",
    "docker run --mount type=bind,dst=/a image": "src=",
    "docker run --mount type=image,src=a,dst=/a image": "type image",
    "docker run -w here image": "absolute path",
    "docker run --pull=sometimes image": "always, missing or never",
    "docker run -e =x image": "no variable's name",
    "oci:": "no image is named like that",
    "oci:-x": "no image is named like that",
    "oci:a b": "no image is named like that",
}


@pytest.mark.parametrize("command", REFUSED)
def test_what_cannot_be_meant_is_refused_with_a_reason(command: str) -> None:
    words = ["oci:a b"] if command == "oci:a b" else command.split()
    with pytest.raises(UsageError) as caught:
        order(words)
    assert REFUSED[command] in str(caught.value)


def test_archives_are_named_by_path(tmp_path: Path) -> None:
    (tmp_path / "server.tar").touch()
    for name in ("./server.tar", "server.tar", str(tmp_path / "server.tar")):
        found = image_order([f"oci:{name}"], cwd=tmp_path, environ={})
        assert found is not None
        assert found.image == str(tmp_path / "server.tar")
        assert found.is_archive
    with pytest.raises(TargetNotFoundError, match="docker save"):
        image_order(["oci:./other.tar"], cwd=tmp_path, environ={})
    reference = image_order(["oci:other.tar"], cwd=tmp_path, environ={})
    assert reference is not None
    assert not reference.is_archive
