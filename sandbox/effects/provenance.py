"""Who made what: which files this run's server made itself, and which things did not exist when the trial began."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sandbox.model import ChangeKind, Effect, EffectKind, FileChange

_ADDING = frozenset(
    {EffectKind.ROW_INSERTED, EffectKind.RECORD_ADDED, EffectKind.REF_CREATED, EffectKind.SCHEMA_CHANGED}
)


class Provenance:
    """Follows creations, moves and deletions through the steps of one box."""

    def __init__(self, server_made: Iterable[str] = ()) -> None:
        self._server_made = set(server_made)
        self._own: set[str] = set()
        self._commits: dict[str, str] = {}

    def begin(self) -> None:
        """The tool's own calls begin now: what exists is not theirs, whoever made it."""
        self._own.clear()
        self._commits.clear()

    def server_made(self, path: str) -> bool:
        """Whether this run's server made the file."""
        return path in self._server_made

    def is_own(self, subject: str) -> bool:
        """Whether a path, or the row, record or ref of a subject, or what holds it, was made in this trial."""
        if subject in self._own:
            return True
        place, mark, inner = subject.partition("#")
        if not mark:
            return False
        while inner:
            # A row belongs to its table, a nested record to the one around it.
            inner = inner[: max(inner.rfind("["), inner.rfind("/"), 0)]
            if inner and f"{place}#{inner}" in self._own:
                return True
        return place in self._own

    def owns_staged(self, repository: str, paths: Collection[str]) -> bool:
        """Whether all these entries of an index were staged in this trial."""
        return bool(paths) and all(f"{repository}@index[{path}]" in self._own for path in paths)

    def owns_commits(self, repository: str, lost: str, kept: str) -> bool:
        """Whether every commit from ``kept`` to ``lost`` was added in this trial."""
        seen: set[str] = set()
        while lost and lost != kept and lost not in seen:
            seen.add(lost)
            lost = self._commits.get(f"{repository}@{lost}", "")
        return lost == kept

    def learn(self, changes: Iterable[FileChange], effects: Iterable[Effect]) -> None:
        """Take a step's changes and effects into account for the steps after it."""
        for change in changes:
            if change.kind is ChangeKind.CREATED:
                self._server_made.add(change.path)
                self._own.add(change.path)
            elif change.kind is ChangeKind.DELETED:
                self._forget(change.path)
            elif change.kind is ChangeKind.MOVED:
                self._move(change.source, change.path)
        for effect in effects:
            if effect.kind in _ADDING:
                self._own.add(effect.subject)
            elif effect.kind is EffectKind.INDEX_CHANGED:
                staged = effect.detail.get("staged")
                for path in staged if isinstance(staged, list) else ():
                    self._own.add(f"{effect.subject}[{path}]")
            elif effect.kind is EffectKind.REF_MOVED and effect.detail.get("forward"):
                repository = effect.subject.rpartition("@")[0]
                after, before = effect.detail.get("after"), effect.detail.get("before")
                self._commits[f"{repository}@{after}"] = str(before)

    def _forget(self, path: str) -> None:
        start = path + "/"
        for known in (self._server_made, self._own):
            known.discard(path)
            known.difference_update([p for p in known if p.startswith((start, path + "#"))])

    def _move(self, source: str, destination: str) -> None:
        start = source + "/"
        for known in (self._server_made, self._own):
            moved = [p for p in known if p == source or p.startswith((start, source + "#"))]
            known.discard(destination)
            known.difference_update(moved)
            known.update(destination + p[len(source) :] for p in moved)
