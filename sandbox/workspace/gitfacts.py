"""Facts about git repositories, read from their files; git is never run, for a repository can make it run code."""

from __future__ import annotations

import hashlib
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase

from sandbox.workspace.surroundings import Repo
from sandbox.workspace.view import View

_MAX_FILE = 4 * 1024 * 1024
_MAX_ENTRIES = 2_000
_MAX_NAMES = 50


def read_repositories(view: View) -> tuple[Repo, ...]:
    """Every repository with a work tree in the view, outer ones first."""
    roots = sorted(path.removesuffix("/.git/HEAD") for path in view.files if path.endswith("/.git/HEAD"))
    return tuple(
        _read(view, root, [other for other in roots if other.startswith(root + "/")]) for root in roots
    )


def _read(view: View, root: str, nested: list[str]) -> Repo:
    git = f"{root}/.git"
    refs = _refs(view, git)
    pointer = _text(view, f"{git}/HEAD")
    head = pointer.removeprefix("ref: refs/heads/") if pointer.startswith("ref: refs/heads/") else ""
    tip = refs.get(f"refs/heads/{head}", "") if head else pointer
    index = _index(view.read(f"{git}/index", _MAX_FILE))
    worktree = {
        path.removeprefix(root + "/"): size
        for path, size in view.files.items()
        if path.startswith(root + "/")
        and not path.startswith(git + "/")
        and not any(path.startswith(other + "/") for other in nested)
    }
    ignored = _ignored(view, root)
    branches = sorted(name.removeprefix("refs/heads/") for name in refs if name.startswith("refs/heads/"))
    tips = [oid for name, oid in sorted(refs.items()) if name.startswith("refs/heads/") and oid != tip]
    committed = dict(_tree(view, git, _tree_of(view, git, tip), "")) if tip else {}
    return Repo(
        path=root,
        branches=tuple(branches[:_MAX_NAMES]),
        head=head,
        untracked=tuple(
            name for name in sorted(worktree) if index and name not in index and not _matches(name, ignored)
        )[:_MAX_NAMES],
        staged=tuple(name for name, oid in index.items() if committed and committed.get(name) != oid)[
            :_MAX_NAMES
        ],
        modified=tuple(
            name
            for name, oid in index.items()
            if worktree.get(name, _MAX_FILE) < _MAX_FILE and _blob(view, f"{root}/{name}") != oid
        )[:_MAX_NAMES],
        tracked=tuple(name for name in index if name in worktree)[:_MAX_NAMES],
        tags=tuple(sorted(name.removeprefix("refs/tags/") for name in refs if name.startswith("refs/tags/")))[
            :_MAX_NAMES
        ],
        remotes=_remotes(view, git),
        commits=tuple(dict.fromkeys(oid for oid in [tip, *tips] if oid))[:_MAX_NAMES],
    )


def _text(view: View, path: str) -> str:
    return view.read(path, 4_096).decode(errors="replace").strip()


def _refs(view: View, git: str) -> Mapping[str, str]:
    refs: dict[str, str] = {}
    for line in (
        view.read(f"{git}/packed-refs", _MAX_FILE).decode(errors="replace").splitlines()[:_MAX_ENTRIES]
    ):
        oid, _, name = line.partition(" ")
        if name.startswith("refs/") and len(oid) == 40:
            refs[name] = oid
    loose = [path for path in view.files if path.startswith((f"{git}/refs/heads/", f"{git}/refs/tags/"))]
    refs |= {path.removeprefix(git + "/"): _text(view, path) for path in loose[:_MAX_ENTRIES]}
    return {name: oid for name, oid in refs.items() if len(oid) == 40}


def _remotes(view: View, git: str) -> tuple[str, ...]:
    config = view.read(f"{git}/config", 65_536).decode(errors="replace")
    return tuple(re.findall(r'^\s*\[remote "([^"\n]{1,100})"\]', config, re.MULTILINE)[:_MAX_NAMES])


def _index(content: bytes) -> Mapping[str, str]:
    """Path to blob id, of an index of version 2 or 3 (gitformat-index(5)); empty for the compressed version 4."""
    if len(content) < 32 or content[:4] != b"DIRC":
        return {}
    version, count = struct.unpack(">II", content[4:12])
    if version not in {2, 3}:
        return {}
    found: dict[str, str] = {}
    at = 12
    for _ in range(min(count, _MAX_ENTRIES)):
        if at + 62 > len(content):
            break
        (flags,) = struct.unpack(">H", content[at + 60 : at + 62])
        start = at + (64 if flags & 0x4000 else 62)
        end = content.find(b"\0", start)
        if end < 0:
            break
        # A gitlink or a symlink holds no file's content.
        if struct.unpack(">I", content[at + 24 : at + 28])[0] & 0o170000 == 0o100000:
            found[content[start:end].decode(errors="replace")] = content[at + 40 : at + 60].hex()
        at += (end - at + 8) // 8 * 8
    return found


def _object(view: View, git: str, oid: str) -> bytes:
    raw = view.read(f"{git}/objects/{oid[:2]}/{oid[2:]}", _MAX_FILE)
    try:
        return zlib.decompressobj().decompress(raw, _MAX_FILE)
    except zlib.error:
        return b""


def _tree_of(view: View, git: str, commit: str) -> str:
    header, _, body = _object(view, git, commit).partition(b"\0")
    return (
        body[5:45].decode(errors="replace")
        if header.startswith(b"commit") and body.startswith(b"tree ")
        else ""
    )


def _tree(view: View, git: str, oid: str, prefix: str) -> Iterator[tuple[str, str]]:
    header, _, body = _object(view, git, oid).partition(b"\0")
    if not header.startswith(b"tree") or prefix.count("/") > 16:
        return
    while body:
        entry, _, rest = body.partition(b"\0")
        mode, _, name = entry.partition(b" ")
        inner = rest[:20].hex()
        path = prefix + name.decode(errors="replace")
        if mode == b"40000":
            yield from _tree(view, git, inner, path + "/")
        else:
            yield path, inner
        body = rest[20:]


def _blob(view: View, path: str) -> str:
    content = view.read(path, _MAX_FILE)
    return hashlib.sha1(f"blob {len(content)}\0".encode() + content, usedforsecurity=False).hexdigest()


def _ignored(view: View, root: str) -> tuple[str, ...]:
    lines = view.read(f"{root}/.gitignore", 65_536).decode(errors="replace").splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith(("#", "!")))[:200]


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    # Leans towards "ignored": an untracked file too few costs less than a refused call.
    parts = name.split("/")
    for pattern in patterns:
        core = pattern.strip("/")
        if (
            any(fnmatchcase(part, core) for part in parts)
            or fnmatchcase(name, core)
            or name.startswith(core + "/")
        ):
            return True
    return False
