"""Packing seeds and planting them into upper layers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox.linux import seeds
from sandbox.linux.seeds import Place, Planter
from sandbox.model import SeedEntry

ENTRIES = (
    SeedEntry("/srv/a", "dir", 0o700),
    SeedEntry("/srv/a/empty", "file"),
    SeedEntry("/srv/a/bytes", "file", 0o600, bytes(range(256)), mtime=1.5),
    SeedEntry("/srv/ä\udcff", "symlink", target="a/bytes"),
)

OWNER = (os.geteuid(), os.getegid())


def test_packing_loses_nothing() -> None:
    _, packed = seeds.pack(ENTRIES)

    assert seeds.unpack(packed) == ENTRIES


def test_the_name_of_a_set_is_of_all_that_it_holds() -> None:
    names = {
        seeds.pack(entries)[0]
        for entries in (
            ENTRIES,
            ENTRIES[:2],
            (SeedEntry("/a", "file", content=b"1"),),
            (SeedEntry("/a", "file", content=b"2"),),
        )
    }

    assert len(names) == 4
    assert seeds.pack(ENTRIES)[0] in names


@pytest.fixture
def places(tmp_path: Path) -> list[Place]:
    """A root and a deeper layer, each over a folder of its own."""
    found = []
    for prefix, name in (("/", "root"), ("/srv/deep", "deep")):
        for kind in ("upper", "lower"):
            (tmp_path / name / kind).mkdir(parents=True)
        found.append(Place(prefix, str(tmp_path / name / "upper"), str(tmp_path / name / "lower")))
    return found


def test_a_folder_goes_to_the_deepest_layer_with_the_mode_of_the_one_below(places: list[Place]) -> None:
    (Path(places[1].lower) / "kept").mkdir(mode=0o711)
    planter = Planter(places, OWNER)
    planter.mount_point("/srv/deep/kept/new")

    upper = Path(places[1].upper)
    assert (upper / "kept").stat().st_mode & 0o777 == 0o711
    assert (upper / "kept/new").stat().st_mode & 0o777 == 0o755
    assert list(Path(places[0].upper).iterdir()) == []


def test_a_prefix_is_a_path_and_not_a_text(places: list[Place]) -> None:
    Planter(places, OWNER).mount_point("/srv/deeper")

    assert (Path(places[0].upper) / "srv/deeper").is_dir()


def test_a_copy_keeps_content_mode_and_time(places: list[Place], tmp_path: Path) -> None:
    source = tmp_path / "tool"
    source.write_bytes(b"x" * 100_000)
    source.chmod(0o751)
    os.utime(source, (1, 2))
    target = Path(places[0].upper) / "opt/tool"
    descriptor = os.open(source, os.O_RDONLY)
    try:
        Planter(places, OWNER).copy("/opt/tool", descriptor)
    finally:
        os.close(descriptor)

    assert target.read_bytes() == source.read_bytes()
    assert (target.stat().st_mode & 0o777, target.stat().st_mtime) == (0o751, 2)
