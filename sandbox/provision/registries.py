"""Which registries this machine installs from, learnt from the settings of npm, pip and uv; none is named here.

A project's own settings (``.npmrc``, ``pyproject.toml``) do not count: a checkout is a stranger's. What a registry
wants to know of its user (tokens, names in URLs) is not handed to an installation, and that is noted.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

from sandbox.errors import InstallError

_ASK_S = 60.0
_FILE_MOST = 4 << 20

_THIS_MACHINE = "this-machine.internal"
"""What a registry on this machine's loopback is called in a box, which has a loopback of its own."""


@dataclass(frozen=True, slots=True)
class NpmSettings:
    """``registries`` are URLs by the scope that they serve, "" for everything else. ``certificates`` are PEM (None: the
    machine's); ``addresses`` says where a name lies that only a box is told: a registry on this machine itself."""

    registries: Mapping[str, str]
    certificates: bytes | None = None
    notes: tuple[str, ...] = ()
    addresses: Mapping[str, str] = field(default_factory=dict)

    @property
    def npmrc(self) -> str:
        """The settings as a file that npm reads."""
        # A registry of this machine tells of its files by a name that means the box in a box.
        own = "replace-registry-host=always\n" if self.addresses else ""
        return own + "".join(
            f"{scope}:registry={url}\n" if scope else f"registry={url}\n"
            for scope, url in self.registries.items()
        )


