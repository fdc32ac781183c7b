"""Notifications: counted by method and, for log messages, collected; all of it bounded."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Mapping

from sandbox.model import Json

_METHODS = 32
_LOGS = 200
_LOG_TEXT = 500

TOOLS_CHANGED = "notifications/tools/list_changed"
LOGGED = "notifications/message"


class Notices:
    """What the server told without being asked."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.total = 0
        self._logs: deque[str] = deque(maxlen=_LOGS)

    def add(self, method: str, params: Mapping[str, Json]) -> None:
        """Take note of one notification."""
        self.total += 1
        self.counts[method if method in self.counts or len(self.counts) < _METHODS else "…"] += 1
        if method == LOGGED:
            self._logs.append(_log_line(params))

    @property
    def logs(self) -> tuple[str, ...]:
        """The last log messages, as ``level: text``."""
        return tuple(self._logs)


def _log_line(params: Mapping[str, Json]) -> str:
    data = params.get("data")
    if not isinstance(data, str):
        parts: list[str] = []
        # Encoding stops at the bound: a log message may be as large as a line may be.
        for part in json.JSONEncoder().iterencode(data):
            parts.append(part)
            if len(parts) > _LOG_TEXT:
                break
        data = "".join(parts)
    return f"{str(params.get('level'))[:16]}: {data[:_LOG_TEXT]}"
