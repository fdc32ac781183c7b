"""Bundles, ``.mcpb`` and formerly ``.dxt``: an archive of a whole server with a manifest of how it is started.

github.com/anthropics/mcpb, MANIFEST.md 0.1 to 0.4. A bundle is unpacked once, into a folder named by its digest
below the user's cache; its manifest asks for the values of ``user_config``.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from sandbox.config.caches import cache_folder
from sandbox.errors import BundleError, ConfigError, TargetNotFoundError, UsageError
from sandbox.model import HOME, Json
from sandbox.targets.documents import Fields, checked, open_regular, read_file, read_json
from sandbox.targets.needs import Filler, with_needs
from sandbox.targets.orders import Given, Need, Order
from sandbox.targets.templates import DOLLAR, fill
from sandbox.targets.unzip import unpack

SUFFIXES = (".mcpb", ".dxt")
MANIFEST = "manifest.json"

MOST_PACKED = 512 << 20
"""Bytes of a bundle, packed."""

_KEPT, _SPARED_S = 20, 3600.0
"""How many unpacked bundles are kept; one used less than an hour ago stays in any case."""

_FORMS = {"number": "number", "boolean": "boolean", "directory": "directory", "file": "file"}
_FOLDERS = {"DESKTOP": "Desktop", "DOCUMENTS": "Documents", "DOWNLOADS": "Downloads"}


def is_manifest(value: Json) -> bool:
    """Whether a file's content is the manifest of a bundle."""
    return (
        isinstance(value, dict)
        and ("manifest_version" in value or "dxt_version" in value)
        and "server" in value
    )


def read_bundle(path: Path, *, environ: Mapping[str, str], given: Given) -> Order:
    """The server of a bundle, unpacked. Its values come from ``given``, from defaults, or are made up.

    Raises:
        BundleError: the archive is damaged or hostile.
        ConfigError: the manifest is wrong.
        TargetNotFoundError: it cannot be read, or holds no manifest.
    """
    folder = _unpacked(path, cache_folder(environ, "bundles"))
    manifest = folder / MANIFEST
    if not manifest.is_file():
        raise TargetNotFoundError(f"{path}: holds no {MANIFEST}, so it is no bundle.")
    return read_manifest(
        read_json(read_file(manifest), f"{path.name}: {MANIFEST}"),
        folder,
        name=path.name,
        words=(str(path),),
        given=given,
    )


def read_manifest(value: Json, folder: Path, *, name: str, words: tuple[str, ...], given: Given) -> Order:
    """The server that a manifest in a folder describes. Raises ConfigError where the manifest is wrong."""
    top = Fields(value, f"{name}: {MANIFEST}")
    server = Fields(top.get("server"), f"{top.where}: server")
    kind = server.text("type")
    config = Fields(server.get("mcp_config") or {}, f"{server.where}.mcp_config")
    order = Order(name, words, str(folder), transport="stdio")
    if kind == "uv" or config.text("command") in {"uv", "uvx"}:
        return dataclasses.replace(order, problem=_needs_packages(folder, name))
    platform = Fields(
        Fields(config.get("platform_overrides") or {}, config.where).get("linux") or {}, config.where
    )
    filler = Filler(given)
    filling = _Filling(top, folder, filler)
    command = platform.text("command") or config.text("command") or _runtime(kind)
    arguments = platform.texts("args") or config.texts("args")
    if not config.value and not arguments:
        arguments = (f"${{__dirname}}/{server.text('entry_point')}",)
    if not command:
        raise ConfigError(f"{server.where}: says no command.")
    filled = [filling.word(command, "command"), *filling.words(arguments)]
    env = {
        key: checked(filling.word(text, f"env.{key}"), f"{config.where}.env.{key[:80]}")
        for key, text in {**config.variables("env"), **platform.variables("env")}.items()
    }
    _make_runnable(folder, filled[0])
    return with_needs(dataclasses.replace(order, command=tuple(filled), env=env, cwd=str(folder)), filler)


