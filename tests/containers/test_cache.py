"""Unpacked images are whole or not there, are made once, and do not pile up."""

from __future__ import annotations

import os
import shutil
import stat
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

import pytest
from imagefiles import config_of, docker_archive, entry, folder, layer

from sandbox.config.caches import cache_folder
from sandbox.containers import cache as cache_module
from sandbox.containers.archive import Archive, StoredImage
from sandbox.containers.cache import ImageCache, UnpackedImage, Wanted
from sandbox.errors import ImageError

LAYERS = [
    layer(
        entry("etc/passwd", b"app:x:1234:5:a user:/srv/home:/bin/sh\n"),
        folder("locked", 0o500),
        entry("locked/file", b"nobody's"),
        folder("srv", 0o755),
        entry("srv/file", b"content", mode=0o400, owner=(1234, 5)),
        folder("srv/home", 0o700, owner=(1234, 5)),
    )
]
OWNER = 54_321


class Stock:
    """A cache and the images that can be had."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.asked: list[str] = []
        self.said: list[str] = []
        self.cache = ImageCache(base / "cache", OWNER)

    def source(self, archive: bytes) -> Callable[[], AbstractContextManager[StoredImage]]:
        @contextmanager
        def opened() -> Iterator[StoredImage]:
            file = self.base / "image.tar"
            file.write_bytes(archive)
            with Archive.open(file, self.base) as found:
                image = found.image()
                self.asked.append(image.digest)
                yield image

        return opened

    def provide(self, archive: bytes, user: str = "", digest: str = "sha256:1") -> UnpackedImage:
        with self.cache.image(Wanted(digest, user), self.source(archive), say=self.said.append) as found:
            return found

    @property
    def kept(self) -> list[str]:
        return sorted(path.name for path in self.cache.folder.iterdir() if not path.name.endswith(".lock"))


@pytest.fixture
def stock(tmp_path: Path) -> Stock:
    return Stock(tmp_path)


ARCHIVE = docker_archive(LAYERS, config_of(LAYERS, User="app", Entrypoint=["/server"]))


def test_an_image_is_unpacked_once_for_each_user(stock: Stock) -> None:
    first, second = stock.provide(ARCHIVE), stock.provide(ARCHIVE)
    assert first == second
    assert len(stock.asked) == 1
    assert (first.user.user, first.user.group, first.user.home) == (1234, 5, "/srv/home")
    assert first.config.entrypoint == ("/server",)
    other = stock.provide(ARCHIVE, user="77")
    assert (other.user.user, other.user.group) == (77, 0)
    assert other.root != first.root
    assert len(stock.asked) == 2


def test_files_are_given_to_the_server_with_what_its_user_may(stock: Stock) -> None:
    root = Path(stock.provide(ARCHIVE).root)
    modes = {path: stat.S_IMODE((root / path).stat().st_mode) for path in ("srv", "srv/file", "srv/home")}
    assert modes == {"srv": 0o555, "srv/file": 0o400, "srv/home": 0o700}
    assert stat.S_IMODE((root / "locked").stat().st_mode) == 0o000
    owners = {path.stat().st_uid for path in (root, root / "etc/passwd", root / "srv")}
    assert owners == {OWNER if os.geteuid() == 0 else os.geteuid()}


def test_what_goes_wrong_leaves_nothing(stock: Stock) -> None:
    damaged = docker_archive([layer(folder("a", 0o000), entry("b", b"1")), b"rubbish" * 100])
    with pytest.raises(ImageError, match=r"image.tar: layer 2 of 2: it is no tar archive.*\.$"):
        stock.provide(damaged)
    with pytest.raises(ImageError, match="no user 'ghost'"):
        stock.provide(ARCHIVE, user="ghost")
    assert stock.kept == []
    assert stock.provide(ARCHIVE).config.user == "app"


def test_an_interrupt_leaves_nothing(stock: Stock, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(cache_module, "settle", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stock.provide(ARCHIVE)
    assert stock.kept == []


def test_what_a_killed_run_left_is_not_taken_for_whole_and_goes(stock: Stock) -> None:
    key = Path(stock.provide(ARCHIVE).root).parent.name
    (stock.cache.folder / key).rename(stock.cache.folder / f"{key}.unfinished")
    (stock.cache.folder / "0123.unfinished" / "root").mkdir(parents=True)
    (stock.cache.folder / "0123.unfinished" / "root").chmod(0)
    assert stock.provide(ARCHIVE).user.user == 1234
    assert len(stock.asked) == 2
    assert stock.kept == [key]


def test_an_image_whose_removal_was_cut_off_is_not_taken_for_whole(
    stock: Stock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(place: Path) -> None:
        shutil.rmtree(place / "root")
        raise KeyboardInterrupt

    key = Path(stock.provide(ARCHIVE).root).parent.name
    with monkeypatch.context() as patch:
        patch.setattr("sandbox.linux.kept.remove", cut_off)
        with pytest.raises(KeyboardInterrupt):
            stock.cache.clear()
    assert stock.cache.images() == ()
    assert Path(stock.provide(ARCHIVE).root).is_dir()
    assert stock.kept == [key]


def test_a_folder_without_its_last_file_is_made_anew(stock: Stock) -> None:
    root = Path(stock.provide(ARCHIVE).root)
    (root.parent / "image.json").write_text("{}")
    assert stock.provide(ARCHIVE).root == str(root)
    assert len(stock.asked) == 2


def test_two_runs_at_once_unpack_once(stock: Stock) -> None:
    found: list[UnpackedImage] = []
    both = threading.Barrier(2)

    def run() -> None:
        both.wait()
        found.append(stock.provide(ARCHIVE))

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 2
    assert found[0] == found[1]
    assert len(stock.asked) == 1


def test_an_image_in_use_does_not_keep_others_waiting(stock: Stock) -> None:
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(stock.cache.image(Wanted("sha256:1"), stock.source(ARCHIVE)))
    assert len(stock.asked) == 1


def test_the_oldest_go_but_not_those_in_use(stock: Stock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "KEPT_IMAGES", 2)
    with ExitStack() as stack:
        used = stack.enter_context(stock.cache.image(Wanted("sha256:used"), stock.source(ARCHIVE)))
        names = [Path(used.root).parent.name]
        for number in range(3):
            made = stock.provide(ARCHIVE, digest=f"sha256:{number}")
            names.append(Path(made.root).parent.name)
            past = time.time() - 1000 + number
            os.utime(Path(made.root).parent / "image.json", (past, past))
        os.utime(Path(used.root).parent / "image.json", (1, 1))
        newest = stock.provide(ARCHIVE, digest="sha256:new")
        assert stock.kept == sorted([names[0], names[3], Path(newest.root).parent.name])
    monkeypatch.setattr(cache_module, "KEPT_BYTES", 1)
    stock.provide(ARCHIVE, digest="sha256:newer")
    assert len(stock.kept) == 1


def test_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    del monkeypatch
    assert cache_folder({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "images") == Path("/x/hintproof/images")
    assert cache_folder({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "images") == Path(
        "/h/.cache/hintproof/images"
    )
    ImageCache(tmp_path / "a" / "b", OWNER)
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
    (tmp_path / "file").touch()
    with pytest.raises(ImageError, match="XDG_CACHE_HOME"):
        ImageCache(tmp_path / "file" / "b", OWNER)
