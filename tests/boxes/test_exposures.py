"""What a box sees of the host."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from waiting import read_all, read_line

from sandbox.boxes import Box, Exposure
from sandbox.boxes.exposures import lay_out
from sandbox.errors import UsageError
from sandbox.linux.mounts import mount_points
from sandbox.model import SeedEntry

Launch = Callable[..., Box]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder of the host, beside one that nobody exposes."""
    for name in ("project", "project/src", "beside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(f"in {name}")
    return tmp_path / "project"


def expose(*paths: Path) -> tuple[Exposure, ...]:
    return tuple(Exposure(str(path)) for path in paths)


def test_an_exposed_folder_is_there_and_its_neighbours_are_not(sh: Launch, project: Path) -> None:
    box = sh(f"cat {project}/file {project}/src/file; ls {project.parent}", exposures=expose(project))

    assert read_all(box) == "in projectin project/srcproject\n"


def test_it_is_a_layer_of_its_own_over_the_folder_of_the_host(sh: Launch, project: Path) -> None:
    box = sh("true", exposures=expose(project))

    (layer,) = (layer for layer in box.layers if layer.prefix == str(project))
    assert Path(f"{layer.lower}/file").samefile(project / "file")


def test_what_the_owner_may_do_there_the_server_may_do_in_the_box(sh: Launch, project: Path) -> None:
    (project / "file").chmod(0o600)
    (project / "src").chmod(0o700)
    box = sh(
        f"cd {project}; cat file src/file; echo more >> file; touch src/new; stat -c %u . file src/file",
        exposures=expose(project),
    )

    assert read_all(box) == "in projectin project/src1000\n1000\n1000\n"
    assert box.stderr_tail() == ""
    assert (project / "file").read_text() == "in project"


def test_below_an_exposure_the_engine_sees_the_owners_that_the_box_sees(sh: Launch, project: Path) -> None:
    box = sh(f"echo more >> {project}/file; echo ready; sleep 60", exposures=expose(project))
    read_line(box)
    (layer,) = (layer for layer in box.layers if layer.prefix == str(project))

    assert os.stat("file", dir_fd=layer.upper).st_uid == os.stat(f"{layer.lower}/file").st_uid


def test_nested_and_repeated_exposures_are_one_layer(project: Path) -> None:
    layout = lay_out(expose(project / "src", project, project, project / "file"))

    assert [path for path in layout.layers if path.startswith(str(project))] == [str(project)]
    assert layout.files == []


def test_what_does_not_exist_is_left_out(sh: Launch, project: Path) -> None:
    box = sh(
        f"ls {project.parent}", exposures=expose(project, project.parent / "missing", Path("/nowhere/at/all"))
    )

    assert read_all(box) == "project\n"


def test_an_exposure_behind_symlinks_is_reached_by_the_name_it_was_given(sh: Launch, project: Path) -> None:
    link = project.parent / "link"
    link.symlink_to("project")
    box = sh(
        f"cat {link}/src/file; readlink {link}; cat {project}/file", exposures=expose(link / "src", project)
    )

    assert read_all(box) == "in project/srcproject\nin project"


def test_a_circle_of_symlinks_is_refused(project: Path) -> None:
    (project / "a").symlink_to("b")
    (project / "b").symlink_to("a")

    with pytest.raises(UsageError, match="circle"):
        lay_out(expose(project / "a" / "x"))


def test_a_single_file_is_copied_in_with_its_mode(sh: Launch, project: Path) -> None:
    tool = project / "tool"
    tool.write_text("#!/bin/sh\necho ran\n")
    tool.chmod(0o755)
    box = sh(f"{tool}; ls {project}", exposures=expose(tool))

    assert read_all(box) == "ran\ntool\n"


def test_seeds_below_an_exposure_are_in_that_exposures_layer(sh: Launch, project: Path) -> None:
    seeds = (
        SeedEntry(f"{project}/src/seeded", "file", content=b"seed"),
        SeedEntry(f"{project}/file", "file", content=b"new"),
    )
    box = sh(
        f"cat {project}/src/seeded {project}/file {project}/src/file", exposures=expose(project), seeds=seeds
    )

    assert read_all(box) == "seednewin project/src"
    assert (project / "file").read_text() == "in project"


def test_names_that_mount_options_would_split_are_no_problem(sh: Launch, tmp_path: Path) -> None:
    odd = tmp_path / "a,b:c d\\e"
    odd.mkdir()
    (odd / "file").write_text("odd")
    box = sh('cat "$ODD/file"', exposures=expose(odd), env={"ODD": str(odd)})

    assert read_all(box) == "odd"


@pytest.mark.parametrize("path", ["/", "/etc", "/proc", "/proc/self", "/sys", "/dev/shm"])
def test_what_the_box_has_of_its_own_cannot_be_exposed(path: str) -> None:
    with pytest.raises(UsageError, match="its own"):
        lay_out((Exposure(path),))


def test_a_folder_with_mounts_below_is_put_together_from_its_parts(
    sh: Launch, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Real mounts need root: that something is mounted there is pretended.
    monkeypatch.setattr(
        "sandbox.boxes.exposures.mount_points", lambda: [str(project / "src"), *mount_points()]
    )
    (project / "link").symlink_to("file")
    layout = lay_out(expose(project))

    assert [path for path in layout.layers if path.startswith(str(project))] == [str(project / "src")]
    assert [path for path, _ in layout.folders] == [str(project)]
    assert layout.links == [(str(project / "link"), "file")]
    assert layout.files == [str(project / "file")]
    box = sh(f"cd {project}; cat link; cat src/file; ls", exposures=expose(project))
    assert read_all(box) == "in projectin project/srcfile\nlink\nsrc\n"


def test_the_system_is_always_there() -> None:
    assert any(path.startswith("/usr") for path in lay_out(()).layers)
