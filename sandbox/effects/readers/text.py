"""Text files: a bounded unified diff, and whether something was only appended."""

from __future__ import annotations

import difflib

from sandbox.effects.readers.reading import Reading
from sandbox.effects.volatile import mask

DIFF_CAP = 16 << 10
"""Characters of a diff that are kept (model.Effect)."""

_DIFFED = 512 << 10
_LINES = 5000
_LINE = 400
_MASKED = 256 << 10


def read_text(before: bytes, after: bytes) -> Reading:
    """Compare two contents as text; content that is no UTF-8 text is compared as bytes."""
    appended = after.startswith(before)
    old, new = _decode(before), _decode(after)
    if old is None or new is None:
        return Reading("bytes", appended=appended)
    masked_old, masked_new = mask(old[:_MASKED]), mask(new[:_MASKED])
    whole = max(len(old), len(new)) <= _MASKED
    diff = _unified(old, new)
    return Reading(
        "text",
        understood=True,
        diff=diff,
        appended=appended,
        volatile=whole and masked_old == masked_new and old != new,
        pattern=mask(diff) if diff else masked_new,
    )


def _decode(content: bytes) -> str | None:
    if b"\0" in content[:8192]:
        return None
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _unified(old: str, new: str) -> str:
    if len(old) + len(new) > 2 * _DIFFED:
        return ""
    old_lines, new_lines = old.splitlines(), new.splitlines()
    if len(old_lines) + len(new_lines) > 2 * _LINES:
        return ""
    diff = difflib.unified_diff(
        [line[:_LINE] for line in old_lines],
        [line[:_LINE] for line in new_lines],
        "before",
        "after",
        n=2,
        lineterm="",
    )
    size, kept = 0, []
    for line in diff:
        size += len(line) + 1
        if size > DIFF_CAP - 4:
            kept.append("...")
            break
        kept.append(line)
    return "\n".join(kept)
