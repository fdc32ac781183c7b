"""The observer of a box: records every watched call before it runs, and refuses what the filter says.

It runs in a process of its own, outside the box, because a busy interpreter would slow the server down by a
factor of 8 to 22 (measured). What it records is bounded by the log's cap, what it reads by ``decode``. A
stuck observer holds its callers but hangs nobody else: a held caller can always be killed (WAIT_KILLABLE),
the engine's deadlines do not depend on it, and when the engine kills it the listener closes and every held
call fails with ENOSYS.
"""

from __future__ import annotations

import ipaddress
import os
import select
import time
from collections.abc import Callable
from typing import Protocol

from sandbox.linux.caller import Callers
from sandbox.linux.decode import Address, decode
from sandbox.linux.eventlog import AppendLog, encode_event
from sandbox.linux.netlink import DNS_PORT
from sandbox.linux.notify import Listener
from sandbox.linux.numbers import MACHINES
from sandbox.linux.seccomp import refusal

_NAMES = {number: name for name, number in MACHINES[os.uname().machine].numbers.items()}
_RECORDED_AS = {"mmap": "mmap-shared"}
_EXECUTES = frozenset({"execve", "execveat"})
_SENDS = frozenset({"connect", "sendto", "sendmsg", "sendmmsg"})
_BROADCAST = ipaddress.IPv4Address("255.255.255.255")

_DOUBT_NS = 10_000_000
"""After so long a caller may have been killed and its id used again; ids do not wrap around faster. Asking
the kernel each time would cost a tenth of the whole."""


class Desk(Protocol):
    """Something else that the observer's process does between two calls; each time must be short."""

    def fileno(self) -> int:
        """Readable when there is something to do."""

    def serve(self) -> bool:
        """Do it once; False when there will be nothing more."""


def observe(
    listener: int,
    log: int,
    proc: int,
    open_listener: Callable[[str, int], None],
    stop: int,
    *,
    desk: Desk | None = None,
) -> None:
    """Record the calls of a box into a log until its last task is gone or ``stop`` is readable or hung up.

    ``listener`` comes from ``seccomp.install``, ``log`` is a memfd for an ``EventLog`` to read, ``proc`` a
    descriptor of the /proc in which the observer and the box's tasks are numbered alike: the observer's own.
    The descriptors stay the caller's.

    ``open_listener(ip, port)`` is called before a connect or send to another machine goes on, each time anew,
    except for port 53, which is always served. If it raises OSError, the call goes on and finds nobody.
    ``desk`` is served in between.

    Raises OSError when the log's memory or the listener fails.
    """
    observer = _Observer(listener, log, proc, open_listener)
    poller = select.poll()
    poller.register(listener, select.POLLIN)
    poller.register(stop, select.POLLIN)
    if desk is not None:
        poller.register(desk.fileno(), select.POLLIN)
    try:
        while True:
            ready = dict(poller.poll())
            if stop in ready or ready.get(listener, select.POLLIN) != select.POLLIN:
                return
            if listener in ready:
                observer.serve()
            if desk is not None and desk.fileno() in ready and not desk.serve():
                poller.unregister(desk.fileno())
    finally:
        observer.close()


class _Observer:
    def __init__(self, listener: int, log: int, proc: int, open_listener: Callable[[str, int], None]) -> None:
        self._listener = Listener(listener)
        self._log = AppendLog(log)
        self._callers = Callers(proc)
        self._open_listener = open_listener

    def serve(self) -> None:
        """Answer one held call."""
        call = self._listener.receive()
        if call is None:
            return
        now_ns = time.monotonic_ns()
        name = _NAMES[call.number]
        caller = self._callers.find(call.tid, now_ns)
        happenings = decode(name, caller, call.arguments)
        if time.monotonic_ns() - now_ns > _DOUBT_NS and not self._listener.holds(call):
            self._callers.forget(caller)
            return
        error = refusal(name, call.arguments)
        for told in happenings:
            self._log.append_line(
                encode_event(
                    at_ns=now_ns,
                    pid=caller.process,
                    executable=caller.executable,
                    name=_RECORDED_AS.get(name, name),
                    path=told.path,
                    target=told.target,
                    address=told.address.text if told.address else "",
                    argv=told.argv,
                    flags=told.flags,
                    denied=error != 0,
                )
            )
            if name in _SENDS and told.address is not None:
                self._meet(told.address)
        if error:
            self._listener.refuse(call, error)
            return
        if name in _EXECUTES:
            self._callers.forget(caller)
        self._listener.proceed(call)

    def close(self) -> None:
        self._callers.close()

    def _meet(self, address: Address) -> None:
        """Have somebody listen where a call is about to go, if that is on another machine."""
        ip, port = address.ip, address.port
        if ip is None or port in (0, DNS_PORT):
            return
        if ip.is_loopback or ip.is_unspecified or ip.is_multicast or ip == _BROADCAST:
            return
        try:
            self._open_listener(str(ip), port)
        except OSError:
            # A hostile server can make any address fail, by taking it or by using up the descriptors. The
            # packet tap still sees the attempt.
            return
