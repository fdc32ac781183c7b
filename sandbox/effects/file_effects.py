"""Effects on files: each change read by meaning where it has one, attributed, weighed and put into a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sandbox.effects.attribution import Attribution, Doer
from sandbox.effects.differ import FileDiffer
from sandbox.effects.git_effects import GitEffects, kept_by_git
from sandbox.effects.grouping import database_of, group
from sandbox.effects.provenance import Provenance
from sandbox.effects.reader import Readers
from sandbox.effects.readers.reading import Meaning, Reading
from sandbox.effects.readers.wal import MAGIC
from sandbox.effects.volatile import fingerprint, mask_subject
from sandbox.effects.weights import Grounds
from sandbox.evidence.content import ContentStore
from sandbox.model import ChangeKind, Confidence, Effect, EffectKind, FileChange, Json, Weight

_KINDS = {
    ChangeKind.CREATED: EffectKind.FILE_CREATED,
    ChangeKind.MODIFIED: EffectKind.FILE_MODIFIED,
    ChangeKind.DELETED: EffectKind.FILE_DELETED,
    ChangeKind.MOVED: EffectKind.FILE_MOVED,
    ChangeKind.REPLACED: EffectKind.FILE_MODIFIED,
    ChangeKind.METADATA: EffectKind.FILE_METADATA,
}
_WITHOUT_CONTENT = ("directory", "fifo", "socket")
_FIRST = (ChangeKind.DELETED, ChangeKind.REPLACED, ChangeKind.MODIFIED, ChangeKind.MOVED)
"""Told first, among changes that weigh alike, where there are too many to tell all."""


class FileEffects:
    """Tells the file changes of one box as effects."""

    def __init__(
        self,
        *,
        differ: FileDiffer,
        content: ContentStore,
        readers: Readers,
        provenance: Provenance,
        attribution: Attribution,
        grounds: Grounds,
    ) -> None:
        self._differ = differ
        self._content = content
        self._readers = readers
        self._provenance = provenance
        self._attribution = attribution
        self._grounds = grounds
        self._git = GitEffects(differ, content, readers, provenance)

    def tell(self, changes: Sequence[FileChange], cap: int) -> tuple[list[Effect], int]:
        """The effects of a step's changes, at most about ``cap``, and how many changes were left out."""
        groups = group(changes, self._databases(changes))
        effects: list[Effect] = []
        kept: frozenset[str] = frozenset()
        for repository, inside in groups.repositories.items():
            found = self._git.tell(repository, inside, groups.plain, self._attribution.doer)
            effects += found.effects
            kept |= found.kept
            if not found.understood:
                groups.plain += [
                    c for c in inside if not c.path.endswith(".lock") and "/objects/" not in c.path
                ]
        for database, inside in groups.databases.items():
            effects += self._database(database, inside)
        # Only what is told is read: a checkout of thousands of files costs no more than its first ones.
        plain = sorted(
            groups.plain, key=lambda c: (self._weight(c) is not Weight.MATERIAL, c.kind not in _FIRST)
        )
        room = max(0, cap - len(effects))
        return effects + self._plain(plain[:room], kept), len(plain[room:])

    def _plain(self, changes: Sequence[FileChange], kept: frozenset[str]) -> list[Effect]:
        effects: list[Effect] = []
        for change in changes:
            for effect in self._change(change):
                spared = effect.loses and change.path in kept
                effects.append(
                    replace(effect, loses=False, detail={**effect.detail, **kept_by_git()})
                    if spared
                    else effect
                )
        return effects

    # --- databases --------------------------------------------------------------------------------

    def _databases(self, changes: Sequence[FileChange]) -> set[str]:
        found = set()
        for path in {database_of(change.path) for change in changes}:
            for node in (self._differ.before(path), self._differ.after(path)):
                content = self._content.get(node.digest) if node is not None and node.kept else None
                if content is not None and content.startswith(MAGIC):
                    found.add(path)
        return found

    def _database(self, path: str, changes: list[FileChange]) -> list[Effect]:
        if all(change.path.endswith("-shm") for change in changes):
            return []  # an index of the log, which readers write to as well
        images = [
            (self._held(path, after=after), self._held(path + "-wal", after=after)) for after in (False, True)
        ]
        (old, old_wal), (new, new_wal) = images
        if old is None or new is None:
            # Made or gone in this step: that is told of the file; its journals mean nothing beside it.
            return [e for change in changes if change.path == path for e in self._change(change)]
        reading = self._readers.sqlite((old, old_wal or b""), (new, new_wal or b""))
        if not reading.understood:
            told = [change for change in changes if not change.path.endswith(("-shm", "-journal"))]
            return [e for change in told for e in self._change(change, trouble=reading.trouble)]
        main = next((change for change in changes if change.path == path), None)
        doer = self._attribution.doer([path, path + "-wal", path + "-journal"])
        return self._meant(path, reading, doer, main)

    def _held(self, path: str, *, after: bool) -> bytes | None:
        node = self._differ.after(path) if after else self._differ.before(path)
        return (
            self._content.get(node.digest) if node is not None and node.kept and node.type == "file" else None
        )

    # --- one change -------------------------------------------------------------------------------

    def _change(self, change: FileChange, trouble: str = "") -> list[Effect]:
        doer = self._attribution.doer([change.path, change.source] if change.source else [change.path])
        reading = self._reading(change)
        if reading is not None and reading.meanings and change.kind is ChangeKind.MODIFIED:
            return self._meant(change.path, reading, doer, change)
        return [self._whole(change, reading, doer, trouble)]

    def _reading(self, change: FileChange) -> Reading | None:
        if change.type != "file" or change.kind not in (
            ChangeKind.CREATED,
            ChangeKind.MODIFIED,
            ChangeKind.DELETED,
        ):
            return None
        old = (
            self._content.get(change.before)
            if change.before
            else b""
            if change.kind is ChangeKind.CREATED
            else None
        )
        new = (
            self._content.get(change.after)
            if change.after
            else b""
            if change.kind is ChangeKind.DELETED
            else None
        )
        if old is None or new is None:
            return None
        name = change.path.rpartition("/")[2]
        if change.kind is ChangeKind.CREATED:
            return self._readers.new(name, new, self._held(change.path + "-wal", after=True) or b"")
        return self._readers.file(name, old, new)

    def _meant(self, path: str, reading: Reading, doer: Doer, change: FileChange | None) -> list[Effect]:
        effects = []
        weight = self._grounds.weigh(path, server_made=self._provenance.server_made(path))
        for index, meaning in enumerate(reading.meanings):
            subject = f"{path}#{meaning.where}"
            effects.append(
                Effect(
                    kind=meaning.kind,
                    subject=subject,
                    summary=f"{meaning.says} in {path}",
                    at_ms=doer.at_ms,
                    pid=doer.pid,
                    executable=doer.executable,
                    weight=weight,
                    confidence=Confidence.CERTAIN if meaning.sure else Confidence.LIKELY,
                    loses=meaning.loses,
                    own=self._provenance.is_own(subject),
                    volatile=meaning.volatile,
                    fingerprint=fingerprint(meaning.kind.value, mask_subject(subject), meaning.pattern),
                    before=change.before if change else "",
                    after=change.after if change else "",
                    diff=reading.diff if index == 0 else "",
                    detail={**meaning.detail, "reader": reading.reader, "place": self._grounds.place(path)},
                )
            )
        if reading.omitted:
            effects.append(_rest(path, reading, effects[0]))
        return effects

    def _whole(self, change: FileChange, reading: Reading | None, doer: Doer, trouble: str) -> Effect:
        loses = _loses(change, reading)
        over = change.kind is ChangeKind.MOVED and change.existed
        detail: dict[str, Json] = {"type": change.type, "place": self._grounds.place(change.path)}
        if change.kind is ChangeKind.CREATED:
            detail["empty"] = reading.empty if reading is not None else change.type in _WITHOUT_CONTENT
        for name, value in (("size", change.after_size), ("old_size", change.before_size)):
            if value >= 0:
                detail[name] = value
        if change.source:
            detail["source"] = change.source
        if change.note:
            detail["note"] = change.note
        if why := trouble or (reading.trouble if reading else ""):
            detail["compared"] = f"as bytes: {why}"
        pattern = (
            reading.pattern
            if reading is not None and reading.pattern
            else f"{change.before} {change.after_size}"
        )
        return Effect(
            kind=_KINDS[change.kind],
            subject=change.path,
            summary=_sentence(change, reading, self._target(change)),
            at_ms=doer.at_ms,
            pid=doer.pid,
            executable=doer.executable,
            weight=self._weight(change),
            loses=loses,
            own=self._provenance.is_own(change.path if over or not change.source else change.source),
            volatile=reading is not None and reading.volatile,
            fingerprint=fingerprint(change.kind.value, mask_subject(change.path), change.note, pattern),
            before=change.before,
            after=change.after,
            diff=reading.diff if reading is not None else "",
            detail=detail,
        )

    def _weight(self, change: FileChange) -> Weight:
        made = change.kind is ChangeKind.CREATED or self._provenance.server_made(change.source or change.path)
        return self._grounds.weigh(change.path, server_made=made)

    def _target(self, change: FileChange) -> str:
        content = self._content.get(change.after) if change.type == "symlink" and change.after else None
        return "" if content is None else content.decode("utf-8", "backslashreplace")