@dataclass(frozen=True, slots=True)
class PypiSettings:
    """``default`` is the URL of the index; ``indexes`` are further ones, ``links`` URLs or folders of single files
    (``--find-links``), ``folders`` what of this machine an installation reads for them. ``constraints`` are the contents
    of constraint files. ``merged`` says that the best version of all indexes counts, as pip has it, not the first index that
    has any."""

    default: str
    indexes: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    constraints: tuple[bytes, ...] = ()
    merged: bool = False
    certificates: bytes | None = None
    notes: tuple[str, ...] = ()
    addresses: Mapping[str, str] = field(default_factory=dict)

    @property
    def urls(self) -> tuple[str, ...]:
        """The indexes that are reached over a network."""
        return tuple(url for url in (self.default, *self.indexes) if url.startswith(("http:", "https:")))

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts of everything that is reached over a network."""
        return hosts_of([*self.urls, *self.links])


def hosts_of(urls: Iterable[str]) -> tuple[str, ...]:
    """The hosts of URLs as an installation names them: ``HOST:PORT``, ``http://HOST:PORT`` without TLS; each once.

    What is no such URL is left out.
    """
    hosts = {}
    for url in urls:
        parts = _split(url)
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
            continue
        name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        plain = parts.scheme == "http"
        hosts[f"{'http://' if plain else ''}{name}:{parts.port or (80 if plain else 443)}"] = True
    return tuple(hosts)


# --- npm --------------------------------------------------------------------------------------------


def npm_settings(npm: Sequence[str], environ: Mapping[str, str]) -> NpmSettings:
    """What npm itself says of the registries of this user and machine; ``npm`` is the command that runs it.

    Raises InstallError where it cannot be asked.
    """
    try:
        asked = subprocess.run(
            [*npm, "config", "ls", "-l", "--json"],
            cwd="/",
            env=dict(environ),
            capture_output=True,
            timeout=_ASK_S,
            check=True,
            stdin=subprocess.DEVNULL,
        )
        found = json.loads(asked.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise InstallError(
            f"npm does not tell its settings ({error}). Does `npm config ls -l` work?"
        ) from error
    notes: list[str] = []
    addresses: dict[str, str] = {}
    registries = {"": _named(_clean(str(found.get("registry") or ""), notes), addresses)}
    for key, value in found.items():
        if key.startswith("@") and key.endswith(":registry") and isinstance(value, str):
            registries[key.removesuffix(":registry")] = _named(_clean(value, notes), addresses)
    if any("_auth" in key.lower() or key.startswith("//") for key in found):
        notes.append("npm's credentials for registries are not handed to an installation.")
    if any("\n" in url or not hosts_of([url]) for url in registries.values()):
        raise InstallError(
            f"npm's registry {registries['']!r} is no URL of the web. See `npm config get registry`."
        )
    return NpmSettings(registries, _pem(found.get("cafile")), tuple(dict.fromkeys(notes)), addresses)


# --- pip and uv -------------------------------------------------------------------------------------


def pypi_settings(uv: str, environ: Mapping[str, str]) -> PypiSettings:
    """The indexes that pip or uv of this user and machine would install from.

    uv's own settings go before pip's; where neither names an index it is the one that uv uses by itself.

    Raises InstallError where uv cannot be asked for that.
    """
    of_uv, of_pip = _uv_settings(environ), _pip_settings(environ)
    notes: list[str] = []
    default = next(iter(of_uv.get("default", ()) or of_pip.get("index-url", ())), "") or _default_index(uv)
    indexes = [*of_uv.get("index", ()), *of_pip.get("extra-index-url", ())]
    links = [*of_uv.get("find-links", ()), *of_pip.get("find-links", ())]
    addresses: dict[str, str] = {}
    indexes = [_named(_local_url(_clean(url, notes)), addresses) for url in dict.fromkeys(indexes)]
    links = [_named(_clean(link, notes), addresses) for link in dict.fromkeys(links)]
    default = _named(_local_url(_clean(default, notes)), addresses)
    folders = [folder for url in (default, *indexes) for folder in _index_folder(url)]
    folders += [path for link in links for path in _local(link)]
    constraints = [_contents(path) for path in (*of_uv.get("constraint", ()), *of_pip.get("constraint", ()))]
    certificate = environ.get("SSL_CERT_FILE") or next(iter(of_pip.get("cert", ())), "")
    return PypiSettings(
        default=default,
        indexes=tuple(url for url in indexes if not url.startswith("file:") or _local(url)),
        links=tuple(link for link in links if "://" in link or _local(link)),
        folders=tuple(dict.fromkeys(folders)),
        constraints=tuple(each for each in constraints if each is not None),
        merged=bool(of_pip.get("extra-index-url")) or "unsafe-best-match" in of_uv.get("index-strategy", ()),
        certificates=_pem(certificate),
        notes=tuple(dict.fromkeys(notes)),
        addresses=addresses,
    )


@cache
def _default_index(uv: str) -> str:
    try:
        told = subprocess.run(
            [uv, "help", "--no-pager", "pip", "install"],
            capture_output=True,
            text=True,
            timeout=_ASK_S,
            check=True,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise InstallError(
            f"uv cannot be run ({error}). It comes with hintproof: install that again."
        ) from error
    found = re.search(r"default package index \(by default: <([^>\s]+)>", told.stdout)
    if found is None:
        raise InstallError("uv does not say which index it installs from. Name one: UV_DEFAULT_INDEX=URL.")
    return found[1]


def _uv_settings(environ: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    """uv's settings by what they are for: ``default``, ``index``, ``find-links``, ``constraint``, ``index-strategy``."""
    merged: dict[str, list[str]] = {}

    def add(kind: str, values: Iterable[str]) -> None:
        merged.setdefault(kind, []).extend(value for value in values if value)

    names = {
        "default": ("UV_DEFAULT_INDEX", "UV_INDEX_URL"),
        "index": ("UV_INDEX", "UV_EXTRA_INDEX_URL"),
        "find-links": ("UV_FIND_LINKS",),
        "constraint": ("UV_CONSTRAINT",),
        "index-strategy": ("UV_INDEX_STRATEGY",),
    }
    for kind, variables in names.items():
        for variable in variables:
            words = re.split(r"[\s,]+" if kind == "find-links" else r"\s+", environ.get(variable, ""))
            # An index may be written NAME=URL.
            add(kind, (re.sub(r"^[\w-]+=(?=\w+:|/)", "", word) for word in words))
    for table in _uv_tables(environ):
        indexes = table.get("index")
        for index in indexes if isinstance(indexes, list) else ():
            if isinstance(index, dict) and isinstance(index.get("url"), str) and not index.get("explicit"):
                add("default" if index.get("default") else "index", [index["url"]])
        add("default", _texts(table.get("index-url")))
        add("index", _texts(table.get("extra-index-url")))
        add("find-links", _texts(table.get("find-links")))
        add("index-strategy", _texts(table.get("index-strategy")))
    return merged


