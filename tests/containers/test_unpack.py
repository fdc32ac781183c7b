"""Layers over each other, and layers that were made to reach out of their folder or to fill the machine."""

from __future__ import annotations

import gzip
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import zstandard
from imagefiles import digest, entry, folder, hard_link, layer, pax, signed, symlink

from sandbox.containers.archive import Layer
from sandbox.containers.blobs import Slice
from sandbox.containers.unpack import Owner, Tree, unpack
from sandbox.errors import ImageError


class Place:
    """A folder to unpack to, and beside it what no layer may touch."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "root"
        self.outside = base / "outside"
        self.root.mkdir()
        self.outside.mkdir()
        (self.outside / "secret").write_text("secret")
        self.opened = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)

    def unpack(self, *layers: bytes, digests: Sequence[str] = (), **bounds: int) -> Tree:
        stored = []
        for number, data in enumerate(layers):
            file = self.base / f"layer-{number}"
            file.write_bytes(data)
            told = digests[number] if digests else digest(data)
            stored.append(Layer(Slice(os.open(file, os.O_RDONLY), 0, len(data)), told))
        return unpack(stored, self.opened, **bounds)

    @property
    def files(self) -> dict[str, str]:
        """Everything in the folder: ``/`` for a folder, ``-> target`` for a link, else the content."""
        found = {}
        for at, folders, names in os.walk(self.root):
            for name in (*folders, *names):
                path = Path(at, name)
                text = (
                    f"-> {path.readlink()}"
                    if path.is_symlink()
                    else "/"
                    if path.is_dir()
                    else path.read_text()
                )
                found[str(path.relative_to(self.root))] = text
        return found

    def untouched(self) -> bool:
        inside = [path.name for path in self.outside.iterdir()]
        return inside == ["secret"] and (self.outside / "secret").read_text() == "secret"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    os.close(made.opened)


def test_files_folders_and_links_come_out_as_they_went_in(place: Place) -> None:
    tree = place.unpack(
        layer(
            folder("./", 0o711),
            folder("etc/", 0o750, owner=(0, 42)),
            entry("etc/motd", b"hello", mode=0o4755, owner=(7, 8), mtime=1_234_567_890),
            symlink("etc/greeting", "/etc/motd"),
            hard_link("etc/again", "etc/motd"),
            entry("no/folder/before.txt", b"x"),
        )
    )
    assert place.files == {
        "etc": "/",
        "etc/motd": "hello",
        "etc/again": "hello",
        "etc/greeting": "-> /etc/motd",
        "no": "/",
        "no/folder": "/",
        "no/folder/before.txt": "x",
    }
    motd = (place.root / "etc/motd").stat()
    assert stat.S_IMODE(motd.st_mode) == 0o755
    assert motd.st_mtime == 1_234_567_890
    assert motd.st_nlink == 2
    assert tree.owners[motd.st_ino] == Owner(7, 8)
    assert tree.folders[place.root.stat().st_ino][0] == 0o711
    assert (tree.size, tree.entries) == (6, 6)


LAYERS = {
    "a file is deleted": ([folder("a"), entry("a/x", b"1"), entry("a/y", b"2")], [entry("a/.wh.x")], {"a": "/", "a/y": "2"}),
    "a folder is deleted": ([entry("a/b/x", b"1"), entry("a/c", b"2")], [entry("a/.wh.b")], {"a": "/", "a/c": "2"}),
    "a symlink is deleted, not what it leads to": (
        [entry("a/x", b"1"), symlink("l", "a")],
        [entry(".wh.l")],
        {"a": "/", "a/x": "1"},
    ),
    "an opaque folder hides what was in it": (
        [entry("a/x", b"1"), entry("a/b/y", b"2")],
        [folder("a"), entry("a/.wh..wh..opq"), entry("a/z", b"3")],
        {"a": "/", "a/z": "3"},
    ),
    "an opaque mark may come after what stays": (
        [entry("a/x", b"1"), entry("a/b/y", b"2")],
        [entry("a/b/new", b"3"), entry("a/x", b"4"), entry("a/.wh..wh..opq")],
        {"a": "/", "a/b": "/", "a/b/new": "3", "a/x": "4"},
    ),
    "a deletion is for the layers below alone": (
        [entry("a/old", b"1")],
        [entry("a/new", b"2"), entry(".wh.a")],
        {"a": "/", "a/new": "2"},
    ),
    "a deletion of nothing is nothing": ([entry("x", b"1")], [entry("no/.wh.x"), entry(".wh.y")], {"x": "1"}),
    "marks of AUFS are no files": ([entry("x", b"1")], [folder(".wh..wh.plnk"), entry(".wh..wh.aufs")], {"x": "1"}),
    "a file takes a folder's place": ([entry("a/x", b"1")], [entry("a", b"2")], {"a": "2"}),
    "a folder takes a file's place": ([entry("a", b"1")], [folder("a"), entry("a/x", b"2")], {"a": "/", "a/x": "2"}),
    "a folder takes a symlink's place": (
        [folder("real"), symlink("a", "real")],
        [folder("a"), entry("a/x", b"2")],
        {"real": "/", "a": "/", "a/x": "2"},
    ),
    "a file in a linked folder goes where the link leads": (
        [folder("usr/bin"), symlink("bin", "usr/bin")],
        [entry("bin/x", b"2")],
        {"usr": "/", "usr/bin": "/", "usr/bin/x": "2", "bin": "-> usr/bin"},
    ),
    "a link to a folder that is not there yet": (
        [symlink("var/run", "/run/now")],
        [entry("var/run/pid", b"2")],
        {"var": "/", "var/run": "-> /run/now", "run": "/", "run/now": "/", "run/now/pid": "2"},
    ),
    "a rewritten file leaves its other names alone": (
        [entry("a", b"1"), hard_link("b", "a")],
        [entry("a", b"2")],
        {"a": "2", "b": "1"},
    ),
    "the last of two entries counts": ([entry("a", b"1"), entry("a", b"2")], [], {"a": "2"}),
    "absolute names and dots mean the image's root": (
        [entry("/a", b"1"), entry("./b", b"2"), entry("c//./d", b"3")],
        [],
        {"a": "1", "b": "2", "c": "/", "c/d": "3"},
    ),
    "long names in the way of GNU and of POSIX": (
        [
            entry("././@LongLink", b"n" * 120 + b"\0", b"L") + entry("n" * 100, b"1"),
            pax(path="p" * 200, mtime="5.5") + entry("p", b"2"),
        ],
        [],
        {"n" * 120: "1", "p" * 200: "2"},
    ),
    "headers for all of the archive are skipped": ([entry("g", b"12 path=all\n", b"g"), entry("a", b"1")], [], {"a": "1"}),
}  # fmt: skip


@pytest.mark.parametrize("case", LAYERS)
def test_each_layer_is_applied_over_those_below(place: Place, case: str) -> None:
    lower, upper, expected = LAYERS[case]
    place.unpack(layer(*lower), layer(*upper))
    assert place.files == expected
    assert place.untouched()


HOSTILE = {
    "a name that climbs": ([entry("../outside/x", b"1")], "leads out"),
    "a name that climbs from within": ([entry("a/../../outside/x", b"1")], "leads out"),
    "a hard link out, by climbing": ([hard_link("x", "../outside/secret")], "out of the image"),
    "a hard link out, by an absolute path": ([hard_link("x", "{}/secret")], "which it lacks"),
    "a hard link to a folder": ([folder("a"), hard_link("x", "a")], "to a folder"),
    "a hard link through a symlink out": (
        [symlink("l", "{}"), hard_link("x", "l/secret")],
        "which it lacks",
    ),
    "a deletion of the folder above": ([folder("a"), entry("a/.wh...", b"")], "hides no file"),
    "a deletion of the folder itself": ([folder("a"), entry("a/.wh..", b"")], "hides no file"),
    "a circle of symlinks": ([symlink("a", "b"), symlink("b", "a"), entry("a/x", b"1")], "symbolic links"),
    "a chain of symlinks to nothing": (
        [*(symlink(f"l{n}", f"l{n + 1}") for n in range(50)), entry("l0/x", b"1")],
        "symbolic links|too many symlinks",
    ),
    "a file for a folder": ([entry("a", b"1"), entry("a/b", b"2")], "Not a directory"),
    "a name with a null byte": ([pax(path=b"a\0b") + entry("a", b"1")], "null byte"),
    "a name longer than names can be": ([pax(path="n" * 300) + entry("a", b"1")], "too long a path"),
    "folders deeper than a path can be": ([pax(path="d/" * 300) + entry("d", kind=b"5")], "too long a path"),
    "folders deep through a link": (
        [
            pax(path="d/" * 200) + entry("d", kind=b"5"),
            pax(linkpath="d/" * 200) + symlink("s", "d"),
            pax(path="s/" + "d/" * 200) + entry("d", kind=b"5"),
        ],
        "deep in each other",
    ),
    "more than the bound": ([entry("a", bytes(300_000))], "more than"),
    "a header of a gigabyte": ([entry("x", b"", b"x", size=1 << 30)], "longer than any engine"),
    "a name of a gigabyte": ([entry("x", b"", b"L", size=1 << 30)], "longer than any engine"),
    "a negative size": ([signed(entry("a")[:124] + b"\xff" * 12 + entry("a")[136:])], "size is"),
    "a negative size in the way of POSIX": ([pax(size="-512") + entry("a")], "size is no number"),
    "a size that is no number": ([signed(entry("a")[:124] + b"0o7_7777777\0" + entry("a")[136:])], "no number"),
    "a size beyond all disks": ([pax(size="9" * 18) + entry("a")], "claims to be of"),
    "a file that ends early": ([entry("a", b"12345", size=100_000)], "cut off"),
    "records that are cut off": ([entry("x", b"99 path=a\n", b"x") + entry("a")], "damaged"),
    "records without a length": ([entry("x", b" path=a\n", b"x") + entry("a")], "damaged"),
    "a wrong checksum": ([entry("a").replace(b"a", b"b", 1)], "checksum"),
    "no archive at all": ([b"#!/bin/sh\n" * 100], "no tar archive"),
    "a sparse file": ([entry("a", b"", b"S")], "sparse"),
    "a sparse file in the way of POSIX": ([pax(GNU__sparse__major="1") + entry("a")], "sparse"),
    "an unknown type": ([entry("a", b"", b"Q")], "unknown type"),
    "a symlink to nothing": ([symlink("a", "")], "symlink to nothing"),
}  # fmt: skip


def led_outside(place: Place, made: bytes) -> bytes:
    """An entry whose link target has the folder outside in the place of ``{}``."""
    if b"{}" not in made[157:257]:
        return made
    link = made[157:257].rstrip(b"\0").replace(b"{}", str(place.outside).encode())
    return signed(made[:157] + link.ljust(100, b"\0") + made[257:])


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_layers_are_refused_and_reach_nothing(place: Place, case: str) -> None:
    entries, said = HOSTILE[case]
    made = [led_outside(place, each) for each in entries]
    with pytest.raises(ImageError, match=said):
        place.unpack(layer(*made), most_bytes=1 << 18)
    assert place.untouched()


LED_ASTRAY = {
    "through a symlink to an absolute path": [symlink("l", "{}"), entry("l/x", b"1")],
    "through a symlink that climbs": [symlink("l", "../../../../../../{}"), entry("l/x", b"1")],
    "over a symlink": [symlink("l", "{}/secret"), entry("l", b"1")],
    "a folder over a symlink": [symlink("l", "{}"), folder("l", 0o777)],
    "a folder through a symlink": [symlink("l", "{}"), folder("l/made", 0o777)],
    "a deletion through a symlink": [symlink("l", "{}"), entry("l/.wh.secret")],
    "an opaque mark through a symlink": [symlink("l", "{}"), entry("l/.wh..wh..opq")],
    "a symlink through a symlink": [symlink("l", "{}"), symlink("l/new", "secret")],
    "a link that is replaced on the way": [
        folder("d"),
        entry("d/a", b"1"),
        symlink("d", "{}"),
        entry("d/b", b"2"),
    ],
}


@pytest.mark.parametrize("between_layers", [False, True], ids=["one layer", "two layers"])
@pytest.mark.parametrize("case", LED_ASTRAY)
def test_symlinks_lead_no_further_than_a_chroot(place: Place, case: str, between_layers: bool) -> None:
    entries = [led_outside(place, each) for each in LED_ASTRAY[case]]
    place.unpack(*([layer(each) for each in entries] if between_layers else [layer(*entries)]))
    assert place.untouched()


def test_devices_and_fifos_are_left_out_and_told(place: Place) -> None:
    tree = place.unpack(
        layer(
            entry("dev/null", kind=b"3"),
            entry("srv/disk", kind=b"4"),
            entry("srv/pipe", kind=b"6"),
            hard_link("srv/pipe2", "srv/pipe"),
            entry("srv/file", b"x"),
        )
    )
    assert place.files == {"dev": "/", "srv": "/", "srv/file": "x"}
    assert tree.notes == ["Left out of the image: '/srv/disk', '/srv/pipe' (devices and FIFOs)."]


def test_a_whiteout_device_of_overlayfs_is_no_whiteout(place: Place) -> None:
    place.unpack(
        layer(entry("a", b"1")), layer(pax(SCHILY__xattr__user__overlay__opaque="y") + entry("a", kind=b"3"))
    )
    assert place.files == {}
    place.unpack(layer(pax(SCHILY__xattr__user__overlay__opaque="y") + folder("b")))
    assert os.listxattr(place.root / "b") == []


def test_names_need_not_be_text(place: Place) -> None:
    place.unpack(
        layer(entry(b"caf\xe9\n", b"1"), folder("b"), entry(b"b/\xff", b"2")), layer(entry(b"b/.wh.\xff"))
    )
    assert sorted(os.listdir(os.fsencode(place.root))) == [b"b", b"caf\xe9\n"]
    assert os.listdir(place.root / "b") == []


def test_layers_may_be_compressed_also_in_several_parts(place: Place) -> None:
    plain = layer(entry("a", b"1"), entry("b", b"2"))
    packed = gzip.compress(plain[:700]) + gzip.compress(plain[700:])
    place.unpack(packed, digests=[digest(plain)])
    assert place.files == {"a": "1", "b": "2"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (gzip.compress(layer(entry("a", b"1")))[:-12], "damaged or cut off"),
        (gzip.compress(layer(entry("a", b"1" * 999)))[:30] + b"rubbish", "damaged or cut off"),
        (gzip.compress(bytes(1 << 22)), "more than"),
        (b"\xfd7zXZ\0rubbish", "compressed with xz"),
    ],
    ids=["cut off", "damaged", "a bomb", "xz"],
)
def test_damaged_and_swollen_compression_is_refused(place: Place, data: bytes, said: str) -> None:
    with pytest.raises(ImageError, match=said):
        place.unpack(data, most_bytes=1 << 20)


def test_layers_may_be_compressed_with_zstd(place: Place) -> None:
    plain = layer(entry("a", b"1" * 5000), entry("b", b"2"))
    packed = zstandard.compress(plain[:700]) + zstandard.compress(plain[700:])
    place.unpack(packed, digests=[digest(plain)])
    assert set(place.files) == {"a", "b"}
    with pytest.raises(ImageError, match="damaged"):
        place.unpack(packed[:60] + b"rubbish", digests=[digest(plain)])


def test_without_a_reader_of_zstd_it_says_what_to_install(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("compression.zstd", "zstandard"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImageError, match="install the package zstandard"):
        place.unpack(zstandard.compress(layer(entry("a", b"1"))))


def test_a_layer_has_the_digest_that_the_image_tells(place: Place) -> None:
    data = layer(entry("a", b"1"))
    with pytest.raises(ImageError, match="layer 2 of 2 is damaged"):
        place.unpack(data, data + b"more", digests=[digest(data), digest(data)])


def test_all_layers_together_are_bounded(place: Place) -> None:
    data = layer(*(entry(f"f{number}", b"x") for number in range(6)))
    with pytest.raises(ImageError, match="layer 2 of 2: it brings the image to more than 10 files"):
        place.unpack(data, data, most_entries=10)
    with pytest.raises(ImageError, match="layer 2 of 2: it unpacks to more"):
        place.unpack(data, data, most_bytes=len(data) + 100)