def _loses(change: FileChange, reading: Reading | None) -> bool:
    match change.kind:
        case ChangeKind.CREATED | ChangeKind.METADATA:
            return False
        case ChangeKind.MOVED:
            return change.existed
        case ChangeKind.MODIFIED if reading is not None:
            same_values = (
                reading.understood and reading.reader not in ("text", "bytes") and not reading.meanings
            )
            return not (reading.appended or same_values)
        case ChangeKind.MODIFIED:
            return change.before_size != 0
        case _:
            return True


def _sentence(change: FileChange, reading: Reading | None, target: str) -> str:
    thing = {"directory": "folder", "device": "device file"}.get(change.type, change.type)
    note = f" ({change.note})" if change.note else ""
    if change.path.endswith("/.git") and change.type == "directory" and change.kind is ChangeKind.CREATED:
        return f"created the git repository {change.path.removesuffix('/.git')}"
    match change.kind:
        case ChangeKind.CREATED:
            more = (
                f" -> {target}"
                if target
                else f" ({change.after_size} bytes)"
                if change.after_size >= 0
                else ""
            )
            return f"created the {thing} {change.path}{more}{note}"
        case ChangeKind.DELETED:
            inside = f" {change.note}" if change.note else ""
            return f"deleted the {thing} {change.path}{inside}"
        case ChangeKind.MOVED:
            return f"moved the {thing} {change.source} to {change.path}{note}"
        case ChangeKind.REPLACED:
            return f"replaced {change.path}: {change.note}"
        case ChangeKind.METADATA:
            return f"changed {change.note} of the {thing} {change.path}"
        case ChangeKind.MODIFIED:
            return _modified(change, reading, target, thing) + note


def _modified(change: FileChange, reading: Reading | None, target: str, thing: str) -> str:
    if change.type == "symlink":
        return f"pointed the symlink {change.path} to {target}"
    if change.after_size == 0:
        return f"emptied the file {change.path} of its {change.before_size} bytes"
    if reading is not None and reading.appended:
        return f"appended {change.after_size - change.before_size} bytes to {change.path}"
    if reading is not None and reading.understood and reading.reader in ("json", "jsonl"):
        return f"wrote {change.path} anew with the same values"
    return f"overwrote the {thing} {change.path}"


def _rest(path: str, reading: Reading, first: Effect) -> Effect:
    meaning: Meaning = reading.meanings[-1]
    return replace(
        first,
        kind=meaning.kind,
        subject=f"{path}#…",
        summary=f"made {reading.omitted} more changes in {path}",
        loses=meaning.loses,
        diff="",
        detail={"omitted": reading.omitted, "reader": reading.reader},
    )