class _Filling:
    """Replaces ``${__dirname}``, ``${user_config.KEY}`` and the like; the user's folders are those of the box."""

    def __init__(self, manifest: Fields, folder: Path, filler: Filler) -> None:
        self._where = manifest.where
        self._folder = folder
        self._filler = filler
        self._asked = {
            key: Fields(value, f"{manifest.where}: user_config.{key[:80]}")
            for key, value in manifest.table("user_config").items()
        }

    def word(self, text: str, where: str) -> str:
        """One word, the values of an input that takes several joined by commas."""
        return fill(text, DOLLAR, self._one, f"{self._where}: {where[:80]}")

    def words(self, texts: tuple[str, ...]) -> Iterator[str]:
        """Words; one that is nothing but an input gives as many as that has values."""
        for at, text in enumerate(texts):
            alone = re.fullmatch(r"\$\{user_config\.([^{}$]+)\}", text)
            if alone and alone[1] in self._asked:
                yield from (checked(value, f"{self._where}: args[{at}]") for value in self._values(alone[1]))
            else:
                yield checked(self.word(text, f"args[{at}]"), f"{self._where}: args[{at}]")

    def _one(self, name: str) -> str | None:
        fixed = self._fixed(name)
        if fixed is not None:
            return fixed
        section, _, key = name.partition(".")
        return ",".join(self._values(key)) if section == "user_config" and key in self._asked else None

    def _fixed(self, name: str) -> str | None:
        match name:
            case "__dirname":
                return str(self._folder)
            case "HOME":
                return HOME
            case "/" | "pathSeparator":
                return os.sep
        return f"{HOME}/{_FOLDERS[name]}" if name in _FOLDERS else None

    def _values(self, key: str) -> tuple[str, ...]:
        """An input's values: what was given, its default, or where it is required something made up.

        Folders and files are the user's own only where the user names them: a default such as the desktop is
        a sample folder instead.
        """
        field = self._asked[key]
        kind = field.text("type")
        default = field.get("default")
        defaults = [
            item for item in (default if isinstance(default, list) else [default]) if item is not None
        ]
        need = Need(
            "input",
            key,
            " ".join((field.text("description") or field.text("title")).split()),
            secret=field.true("sensitive"),
            form=_FORMS.get(kind, ""),
        )
        given = self._filler.given(need)
        if given:
            return given
        if defaults and kind not in ("directory", "file"):
            return tuple(self._default(item, key) for item in defaults)
        if defaults or field.true("required"):
            return self._filler.values(need)
        return ()

    def _default(self, item: Json, key: str) -> str:
        text = item if isinstance(item, str) else str(item).lower() if isinstance(item, bool) else str(item)
        return fill(checked(text, f"{self._where}: user_config.{key[:80]}"), DOLLAR, self._fixed, self._where)


def _runtime(kind: str) -> str:
    return {"node": "node", "python": "python3"}.get(kind, "")


def _needs_packages(folder: Path, name: str) -> str:
    return (
        f"{name}: brings no packages with it, uv would install them at its start, and a box reaches no registry. "
        f"Install them first: uv sync --project {folder}, then: hintproof verify {folder}"
    )


def _make_runnable(folder: Path, command: str) -> None:
    """A bundle's own binary can be run, whatever the archive said (it may have been packed elsewhere)."""
    path = Path(command)
    with suppress(OSError):
        if path.is_absolute() and folder.resolve() in path.resolve().parents and path.is_file():
            path.chmod(0o755)


def _unpacked(path: Path, cache: Path) -> Path:
    """The folder in which a bundle is unpacked, from an earlier time where there is one."""
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > MOST_PACKED:
            raise BundleError(f"{path}: larger than {MOST_PACKED >> 20} MB.")
        folder = cache / hashlib.file_digest(file, "sha256").hexdigest()
        if not folder.is_dir():
            _unpack_into(file, folder, str(path))
    with suppress(OSError):
        os.utime(folder)
    return folder


def _unpack_into(file: BinaryIO, folder: Path, where: str) -> None:
    """All or nothing, and side by side with other runs that do the same."""
    try:
        folder.parent.mkdir(0o700, parents=True, exist_ok=True)
        _forget_old(folder.parent)
        new = Path(tempfile.mkdtemp(prefix=".new-", dir=folder.parent))
    except OSError as error:
        raise UsageError(
            f"{folder.parent}: cannot be written ({error.strerror}). Set XDG_CACHE_HOME."
        ) from error
    try:
        new.chmod(0o755)
        unpack(file, new, where)
        with suppress(OSError):  # another run was first
            new.rename(folder)
    except OSError as error:
        raise BundleError(f"{where}: cannot be unpacked below {folder.parent} ({error.strerror}).") from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _forget_old(cache: Path) -> None:
    now = time.time()
    kept = sorted(
        (one for one in cache.iterdir() if not one.is_symlink() and one.is_dir()),
        key=lambda one: one.stat().st_mtime,
        reverse=True,
    )
    for one in kept[_KEPT - 1 :] + [one for one in kept if one.name.startswith(".new-")]:
        with suppress(OSError):
            if now - one.stat().st_mtime > _SPARED_S:
                shutil.rmtree(one, ignore_errors=True)
