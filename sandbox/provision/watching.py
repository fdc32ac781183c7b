"""Everything that the instruments of an installation's box record, taken in while its command runs."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Sequence

from sandbox.boxes.box import Box
from sandbox.model import Exchange, Instrument, Observed, Packet, SyscallEvent
from sandbox.world import ExchangeLog, read_tap

_TAIL = 65_536
_CHUNK = 65_536
_MOST_EVENTS = 100_000
_MOST_RECORDS = 100_000
_END_S = 5.0
_RUNS = frozenset({"execve", "execveat"})


class Watching:
    """Takes in what one box's instruments record, and the last of its command's stdout.

    What was done to files in the folders ``apart`` is left out: an installer writes tens of thousands there. The box
    stays the caller's.
    """

    def __init__(self, box: Box, exchanges: ExchangeLog, apart: Sequence[str]) -> None:
        self._box = box
        self._log = exchanges
        self._apart = tuple(f"{folder}/" for folder in apart)
        self._stdout = b""
        self._poller = select.poll()
        self._poller.register(box.stdout, select.POLLIN)
        os.set_blocking(box.stdout, False)
        self._open = True
        self._missing: set[Instrument] = set()
        self._begin()

    def _begin(self) -> None:
        self._started = time.monotonic_ns()
        self._events: list[SyscallEvent] = []
        self._exchanges: list[Exchange] = []
        self._packets: list[Packet] = []
        self._dropped = 0

    @property
    def missing(self) -> frozenset[Instrument]:
        """The instruments that lost something."""
        return frozenset(self._missing)

    def stdout(self) -> str:
        """The last 64 KiB that the command wrote to stdout."""
        return self._stdout.decode(errors="replace")

    def look(self, patience_s: float) -> None:
        """Wait a moment, for output at most, and take in what there is."""
        if self._open and self._poller.poll(patience_s * 1000):
            self._read()
        elif not self._open:
            time.sleep(patience_s)
        for event in self._box.events.read_new():
            if len(self._events) < _MOST_EVENTS:
                if not self._is_apart(event):
                    self._events.append(event)
            else:
                self._missing.add(Instrument.OBSERVER)
        packets, dropped = read_tap(self._box.tap)
        self._packets += packets[: _MOST_RECORDS - len(self._packets)]
        self._dropped += dropped
        self._exchanges += self._log.read_new()[: _MOST_RECORDS - len(self._exchanges)]
        if self._dropped or len(self._packets) >= _MOST_RECORDS:
            self._missing.add(Instrument.TAP)
        if self._box.events.overflowed:
            self._missing.add(Instrument.OBSERVER)
        if self._log.overflowed or len(self._exchanges) >= _MOST_RECORDS:
            self._missing.add(Instrument.GATEWAY)

    def observed(self) -> Observed:
        """What was recorded since the last time, up to now."""
        self.look(0)
        observed = Observed(
            started_ns=self._started,
            ended_ns=time.monotonic_ns(),
            events=tuple(self._events),
            exchanges=tuple(self._exchanges),
            packets=tuple(self._packets),
            processes=tuple(self._box.processes()),
            canary_reads=tuple(self._box.canary_reads()),
            packets_dropped=self._dropped,
        )
        self._begin()
        return observed

    def finish(self) -> Observed:
        """Kill everything in the box, and return all that it did since the last time."""
        processes = tuple(self._box.processes())
        self._box.kill_all()
        deadline = time.monotonic() + _END_S
        while not any(exchange.kind == "end" for exchange in self._exchanges):
            self.look(0.005)
            if time.monotonic() > deadline:
                self._missing.add(Instrument.GATEWAY)
                break
        while self._open and self._read():
            continue
        started = self._started
        last = self.observed()
        return Observed(
            started_ns=started,
            ended_ns=last.ended_ns,
            events=last.events,
            exchanges=last.exchanges,
            packets=last.packets,
            processes=processes,
            canary_reads=last.canary_reads,
            packets_dropped=last.packets_dropped,
        )

    def _read(self) -> bool:
        """Read what there is of stdout; False where nothing is."""
        try:
            data = os.read(self._box.stdout, _CHUNK)
        except BlockingIOError:
            return False
        self._open = bool(data)
        self._stdout = (self._stdout + data)[-_TAIL:]
        return self._open

    def _is_apart(self, event: SyscallEvent) -> bool:
        """Whether an event tells of nothing but the folders that are left out."""
        if event.name in _RUNS or event.denied or not event.path:
            return False
        return event.path.startswith(self._apart) and (
            not event.target or event.target.startswith(self._apart)
        )
