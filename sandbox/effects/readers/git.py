"""Git repositories: refs and the index by meaning. Objects alone, stat refreshes and reflogs mean nothing."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.effects.readers.gitindex import Index, parse_index
from sandbox.effects.readers.gitobjects import Fetch, Objects
from sandbox.effects.readers.reading import Meaning, Reading, UnreadableError, bounded
from sandbox.model import EffectKind, Json

_SHA = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True)
class Refs:
    """Where everything points: full ref name -> commit id; ``head`` is a ref's name or an id."""

    refs: dict[str, str]
    head: str
    stashes: frozenset[str]

    @property
    def head_commit(self) -> str:
        """The commit that HEAD stands for, "" before the first one."""
        return self.head if _SHA.fullmatch(self.head) else self.refs.get(self.head, "")

    def tips(self) -> set[str]:
        """Every commit that something names."""
        return {sha for sha in (*self.refs.values(), *self.stashes, self.head_commit) if sha}


def read_git(
    before: Mapping[str, bytes],
    after: Mapping[str, bytes],
    fetch: Fetch,
    packs: Sequence[str],
    blobs: Sequence[str],
) -> Reading:
    """Compare two states of a git folder.

    ``before`` and ``after`` hold HEAD, packed-refs, index, logs/refs/stash and every file under refs/, by
    path in the git folder; ``fetch`` gives objects as they are now, ``packs`` names the pack indexes.
    ``blobs`` are blob ids that the reading says are kept or not.

    Raises:
        UnreadableError: the index or an object that decides is damaged.
    """
    objects = Objects(fetch, packs)
    old, new = parse_refs(before), parse_refs(after)
    old_index, new_index = parse_index(before.get("index", b"")), parse_index(after.get("index", b""))
    try:
        meanings = _ref_changes(old, new, objects)
        if old_index != new_index:
            meanings.append(_index_change(old, new, old_index, new_index, objects))
        staged = {sha for _, sha in old_index.values()}
        kept = frozenset(sha for sha in blobs if sha in staged or objects.has(sha))
    except (zlib.error, struct.error, IndexError, ValueError) as error:
        raise UnreadableError("git: an object is damaged") from error
    return bounded("git", meanings, kept_blobs=kept)


def parse_refs(files: Mapping[str, bytes]) -> Refs:
    """Refs from loose files and packed-refs; a loose one wins (gitrepository-layout(5))."""
    refs: dict[str, str] = {}
    for line in files.get("packed-refs", b"").decode("utf-8", "surrogateescape").splitlines():
        sha, _, name = line.partition(" ")
        if _SHA.fullmatch(sha) and name:
            refs[name] = sha
    for path, content in files.items():
        if path.startswith("refs/"):
            value = content.decode("latin-1").strip()
            if _SHA.fullmatch(value):
                refs[path] = value
    head = files.get("HEAD", b"").decode("utf-8", "surrogateescape").strip()
    stashes = frozenset(
        words[1]
        for line in files.get("logs/refs/stash", b"").decode("latin-1").splitlines()
        if len(words := line.split(" ", 2)) > 1 and _SHA.fullmatch(words[1])
    )
    return Refs(refs, head.removeprefix("ref: "), stashes)


def _ref_changes(old: Refs, new: Refs, objects: Objects) -> list[Meaning]:
    tips = new.tips()
    meanings = []
    for name in sorted(old.refs.keys() | new.refs.keys()):
        was, now = old.refs.get(name), new.refs.get(name)
        if was == now:
            continue
        if was is None:
            says = f"created the ref {name}"
            meanings.append(Meaning(EffectKind.REF_CREATED, name, says, pattern=says, detail={"after": now}))
        elif now is None:
            says = f"deleted the ref {name}"
            meanings.append(
                Meaning(EffectKind.REF_DELETED, name, says, True, pattern=says, detail={"before": was})
            )
        else:
            meanings.append(_moved(name, was, now, tips, objects))
    for sha in sorted(old.stashes - new.stashes - {old.refs.get("refs/stash")}):
        says = "dropped a stash"
        where = "refs/stash"
        meanings.append(
            Meaning(EffectKind.REF_DELETED, where, says, True, pattern=says, detail={"before": sha})
        )
    if old.head != new.head and old.head:
        meanings.append(_head_moved(old, new, tips, objects))
    return meanings


def _moved(name: str, was: str, now: str, tips: set[str], objects: Objects) -> Meaning:
    reached = objects.reaches([now], was)
    kept = reached or objects.reaches(tips, was)
    how = "forward" if reached else "to other history"
    says = f"moved the ref {name} {how}" + (
        ", its old commits are in no ref any more" if kept is False else ""
    )
    detail: dict[str, Json] = {"before": was, "after": now, "forward": reached}
    return Meaning(
        EffectKind.REF_MOVED, name, says, kept is False, pattern=says, sure=kept is not None, detail=detail
    )


def _head_moved(old: Refs, new: Refs, tips: set[str], objects: Objects) -> Meaning:
    detached = _SHA.fullmatch(old.head) is not None
    kept = objects.reaches(tips, old.head) if detached else True
    target = new.head.removeprefix("refs/heads/") if not _SHA.fullmatch(new.head) else new.head[:12]
    says = f"switched HEAD to {target}"
    pattern = "switched HEAD"
    detail: dict[str, Json] = {"before": old.head, "after": new.head}
    return Meaning(
        EffectKind.REF_MOVED,
        "HEAD",
        says,
        kept is False,
        pattern=pattern,
        sure=kept is not None,
        detail=detail,
    )


def _index_change(old: Refs, new: Refs, was: Index, now: Index, objects: Objects) -> Meaning:
    """One change for the whole index. Lost is what was staged, is staged no more, and was not committed either."""
    base, result = _committed(old, objects), _committed(new, objects)
    differing = sorted(entry for entry in was.keys() | now.keys() if was.get(entry) != now.get(entry))
    if base is None:
        # The commit beneath cannot be read: an entry that vanished while HEAD stayed was most likely staged.
        gone = [path for path, _ in differing if (path, 0) not in now]
        lost = gone if old.head_commit == new.head_commit else []
    else:
        lost = [
            path
            for path, stage in differing
            if stage == 0
            and (staged := was.get((path, 0))) is not None
            and staged not in (base.get(path), (result or {}).get(path))
        ]
    committed = result or {}
    added = [entry[0] for entry in differing if entry in now and committed.get(entry[0]) != now[entry]]
    removed = [path for path, _ in differing if (path, 0) not in now and path in committed]
    if lost:
        verb = "replaced what was staged of" if set(lost) <= set(added) else "unstaged"
        says = f"{verb} {_listed(lost)}"
    elif added:
        says = f"staged {_listed(added)}"
    elif removed:
        says = f"staged the removal of {_listed(removed)}"
    else:
        says = f"set {len(differing)} entries of the index to what HEAD has"
    detail: dict[str, Json] = {"lost": [*lost[:50]], "staged": [*added[:50]], "removed": [*removed[:50]]}
    return Meaning(
        EffectKind.INDEX_CHANGED,
        "index",
        says,
        bool(lost),
        pattern=says,
        sure=base is not None,
        detail=detail,
    )


def _committed(refs: Refs, objects: Objects) -> dict[str, tuple[int, str]] | None:
    if not refs.head_commit:
        return {}
    commit = objects.commit(refs.head_commit)
    return None if commit is None else objects.files(commit.tree)


def _listed(paths: list[str]) -> str:
    shown = ", ".join(paths[:3])
    return shown if len(paths) <= 3 else f"{shown} and {len(paths) - 3} more"