def _uv_tables(environ: Mapping[str, str]) -> Iterator[Mapping[str, object]]:
    """uv's settings files, the user's before the machine's; in each the part for ``uv pip`` before the rest."""
    if environ.get("UV_NO_CONFIG"):
        return
    named = environ.get("UV_CONFIG_FILE")
    home = Path(environ.get("XDG_CONFIG_HOME") or Path(environ.get("HOME", os.devnull), ".config"))
    machine = [
        Path(each, "uv", "uv.toml") for each in environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":") if each
    ]
    for path in [Path(named)] if named else [home / "uv" / "uv.toml", *machine, Path("/etc/uv/uv.toml")]:
        try:
            found = tomllib.loads((_contents(str(path)) or b"").decode("utf-8", "replace"))
        except tomllib.TOMLDecodeError:
            continue
        for table in (found.get("pip"), found):
            if isinstance(table, dict):
                yield table


def _pip_settings(environ: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
    """pip's settings by name, each as the words of the strongest place that has it: variables, then files."""
    settings: dict[str, list[str]] = {}
    for path in _pip_files(environ):
        file = configparser.RawConfigParser(strict=False)
        try:
            file.read_string((_contents(str(path)) or b"").decode("utf-8", "replace"))
        except configparser.Error:
            continue
        for section in ("global", "install"):
            if file.has_section(section):
                for name, value in file.items(section):
                    settings[name.replace("_", "-")] = value.split()
    for name in ("index-url", "extra-index-url", "find-links", "constraint", "cert", "no-index"):
        value = environ.get(f"PIP_{name.upper().replace('-', '_')}", "")
        if value:
            settings[name] = value.split()
    return settings


def _pip_files(environ: Mapping[str, str]) -> list[Path]:
    """pip's settings files, the weakest first (pip documentation, "Configuration")."""
    named = environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return []
    home = Path(environ.get("HOME", os.devnull))
    config = Path(environ.get("XDG_CONFIG_HOME") or home / ".config")
    machine = [
        Path(each, "pip", "pip.conf")
        for each in environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":")
        if each
    ]
    return [
        *machine,
        Path("/etc/pip.conf"),
        home / ".pip" / "pip.conf",
        config / "pip" / "pip.conf",
        Path(sys.prefix, "pip.conf"),
        *([Path(named)] if named else []),
    ]


# --- both -------------------------------------------------------------------------------------------


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for what is no number
    except ValueError:
        return None
    return parts


def _clean(url: str, notes: list[str]) -> str:
    """The URL without a name or a password in it, which is noted."""
    parts = _split(url)
    if parts is None or "@" not in parts.netloc:
        return url
    notes.append(f"The credentials for {parts.hostname} are not handed to an installation.")
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _named(url: str, addresses: dict[str, str]) -> str:
    """The URL of a registry on this machine's loopback, by a name that a box can ask for; any other as it is."""
    parts = _split(url)
    host = parts.hostname or "" if parts is not None else ""
    if parts is None or not (host == "localhost" or re.fullmatch(r"127(\.\d+){3}|::1", host)):
        return url
    addresses[_THIS_MACHINE] = "127.0.0.1" if host == "localhost" else host
    return urlunsplit(parts._replace(netloc=f"{_THIS_MACHINE}:{parts.port}" if parts.port else _THIS_MACHINE))


def _local(url: str) -> list[str]:
    """The existing file or folder of this machine that a URL or word means, if it does."""
    parts = _split(url)
    path = unquote(parts.path) if parts is not None and parts.scheme == "file" else url
    return [os.path.realpath(path)] if path.startswith("/") and os.path.exists(path) else []


def _local_url(url: str) -> str:
    return Path(url).as_uri() if url.startswith("/") else url


def _index_folder(url: str) -> list[str]:
    """What an index in a folder of this machine takes: often its files lie beside it."""
    found = _local(url)
    above = [os.path.dirname(path) for path in found]
    return above if above and above[0].count("/") > 1 else found


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _contents(path: str) -> bytes | None:
    """What a settings file holds; None where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read(_FILE_MOST)
    except OSError:
        return None


def _pem(path: object) -> bytes | None:
    found = _contents(path) if isinstance(path, str) and path else None
    return found if found and b"-----BEGIN CERTIFICATE-----" in found else None
