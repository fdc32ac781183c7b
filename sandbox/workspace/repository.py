"""A small git repository, written without running git.

Loose objects, references and a version 2 index, as gitformat-index(5) and gitrepository-layout(5) describe
them. The repository is in the state that most git tools need to be accepted: a change staged, one not staged,
an untracked file, a second branch that can be checked out and merged, a tag, and a remote beside it that can
be fetched from and pushed to without a network.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping

from sandbox.model import SeedEntry

_WHO = "Sample Author <author@example.com>"
_MADE_AT = 1_700_000_000

_README = b"# Sample project\n\nA small project under version control.\n"
_NOTES = b"alpha\nbeta\ngamma\n"
_MAIN_ONE = b'def greet(name):\n    return "Hello, " + name\n'
_MAIN_TWO = b'def greet(name="world"):\n    """Greet someone."""\n    return f"Hello, {name}"\n'
_FEATURE = b"A feature that waits to be merged.\n"
_CHANGES = b"# Changes\n\n- Greet the world.\n"


class _Objects:
    """The object store: adds objects and remembers the files that hold them."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def add(self, kind: str, body: bytes) -> str:
        """Store one object and return its id."""
        whole = f"{kind} {len(body)}\0".encode() + body
        name = hashlib.sha1(whole, usedforsecurity=False).hexdigest()
        # Level 0 (stored) gives the same bytes with every build of zlib.
        self.files[f"objects/{name[:2]}/{name[2:]}"] = zlib.compress(whole, 0)
        return name

    def tree(self, files: Mapping[str, bytes]) -> str:
        """Store the tree of a work tree's files (path to content) and return its id."""
        entries: dict[str, tuple[str, str]] = {}
        below: dict[str, dict[str, bytes]] = {}
        for path, content in files.items():
            head, slash, rest = path.partition("/")
            if slash:
                below.setdefault(head, {})[rest] = content
            else:
                entries[head] = ("100644", self.add("blob", content))
        for name, inner in below.items():
            entries[name] = ("40000", self.tree(inner))
        # git sorts a folder as if its name ended in a slash.
        ordered = sorted(
            entries.items(), key=lambda entry: entry[0] + ("/" if entry[1][0] == "40000" else "")
        )
        return self.add(
            "tree",
            b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(oid) for name, (mode, oid) in ordered),
        )

    def commit(self, files: Mapping[str, bytes], message: str, at: int, parent: str = "") -> str:
        """Store a commit of ``files`` made at ``at`` (seconds since the epoch) and return its id."""
        lines = [f"tree {self.tree(files)}", *([f"parent {parent}"] if parent else [])]
        lines += [f"author {_WHO} {at} +0000", f"committer {_WHO} {at} +0000", "", f"{message}\n"]
        return self.add("commit", "\n".join(lines).encode())


def sample_repository(at: str) -> list[SeedEntry]:
    """The repository as seeds, its work tree at ``at``, its remote at ``{at}.git``. Equal on every machine,
    to the byte.

    The remote lacks the last commit and has a branch that the repository does not know.
    """
    objects = _Objects()
    first = {"README.md": _README, "notes.txt": _NOTES, "src/main.py": _MAIN_ONE}
    second = {**first, "src/main.py": _MAIN_TWO}
    base = objects.commit(first, "Add the project", _MADE_AT)
    main = objects.commit(second, "Greet the world by default", _MADE_AT + 3_600, base)
    feature = objects.commit({**first, "feature.txt": _FEATURE}, "Add a feature", _MADE_AT + 1_800, base)
    tag = objects.add(
        "tag",
        f"object {base}\ntype commit\ntag v0.1.0\ntagger {_WHO} {_MADE_AT} +0000\n\nFirst version\n".encode(),
    )
    git = {
        "HEAD": b"ref: refs/heads/main\n",
        "config": b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
        b'[remote "origin"]\n\turl = ../project.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n'
        b'[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n',
        "description": b"Sample project\n",
        "info/exclude": b"# Patterns that git ignores in this repository only\n",
        "index": _index({**second, "CHANGES.md": _CHANGES}, objects),
        "refs/heads/main": f"{main}\n".encode(),
        "refs/heads/feature": f"{feature}\n".encode(),
        "refs/tags/v0.1.0": f"{tag}\n".encode(),
        "refs/remotes/origin/main": f"{base}\n".encode(),
        "logs/HEAD": _reflog([("", base, 0), (base, main, 3_600)]),
        "logs/refs/heads/main": _reflog([("", base, 0), (base, main, 3_600)]),
        "logs/refs/heads/feature": _reflog([("", feature, 1_800)]),
        **objects.files,
    }
    worktree = {
        **second,
        "CHANGES.md": _CHANGES,
        "notes.txt": _NOTES + b"delta\n",
        "draft.txt": b"A draft that git does not track yet.\n",
    }
    pushed = _Objects()
    pushed.commit(first, "Add the project", _MADE_AT)
    remote = {
        "HEAD": b"ref: refs/heads/main\n",
        "config": b"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n",
        "refs/heads/main": f"{base}\n".encode(),
        "refs/heads/release": f"{base}\n".encode(),
        **pushed.files,
    }
    return [
        *_seeds(at, {**worktree, **{f".git/{name}": content for name, content in git.items()}}, ".git/"),
        *_seeds(f"{at}.git", remote, ""),
    ]


def _seeds(at: str, files: Mapping[str, bytes], git: str) -> list[SeedEntry]:
    """Files as seeds below ``at``, with their folders and those that git looks for in its folder ``git``."""
    folders = {f"{git}refs/tags", f"{git}objects/info", f"{git}objects/pack"}
    for path in [*files, *folders]:
        parts = path.split("/")
        folders |= {"/".join(parts[:end]) for end in range(1, len(parts))}
    # git keeps objects read-only; a server that chmods or replaces one should meet the same.
    return (
        [SeedEntry(at, "dir", 0o755)]
        + [SeedEntry(f"{at}/{path}", "dir", 0o755) for path in sorted(folders)]
        + [
            SeedEntry(f"{at}/{path}", "file", 0o444 if path.startswith(f"{git}objects/") else 0o644, content)
            for path, content in sorted(files.items())
        ]
    )


def _index(files: Mapping[str, bytes], objects: _Objects) -> bytes:
    # The stat fields but the size are zero: git finds them stale, compares contents and agrees.
    body = struct.pack(">4sII", b"DIRC", 2, len(files))
    for name, content in sorted(files.items()):
        oid = bytes.fromhex(objects.add("blob", content))
        path = name.encode()
        entry = struct.pack(">10I20sH", 0, 0, 0, 0, 0, 0, 0o100644, 0, 0, len(content), oid, len(path)) + path
        body += entry + bytes(8 - len(entry) % 8)
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _reflog(moves: list[tuple[str, str, int]]) -> bytes:
    return "".join(
        f"{old or '0' * 40} {new} {_WHO} {_MADE_AT + later} +0000\tcommit{'' if old else ' (initial)'}: sample\n"
        for old, new, later in moves
    ).encode()
