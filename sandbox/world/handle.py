"""The engine's handle of the gateway process."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from types import MappingProxyType

from sandbox.errors import BoxLostError
from sandbox.world.destinations import read_destinations
from sandbox.world.exchanges import ExchangeLog
from sandbox.world.trust import BUNDLE_PATH, ENVIRONMENT

_LARGEST_MESSAGE = 65_536
_START_S = 30.0
_STOP_S = 3.0
_NO_ADDRESSES: Mapping[str, str] = MappingProxyType({})


class World:
    """The gateway of a run: DNS, TCP, UDP and HTTP(S) for every box that is attached.

    ``environment`` makes the common clients trust the run's authority through ``bundle_path``; both are of
    the box.
    """

    bundle_path = BUNDLE_PATH
    environment = ENVIRONMENT

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, complaints: int) -> None:
        self._process = process
        self._control = control
        self._complaints = complaints
        self._ca_pem = b""

    @classmethod
    def start(cls) -> World:
        """Start the gateway process without waiting for it: its imports and keys take a while."""
        control, gateway = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        complaints = os.memfd_create("gateway-stderr", os.MFD_CLOEXEC)
        with gateway:
            process = subprocess.Popen(
                [sys.executable, "-I", "-m", "sandbox.world.gateway", str(gateway.fileno())],
                pass_fds=[gateway.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=complaints,
                cwd="/",
                # Ctrl-C is the engine's to handle, which still wants to read what the gateway recorded.
                start_new_session=True,
            )
        return cls(process, control, complaints)

    @property
    def alive(self) -> bool:
        """Whether the gateway process runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The gateway's process id."""
        return self._process.pid

    @property
    def ca_pem(self) -> bytes:
        """The certificate of the run's authority, PEM. Waits for the gateway's start the first time.

        Raises BoxLostError when the gateway did not start.
        """
        if not self._ca_pem:
            self._control.settimeout(_START_S)
            with contextlib.suppress(OSError):
                self._ca_pem = self._control.recv(_LARGEST_MESSAGE)
            if not self._ca_pem:
                raise self._lost()
        return self._ca_pem

    def attach(
        self, box: str, *, relay: Iterable[str] | None = None, addresses: Mapping[str, str] = _NO_ADDRESSES
    ) -> tuple[int, ExchangeLog]:
        """Open the world of one box. Returns at once, however far the gateway's start is.

        With a ``relay``, the box reaches what is listed there for real and nothing is simulated: connections to
        ``HOST:PORT`` are passed on as they are where they ask for HOST in TLS (``http://HOST:PORT``: whatever
        they are), through the machine's proxy where it has one, and are recorded as ``relayed``; every other one
        is recorded and refused. ``addresses`` says where a host of the list lies that no name service knows.

        The descriptor is the warden's end of a SEQPACKET pair, on which it passes the box's sockets: the
        caller owns it, and its last copy to be closed ends this box's world. The log is the caller's to
        close. Raises BoxLostError when the gateway is gone, ValueError for a list that cannot be read.
        """
        listed = None if relay is None else [asdict(each) for each in read_destinations(relay, addresses)]
        warden, gateway = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        log = os.memfd_create("exchanges", os.MFD_CLOEXEC)
        message = json.dumps({"box": box, "relay": listed}).encode()
        with gateway:
            try:
                socket.send_fds(self._control, [message], [gateway.fileno(), log])
            except OSError as error:
                warden.close()
                os.close(log)
                raise self._lost() from error
        return warden.detach(), ExchangeLog(log)

    def close(self) -> None:
        """End the gateway and every connection through it; idempotent."""
        self._control.close()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._complaints >= 0:
            os.close(self._complaints)
            self._complaints = -1

    def _lost(self) -> BoxLostError:
        tail = os.pread(self._complaints, _LARGEST_MESSAGE, 0).decode(errors="replace").strip()
        cause = tail.splitlines()[-1] if tail else "it said nothing"
        return BoxLostError(
            f"The gateway process is gone, so no box has a network: {cause}. "
            "Run `hintproof doctor` to see what this machine lacks."
        )
