"""Effects on git repositories: gathers what the reader needs from the differ, and tells what it found."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sandbox.effects.attribution import Doer
from sandbox.effects.differ import FileDiffer
from sandbox.effects.provenance import Provenance
from sandbox.effects.reader import Readers
from sandbox.effects.readers.reading import Meaning, Reading
from sandbox.effects.volatile import fingerprint, mask_subject
from sandbox.evidence.content import ContentStore
from sandbox.model import Confidence, Effect, EffectKind, FileChange, Json

_STATE = ("HEAD", "packed-refs", "index", "logs/refs/stash")
_REFS_CAP = 2000
_BLOBS_CAP = 500


@dataclass(frozen=True, slots=True)
class RepositoryReading:
    """What one repository's step meant, and the paths of its work tree whose old content git still holds."""

    effects: tuple[Effect, ...]
    kept: frozenset[str]
    understood: bool


class GitEffects:
    """Reads the repositories of one box."""

    def __init__(
        self, differ: FileDiffer, content: ContentStore, readers: Readers, provenance: Provenance
    ) -> None:
        self._differ = differ
        self._content = content
        self._readers = readers
        self._provenance = provenance

    def tell(
        self,
        repository: str,
        changes: Sequence[FileChange],
        beside: Iterable[FileChange],
        doer: Callable[[Iterable[str]], Doer],
    ) -> RepositoryReading:
        """Tell what changes inside the git folder of ``repository`` mean; ``beside`` are the step's other
        file changes."""
        folder = f"{repository}/.git"
        ids = self._blob_ids(repository, beside)
        reading = self._readers.git(
            self._state(folder, after=False),
            self._state(folder, after=True),
            lambda name: self._read(f"{folder}/{name}", after=True),
            self._packs(folder),
            sorted({sha for shas in ids.values() for sha in shas}),
        )
        if not reading.understood:
            return RepositoryReading((), frozenset(), understood=False)
        who = doer(change.path for change in changes)
        effects = tuple(self._effect(repository, meaning, who) for meaning in reading.meanings)
        return RepositoryReading(
            effects, _kept_paths(ids, reading) if effects else frozenset(), understood=True
        )

    def _read(self, path: str, *, after: bool) -> bytes | None:
        node = self._differ.after(path) if after else self._differ.before(path)
        return self._content.get(node.digest) if node is not None and node.kept else None

    def _state(self, folder: str, *, after: bool) -> dict[str, bytes]:
        names = [f"{folder}/{name}" for name in _STATE]
        names += self._differ.below(f"{folder}/refs", after=after, cap=_REFS_CAP)
        state = {}
        for path in names:
            content = self._read(path, after=after)
            if content is not None:
                state[path[len(folder) + 1 :]] = content
        return state

    def _packs(self, folder: str) -> list[str]:
        found = self._differ.below(f"{folder}/objects/pack", after=True, cap=200)
        return [path[len(folder) + 1 :] for path in found if path.endswith(".idx")]

    def _blob_ids(self, repository: str, changes: Iterable[FileChange]) -> dict[str, list[str]]:
        """The git blob ids of what work-tree files held before this step, by the path of their change."""
        ids: dict[str, list[str]] = {}
        left = _BLOBS_CAP
        for change in changes:
            if not change.path.startswith(repository + "/") or "/.git/" in change.path or left <= 0:
                continue
            old = change.path
            paths = [old]
            if change.type == "directory" and not change.before:
                paths = [*self._differ.below(old, after=False, cap=left)]
            shas = []
            for path in paths:
                node = self._differ.before(path)
                if node is not None and node.type in ("file", "symlink"):
                    content = self._content.get(node.digest)
                    shas.append("" if content is None else blob_id(content))
            left -= len(shas)
            if shas:
                ids[old] = shas
        return ids

    def _effect(self, repository: str, meaning: Meaning, who: Doer) -> Effect:
        subject = f"{repository}@{meaning.where}"
        lost, detail = meaning.detail.get("lost"), dict(meaning.detail)
        if meaning.kind is EffectKind.INDEX_CHANGED:
            own = self._provenance.owns_staged(
                repository, [str(p) for p in lost] if isinstance(lost, list) else []
            )
        else:
            before, after = str(detail.get("before")), str(detail.get("after"))
            own = self._provenance.is_own(subject) or self._provenance.owns_commits(repository, before, after)
        return Effect(
            kind=meaning.kind,
            subject=subject,
            summary=f"{meaning.says} in the repository {repository}",
            at_ms=who.at_ms,
            pid=who.pid,
            executable=who.executable,
            confidence=Confidence.CERTAIN if meaning.sure else Confidence.LIKELY,
            loses=meaning.loses,
            own=own,
            fingerprint=fingerprint(meaning.kind.value, mask_subject(subject), meaning.pattern),
            detail={**detail, "reader": "git"},
        )


def blob_id(content: bytes) -> str:
    """The id under which git stores content (gitformat: the SHA-1 of ``blob SIZE NUL content``)."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _kept_paths(ids: dict[str, list[str]], reading: Reading) -> frozenset[str]:
    return frozenset(path for path, shas in ids.items() if all(sha in reading.kept_blobs for sha in shas))


def kept_by_git() -> dict[str, Json]:
    """The detail that says why a changed work-tree file is no loss."""
    return {"kept_in": "git", "why": "what the file held before is in the repository's objects or index"}
