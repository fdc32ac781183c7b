"""Servers in images that hold nothing but them: what they write and whom they reach is told, on every host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from imagefiles import config_of, docker_archive
from imageruns import Ran, hintproof, reply, scratch_archive, scratch_layers, verify

from sandbox.containers.imageconfig import own_architecture

HONEST = {
    "read_shipped readOnlyHint": "consistent",
    "read_shipped openWorldHint": "consistent",
    "write_note readOnlyHint": "contradicted",
    "write_note openWorldHint": "consistent",
    "delete_shipped destructiveHint": "contradicted",
    "delete_shipped readOnlyHint": "consistent",
    "delete_shipped openWorldHint": "consistent",
    "call_home readOnlyHint": "inconclusive: remote-unclassified",
    "call_home openWorldHint": "contradicted: fixed-host",
    "change_settings readOnlyHint": "contradicted",
    "change_settings openWorldHint": "consistent",
    "tell readOnlyHint": "consistent",
    "tell openWorldHint": "consistent",
}

BY_USER = {
    "root": HONEST,
    # /etc is root's: the image's own user is refused there, as it would be in a container.
    "user": {
        **HONEST,
        "change_settings readOnlyHint": "inconclusive: never-accepted",
        "change_settings openWorldHint": "inconclusive: never-accepted",
    },
}


@pytest.mark.parametrize("name", BY_USER)
def test_every_lie_of_a_server_in_an_image_is_found(verified: Callable[[str], Ran], name: str) -> None:
    ran = verified(name)
    assert ran.answer, ran.said
    assert ran.verdicts == BY_USER[name]
    assert ran.code == 1


def test_what_it_writes_deletes_and_reaches_is_reported(verified: Callable[[str], Ran], host: str) -> None:
    ran = verified("root")
    assert "file.created /data/notes.txt" in ran.effects("write_note", "readOnlyHint")
    assert ran.effects("delete_shipped", "destructiveHint") == {"file.deleted /data/shipped.txt"}
    assert ran.effects("change_settings", "readOnlyHint") == {"file.modified /etc/settings.conf"}
    assert "net.connect 93.184.216.34:4321" in ran.effects("call_home", "openWorldHint")
    assert ran.answer["digests"]["image"].startswith("sha256:")
    assert ran.answer["command"] == ["oci:./root.tar"]
    assert ran.answer["host"] == host


def test_entrypoint_environment_user_and_folder_are_honoured(
    server: bytes, host: str, tmp_path: Path
) -> None:
    archive = scratch_archive(
        server, "1234:77", WorkingDir="/data", Env=["GREETING=of the image", "HOME=/data"], Cmd=["--fail"]
    )
    (tmp_path / "image.tar").write_bytes(archive)
    told = reply(host, "tell", "oci:./image.tar", "no-fail", cwd=tmp_path)
    assert told == "1234:77 in /data, home /data, greeting of the image"
    told = reply(
        host, "tell", "oci:./image.tar", "x", cwd=tmp_path, options=("-e", "GREETING"), GREETING="of e"
    )
    assert told == "1234:77 in /data, home /data, greeting [redacted]"
    # The image's own command tells the server to fail, and so it is run without any.
    failed = verify(host, "oci:./image.tar", cwd=tmp_path)
    assert failed.code == 3
    assert "told to fail" in failed.said


def test_a_command_runs_in_an_image_in_place_of_its_entrypoint(
    server: bytes, host: str, tmp_path: Path
) -> None:
    archive = scratch_archive(server, Entrypoint=["/nothing"], Cmd=["--fail"])
    (tmp_path / "image.tar").write_bytes(archive)
    told = reply(host, "tell", "/server", cwd=tmp_path, options=("--image", "./image.tar"))
    assert told == "0:0 in /, home /home/user, greeting none"


def test_a_folder_of_the_host_is_the_workspace_at_its_path(stock: Path, host: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "mine.txt").write_text("of the host")
    ran = verify(
        host, f"oci:{stock}/root.tar", "--", str(project), cwd=tmp_path, options=("--tool", "read_*")
    )
    assert ran.code == 0
    assert ran.verdicts["read_shipped readOnlyHint"] == "consistent"
    assert [path.name for path in project.iterdir()] == ["mine.txt"]


def test_a_finding_is_replayed_in_the_image(verified: Callable[[str], Ran], stock: Path, host: str) -> None:
    (finding,) = (
        finding
        for tool in verified("root").answer["tools"]
        for finding in tool["findings"]
        if (tool["name"], finding["verdict"]) == ("delete_shipped", "contradicted")
    )
    again = hintproof("replay", finding["replay"].split()[-1], "--runs", f"runs-{host}", cwd=stock)
    assert again.code == 1, again.said


OTHER = "arm64" if own_architecture() == "amd64" else "amd64"


def test_what_cannot_be_run_ends_with_the_code_of_its_cause(server: bytes, host: str, tmp_path: Path) -> None:
    layers = scratch_layers(server, (0, 0))
    foreign = docker_archive(layers, config_of(layers, OTHER, Entrypoint=["/server"]))
    images = {
        "foreign": (foreign, 3, f"an image for {OTHER!r}, and this machine runs"),
        "damaged": (foreign[:5000], 3, "image.tar"),
        "ghost": (scratch_archive(server, "ghost"), 3, "no user 'ghost'"),
        "mute": (scratch_archive(server, Entrypoint=[]), 2, "names no command of its own"),
    }
    for archive, code, said in images.values():
        (tmp_path / "image.tar").write_bytes(archive)
        ran = verify(host, "oci:./image.tar", cwd=tmp_path)
        assert (ran.code, said in ran.said) == (code, True), ran.said
    ran = verify(host, "oci:./nowhere.tar", cwd=tmp_path)
    assert (ran.code, "docker save" in ran.said) == (2, True), ran.said
