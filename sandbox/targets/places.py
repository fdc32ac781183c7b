"""What a server's arguments and variables name: the paths that it works on and the hosts that it may talk to."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from sandbox.errors import UsageError
from sandbox.targets.boundaries import absolute, in_system, made_by_the_box, refuse_wide, too_wide, trace
from sandbox.targets.launch import WorkspacePlace

_DATA_SUFFIXES = frozenset(
    ".db .db3 .sqlite .sqlite3 .duckdb .json .jsonl .ndjson .yaml .yml .toml .csv .tsv .txt .md .log .ini .xml "
    ".parquet .xlsx".split()
)

_PATH_FLAG = re.compile(r"(path|file|db|database|dir|directory|folder|root|store|storage)s?$", re.IGNORECASE)
_HOST_FLAG = re.compile(r"(host|hostname|url|uri|endpoint|server|address|broker|dsn)s?$", re.IGNORECASE)

_HOST_NAME = re.compile(r"^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?\.)*[a-z][a-z0-9-]{0,62}$")

_LOOPBACK_NAMES = frozenset({"localhost", "localhost.localdomain", "ip6-localhost"})


@dataclass(frozen=True, slots=True)
class NamedPath:
    """A path that an argument names. ``missing`` says that it is a file which the server would create."""

    path: Path
    word: str
    missing: bool = False

    @property
    def relative(self) -> bool:
        """Whether it means something else in another folder."""
        return not self.word.startswith("/")


def named_paths(arguments: Sequence[str], variables: Mapping[str, str], cwd: Path) -> tuple[NamedPath, ...]:
    """The paths among the arguments, then among the ``-e`` variables, in order, each once.

    A word counts when it exists on the host (relative to ``cwd``, also in ``--flag=path`` and
    ``sqlite:///path``), or when its folder exists and it looks like a data file or follows a flag that asks
    for a path.
    """
    found: dict[Path, NamedPath] = {}
    for flag, word in (*_values(arguments), *variables.items()):
        named = _named_path(flag, word, cwd)
        if named is not None:
            found.setdefault(named.path, named)
    return tuple(found.values())


def named_hosts(arguments: Sequence[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """The hosts, lower case, that the arguments and ``-e`` variables name: in URLs, or after a flag that asks
    for one.

    Loopback is nobody's world and is left out.
    """
    hosts = {
        host for flag, word in (*_values(arguments), *variables.items()) for host in _hosts_in(flag, word)
    }
    return tuple(sorted(host for host in hosts if not _is_loopback(host)))


def choose_workspace(
    named: Sequence[NamedPath], asked: Path | None, cwd: Path, environ: Mapping[str, str]
) -> tuple[WorkspacePlace | None, list[Path], list[str]]:
    """The workspace at its real path, the other paths to copy into the box, and notes for the report.

    ``asked`` (--workspace) wins; then the first folder named, the first file, the folder of the first file
    that is still to be made. Raises UsageError for an ``asked`` folder that is missing or too wide.
    """
    if asked is not None:
        source = absolute(asked, cwd)
        if not source.is_dir():
            raise UsageError(f"--workspace {asked}: there is no such folder.")
        refuse_wide(source.resolve(), environ, "--workspace")
        return _place(source, source), _further(named, source, environ), []
    ranked = sorted(named, key=lambda one: (one.missing, not one.path.is_dir()))
    if not ranked:
        return None, [], []
    first = ranked[0]
    further = _further(named, first.path, environ)
    if first.missing:
        return _place(first.path.parent, None), further, []
    if too_wide(first.path.resolve(), environ):
        note = f"{first.path} is not copied: a folder that wide stays outside, the server finds sample files there."
        return _place(first.path, None), further, [note]
    return _place(first.path, first.path), further, []


def _place(at: Path, source: Path | None) -> WorkspacePlace:
    return WorkspacePlace(str(trace(at)[0]), source)


def _further(named: Sequence[NamedPath], taken: Path, environ: Mapping[str, str]) -> list[Path]:
    """The other existing paths, without those below the workspace and those that are never shown whole."""
    return [
        one.path
        for one in named
        if not one.missing
        and taken not in (one.path, *one.path.parents)
        and not too_wide(one.path.resolve(), environ)
    ]


def _values(arguments: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(flag, value) of each word that is a value; the flag is "" for a word that follows none."""
    flag = ""
    for word in arguments:
        if word.startswith("-"):
            flag, equals, value = word.lstrip("-").partition("=")
            if equals:
                yield flag, value
                flag = ""
            continue
        yield flag, word
        flag = ""


def _named_path(flag: str, word: str, cwd: Path) -> NamedPath | None:
    text = re.sub(r"^(sqlite\d?(\+\w+)?:///|file://(?=/))", "", word)
    if not text or "\0" in text or "://" in text or len(text) > 4096:
        return None
    path = absolute(text, cwd)
    if in_system(path) or made_by_the_box(path):
        return None
    if os.path.isfile(path) or os.path.isdir(path):  # pathlib's raise where a folder may not be entered
        return NamedPath(path, text)
    looks = path.suffix.lower() in _DATA_SUFFIXES or (
        _PATH_FLAG.search(flag) is not None and not text.isdigit()
    )
    if looks and not os.path.lexists(path) and os.path.isdir(path.parent):
        return NamedPath(path, text, missing=True)
    return None


def _hosts_in(flag: str, word: str) -> Iterator[str]:
    if "://" in word:
        try:
            host = urlsplit(word).hostname
        except ValueError:  # such as an unclosed [ of an IPv6 address: no host that anyone could reach
            return
        if host:
            yield host
    elif _HOST_FLAG.search(flag) or re.fullmatch(r"[^/\s:]+\.[^/\s:]+:\d{1,5}", word):
        host = re.sub(r":\d{1,5}$", "", word).lower()
        if _HOST_NAME.match(host) or _is_address(host):
            yield host


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    return host in _LOOPBACK_NAMES or (_is_address(host) and ipaddress.ip_address(host).is_loopback)
