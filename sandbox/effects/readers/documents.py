"""JSON and JSON Lines: records added, updated and removed, whatever the file's layout did."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sandbox.effects.readers.reading import Meaning, Reading, UnreadableError, bounded
from sandbox.effects.readers.values import follows_addition, overwrites, shown, varies_only
from sandbox.effects.volatile import mask
from sandbox.model import EffectKind, Json

KEY_FIELDS = ("id", "_id", "uuid", "key", "name", "slug", "path", "url", "title", "email", "entityName")
"""Fields that tell one record of a list from another, the first that two lists share."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """One difference: ``record`` is the place of the innermost record around it, ``field`` the name within."""

    kind: EffectKind
    record: str
    field: str
    old: Any = None
    new: Any = None


def read_json(before: bytes, after: bytes) -> Reading:
    """Compare two JSON documents. Raises UnreadableError."""
    return _compare("json", _parse(before), _parse(after))


def read_json_lines(before: bytes, after: bytes) -> Reading:
    """Compare two files of one JSON value per line. Raises UnreadableError."""
    return _compare("jsonl", parse_lines(before), parse_lines(after))


def parse_lines(content: bytes) -> list[Any]:
    """The values of a JSON Lines file. Raises UnreadableError."""
    lines = [line for line in content.split(b"\n") if line.strip()]
    if lines and lines[0].lstrip()[:1] not in (b"{", b"["):
        raise UnreadableError("not JSON Lines")
    return [_parse(line) for line in lines]


def _parse(content: bytes) -> Any:
    try:
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UnreadableError(f"JSON: {error}") from error


def _compare(reader: str, old: Any, new: Any) -> Reading:
    try:
        leaves = list(_differences(old, new, "", ""))
        return bounded(reader, _meanings(leaves))
    except RecursionError as error:
        raise UnreadableError("JSON: nested too deeply") from error


def _canonical(value: Any) -> str:
    # Python says 1 == 1.0 == True; in a document these are different values.
    return json.dumps(value, sort_keys=True)


def _differences(old: Any, new: Any, record: str, field: str) -> Iterator[Leaf]:
    place = f"{record}/{field}" if field else record
    if isinstance(old, dict) and isinstance(new, dict):
        for name in [*old, *(n for n in new if n not in old)]:
            if name not in new:
                yield Leaf(EffectKind.RECORD_DELETED, f"{place}/{name}", "", old[name])
            elif name not in old:
                yield Leaf(EffectKind.RECORD_ADDED, f"{place}/{name}", "", None, new[name])
            elif old[name] != new[name] or _canonical(old[name]) != _canonical(new[name]):
                yield from _differences(old[name], new[name], place, name)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _list_differences(old, new, place)
    elif _canonical(old) != _canonical(new):
        yield Leaf(EffectKind.RECORD_UPDATED, record, field, old, new)


def _list_differences(old: list[Any], new: list[Any], place: str) -> Iterator[Leaf]:
    old_texts, new_texts = [_canonical(v) for v in old], [_canonical(v) for v in new]
    if Counter(old_texts) == Counter(new_texts):
        if old_texts != new_texts:
            yield Leaf(EffectKind.RECORD_UPDATED, place, "order", "", "another order")
        return
    gone, come = _leftover(old, old_texts, new_texts), _leftover(new, new_texts, old_texts)
    pairs = _by_identity(gone, come)
    if not pairs and len(old) == len(new) and [i for i, _ in gone] == [i for i, _ in come]:
        pairs = [(i, i) for i, _ in gone]  # nothing names the records, but each changed in its own place
    for i, j in pairs:
        name = _identity(new[j]) or str(j)
        yield from _differences(old[i], new[j], f"{place}[{name}]", "")
    paired_old, paired_new = {i for i, _ in pairs}, {j for _, j in pairs}
    for i, value in gone:
        if i not in paired_old:
            yield Leaf(
                EffectKind.RECORD_DELETED, f"{place}[{_identity(value) or shown(value, 60)}]", "", value
            )
    for j, value in come:
        if j not in paired_new:
            yield Leaf(
                EffectKind.RECORD_ADDED, f"{place}[{_identity(value) or shown(value, 60)}]", "", None, value
            )


def _leftover(values: list[Any], texts: list[str], others: list[str]) -> list[tuple[int, Any]]:
    spare = Counter(others)
    left = []
    for index, (value, text) in enumerate(zip(values, texts, strict=True)):
        if spare[text] > 0:
            spare[text] -= 1
        else:
            left.append((index, value))
    return left


def _identity(value: Any) -> str:
    if not isinstance(value, dict):
        return ""
    field = next((f for f in KEY_FIELDS if isinstance(value.get(f), str | int)), None)
    if field is None:
        return ""
    kind = value.get("type")
    return f"{kind}:{shown(value[field], 60)}" if isinstance(kind, str) else shown(value[field], 60)


def _by_identity(gone: list[tuple[int, Any]], come: list[tuple[int, Any]]) -> list[tuple[int, int]]:
    """Pair leftovers that name themselves alike; a name that occurs twice pairs nothing."""
    names = Counter(_identity(value) for _, value in gone)
    targets = Counter(_identity(value) for _, value in come)
    by_name = {_identity(value): j for j, value in come}
    return [
        (i, by_name[name])
        for i, value in gone
        if (name := _identity(value)) and names[name] == 1 and targets[name] == 1
    ]


def _meanings(leaves: list[Leaf]) -> list[Meaning]:
    added = any(leaf.kind is EffectKind.RECORD_ADDED for leaf in leaves)
    updates: dict[str, list[Leaf]] = {}
    meanings = []
    for leaf in leaves:
        if leaf.kind is EffectKind.RECORD_UPDATED:
            updates.setdefault(leaf.record, []).append(leaf)
            continue
        deleted = leaf.kind is EffectKind.RECORD_DELETED
        where = leaf.record.lstrip("/") or "document"
        value = leaf.old if deleted else leaf.new
        says = f"{'removed' if deleted else 'added'} the record {where}"
        detail: dict[str, Json] = {"before" if deleted else "after": shown(_canonical(value), 1000)}
        pattern = mask(f"{leaf.kind.value} {leaf.record} {_canonical(value)[:4096]}")
        meanings.append(Meaning(leaf.kind, where, says, deleted, pattern=pattern, detail=detail))
    return meanings + [_update(record, changed, added) for record, changed in updates.items()]


def _update(record: str, leaves: list[Leaf], added: bool) -> Meaning:
    where = record.lstrip("/") or "document"
    fields = [leaf.field for leaf in leaves if leaf.field]
    follows = added and all(follows_addition(leaf.field or record, leaf.old, leaf.new) for leaf in leaves)
    detail: dict[str, Json] = {
        "before": {leaf.field: shown(leaf.old) for leaf in leaves},
        "after": {leaf.field: shown(leaf.new) for leaf in leaves},
    }
    named = f"{', '.join(fields[:5])} of " if fields else ""
    says = f"changed {named}the record {where}"
    return Meaning(
        EffectKind.RECORD_UPDATED,
        where,
        says,
        not follows and any(overwrites(leaf.old, leaf.new) for leaf in leaves),
        volatile=all(varies_only(leaf.old, leaf.new) for leaf in leaves),
        pattern=mask(f"{says} {[shown(leaf.new) for leaf in leaves]}"),
        detail=detail,
    )
