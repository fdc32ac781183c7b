"""The launcher daemon: one small single-threaded process per engine that forks boxes.

Forking the engine itself would be slow and, with its threads, unsafe. The engine speaks to it over a
SEQPACKET socket: each message is a JSON object with the descriptors it names. It answers once, when it is
ready or cannot be, and never again: everything about a box goes over that box's own socket. When the engine's
end hangs up it exits, and every box with it.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import os
import select
import signal
import socket
import stat
from collections.abc import Sequence

from sandbox.linux import base, namespaces, seccomp, seeds, syscalls
from sandbox.linux.assignment import Assignment, Sources
from sandbox.linux.base import Base
from sandbox.linux.forking import fork
from sandbox.linux.layers import Layers
from sandbox.linux.namespaces import RungName
from sandbox.linux.order import SERVER_ID, Order, StepError, step
from sandbox.linux.warden import run_warden
from sandbox.model import SeedEntry

_MESSAGE_LIMIT = 4096
_DESCRIPTOR_LIMIT = 16


class Daemon:
    """The daemon's state: its base, the registered seeds, and a handle of each warden."""

    def __init__(self, control: socket.socket, rung: RungName) -> None:
        self._control = control
        self._rung = rung
        self._server = namespaces.server_id(rung)
        inside = namespaces.box_ids(rung, self._server, SERVER_ID, SERVER_ID)
        self._base: Base = base.build(self._server, inside)
        self._layers = Layers(self._server)
        self._seeds: dict[str, tuple[SeedEntry, ...]] = {"": ()}
        self._wardens: dict[int, int] = {}
        self._poller = select.poll()

    def serve(self) -> None:
        """Work until the engine hangs up."""
        self._poller.register(self._control, select.POLLIN)
        while True:
            for descriptor, _ in self._poller.poll():
                if descriptor in self._wardens:
                    self._bury(descriptor)
                    continue
                message, descriptors, _, _ = socket.recv_fds(self._control, _MESSAGE_LIMIT, _DESCRIPTOR_LIMIT)
                if not message:
                    return
                try:
                    self._obey(json.loads(message), descriptors)
                finally:
                    for passed in descriptors:
                        os.close(passed)

    def _bury(self, handle: int) -> None:
        self._poller.unregister(handle)
        os.waitpid(self._wardens.pop(handle), 0)
        os.close(handle)

    def _obey(self, request: dict[str, str], descriptors: Sequence[int]) -> None:
        if request["do"] == "seeds":
            self._seeds[request["name"]] = seeds.unpack(_read_whole(descriptors[0]))
            return
        with socket.socket(fileno=os.dup(descriptors[1])) as box:
            opened: list[int] = []
            try:
                self._launch(descriptors, box, opened)
            except StepError as failure:
                with contextlib.suppress(BrokenPipeError):  # an engine that has left needs no answer
                    box.send(failure.encode(), socket.MSG_NOSIGNAL)
            finally:
                for descriptor in opened:
                    os.close(descriptor)

    def _launch(self, descriptors: Sequence[int], box: socket.socket, opened: list[int]) -> None:
        order_file, _, stdin, stdout, stderr, log, *gateway = descriptors
        order = Order.decode(_read_whole(order_file))
        entries = self._seeds[order.seeds]
        extra_size = seeds.total_size(entries)
        with step("open what the box may see"):
            root = self._layers.provide(order.image) if order.image else self._base.skeleton
            lowers = [root, *(self._layers.provide(layer.lower) for layer in order.layers)]
            for _, source in order.files:
                file = os.open(source, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
                opened.append(file)
                facts = os.fstat(file)
                if not stat.S_ISREG(facts.st_mode):
                    raise OSError(errno.EINVAL, f"{source} is no regular file")
                extra_size += facts.st_size
        ids = namespaces.box_ids(self._rung, self._server, order.user, order.group)
        assignment = Assignment(
            order,
            ids,
            Sources(tuple(lowers), tuple(opened)),
            entries,
            extra_size,
            (stdin, stdout, stderr),
            log,
            gateway[0] if gateway else None,
            self._base.proc,
        )
        mine, wardens = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        daemon = os.getpid()

        def be_warden() -> int:
            mine.close()
            return run_warden(assignment, box, wardens, daemon)

        with mine:
            with wardens, step("fork"):
                warden = fork(be_warden, box)
            handle = os.pidfd_open(warden)
            self._wardens[handle] = warden
            self._poller.register(handle, select.POLLIN)
            # About a millisecond; the warden can do nothing but ask or die.
            if mine.recv(16):
                namespaces.map_ids(warden, ids)
                mine.send(b"k")


def _read_whole(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def main(descriptor: int, rung: RungName) -> int:
    """Serve the engine at the other end of a socket; returns the exit status."""
    control = socket.socket(fileno=descriptor)
    control.set_inheritable(False)
    os.umask(0o022)
    # An interrupt is for the engine, which then hangs up.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    syscalls.set_process_name("box-daemon")
    try:
        namespaces.enter(rung)
        daemon = Daemon(control, rung)
    except StepError as failure:
        control.send(failure.encode())
        return 1
    # Once, not in each box: it takes longer than the rest of a server's start.
    seccomp.compile_filter(os.uname().machine, files=True)
    # Boxes share the daemon's memory until they write to it, which a collection would.
    gc.collect()
    gc.freeze()
    control.send(json.dumps({"ready": True}).encode())
    daemon.serve()
    return 0
