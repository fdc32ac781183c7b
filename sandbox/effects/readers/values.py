"""Rules of value shared by rows and records: which overwritten value is lost, and which only follows an addition."""

from __future__ import annotations

import re
from typing import Any

from sandbox.effects.volatile import mask

_FOLLOWER = re.compile(
    r"(?:^|[_-])(?:count|counter|total|seq|sequence|next|next_?id|last|last_?id|head|tail|size|length|len|version|rev|revision|offset"
    r"|cursor|updated|modified|mtime|timestamp|changed|(?:updated|modified|changed|accessed|saved)_?(?:at|on|time)?)$"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def shown(value: Any, cap: int = 120) -> str:
    """A value as evidence shows it, at most ``cap`` characters."""
    if isinstance(value, bytes):
        text = f"<{len(value)} bytes>"
    else:
        text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= cap else text[: cap - 1] + "…"


def overwrites(old: Any, new: Any) -> bool:
    """Whether putting ``new`` in the place of ``old`` loses something: not from nothing, and not by adding at the end."""
    if old is None or old in ("", b""):
        return False
    both_text = isinstance(old, str) and isinstance(new, str)
    return not (both_text and new.startswith(old))


def follows_addition(name: str, old: Any, new: Any) -> bool:
    """Whether a value looks like a counter, pointer or time that moved because something was added beside it."""
    spelled = _CAMEL.sub("_", name).lower()
    if isinstance(old, bool) or isinstance(new, bool):
        return False
    if isinstance(old, int | float) and isinstance(new, int | float):
        return new > old and (_FOLLOWER.search(spelled) is not None or new - old == 1)
    if _FOLLOWER.search(spelled):
        return True
    return isinstance(old, str) and isinstance(new, str) and varies_only(old, new)


def varies_only(old: Any, new: Any) -> bool:
    """Whether two values are equal once volatile parts are masked."""
    return type(old) is type(new) and mask(shown(old, 4096)) == mask(shown(new, 4096))
