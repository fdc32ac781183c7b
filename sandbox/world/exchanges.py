"""The log of what the gateway saw of one box: written by the gateway, tailed by the engine."""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

from sandbox.linux.eventlog import LOG_CAP, AppendLog, LogTail
from sandbox.model import Exchange

_FIELDS = tuple(field.name for field in fields(Exchange))


class Journal:
    """The gateway's end: whatever a client caused is recorded before it is answered. Owns the descriptor."""

    def __init__(self, descriptor: int, cap: int = LOG_CAP) -> None:
        self._descriptor = descriptor
        self._log = AppendLog(descriptor, cap)

    def record(self, exchange: Exchange) -> None:
        """Append one exchange. Raises OSError when the memory for it cannot be had."""
        self._log.append([getattr(exchange, name) for name in _FIELDS])

    def close(self) -> None:
        """Release the log; nothing is recorded afterwards."""
        os.close(self._descriptor)


class ExchangeLog(LogTail):
    """The engine's end; owns the descriptor."""

    def read_new(self) -> list[Exchange]:
        """The exchanges since the last time, in the order in which they were recorded."""
        return [_exchange(record) for record in self.read_records()]


def _exchange(record: list[Any]) -> Exchange:
    values = dict(zip(_FIELDS, record, strict=True))
    values["headers"] = tuple((name, value) for name, value in values["headers"])
    return Exchange(**values)
