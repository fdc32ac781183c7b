"""The warden of a box: outside its pid and mount namespaces, inside its user and network namespaces.

It sets up the network, starts init, takes the listener of the server's filter and then observes until the box
is gone. It keeps the host's file system and /proc in view, which is why init makes the mount namespace and
not the warden.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct

from sandbox.linux import syscalls
from sandbox.linux.assignment import Assignment
from sandbox.linux.base import HOSTNAME
from sandbox.linux.forking import fork
from sandbox.linux.init import run_init
from sandbox.linux.listeners import Listeners
from sandbox.linux.netlink import set_up_loopback
from sandbox.linux.observer import observe
from sandbox.linux.order import step
from sandbox.linux.packets import open_tap
from sandbox.linux.server import TAKEN
from sandbox.linux.sockets import SocketDesk

_CREDENTIALS = struct.Struct("=iII")  # struct ucred: pid, uid, gid


def run_warden(assignment: Assignment, box: socket.socket, maps: socket.socket, daemon: int) -> int:
    """Be a box's warden; returns the exit status. Raises StepError when the box cannot be built.

    ``maps`` is where the daemon, whose pid is ``daemon``, is asked to write the id maps.
    """
    syscalls.set_process_name("box-warden")
    with step("create the namespaces"):
        syscalls.unshare(assignment.ids.namespaces)
    maps.send(b"map")
    if not maps.recv(1):
        return 1
    syscalls.prctl(syscalls.PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != daemon:
        return 1
    with step("name the box"):
        socket.sethostname(HOSTNAME)
    handover, servers = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    handover.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    with step("create a pid namespace"):
        # Last: whatever is forked next becomes the first process of the namespace.
        syscalls.unshare(syscalls.CLONE_NEWPID)

    def be_init() -> int:
        handover.close()
        return run_init(assignment, box, servers)

    init = fork(be_init, box)
    kept = [0, 1, 2, box.fileno(), handover.fileno(), assignment.log, assignment.proc]
    syscalls.close_all_but(kept if assignment.gateway is None else [*kept, assignment.gateway])
    init_handle = os.pidfd_open(init)
    listeners = _open_network(assignment, box, init, init_handle)
    listener = _take_listener(box, handover)
    if listener is not None:
        with step("observe the server"):
            desk = SocketDesk(box)
            observe(listener, assignment.log, assignment.proc, listeners.open, init_handle, desk=desk)
        os.close(listener)
    select.select([init_handle], [], [])
    os.waitpid(init, 0)
    return 0


def _open_network(assignment: Assignment, box: socket.socket, init: int, init_handle: int) -> Listeners:
    """Set up the network while init builds the root, and tell the engine."""
    gateway, group = assignment.gateway, assignment.ids.group
    with step("set up the network"):
        ipv6 = set_up_loopback()
    # As most systems set it: a ping is a contact, which a refusal would hide. Where /proc is read-only, it stays so.
    with contextlib.suppress(OSError):
        syscalls.write_setting("/proc/sys/net/ipv4/ping_group_range", f"{group} {group}")
    with step("open the packet tap"):
        tap = open_tap()
    listeners = Listeners(None if gateway is None else socket.socket(fileno=gateway))
    with step("open the name service"):
        listeners.open_name_service(ipv6=ipv6)
    with tap:
        socket.send_fds(box, [json.dumps({"watched": init}).encode()], [init_handle, tap.fileno()])
    return listeners


def _take_listener(box: socket.socket, handover: socket.socket) -> int | None:
    """Wait for the server to come under observation; None when it never does."""
    message, ancillary, _, _ = handover.recvmsg(16, socket.CMSG_SPACE(_CREDENTIALS.size))
    if not message:
        return None
    server, _, _ = _CREDENTIALS.unpack(ancillary[0][2])
    server_handle = os.pidfd_open(server)
    with step("take the listener of the server's filter"):
        listener = syscalls.pidfd_getfd(server_handle, int(message))
    socket.send_fds(box, [json.dumps({"started": server}).encode()], [server_handle])
    os.close(server_handle)
    handover.send(TAKEN)
    handover.close()
    return listener
