"""A real overlay in a namespace of its own, as a box has it: a forked child mounts it and acts in it on demand."""

from __future__ import annotations

import array
import contextlib
import ctypes
import os
import socket
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_CLONE_NEWNS = 0x00020000
_CLONE_NEWUSER = 0x10000000
_MS_REC = 0x4000
_MS_PRIVATE = 1 << 18
_libc = ctypes.CDLL(None, use_errno=True)

Act = Callable[[Path], None]


@dataclass(frozen=True)
class FakeLayer:
    prefix: str
    lower: str | None
    upper: int


class Overlay:
    """Overlay over ``lower`` whose upper ``seed`` filled; ``acts`` are run in it one by one with :meth:`act`."""

    def __init__(
        self, scratch: Path, *, lower: Act | None = None, seed: Act | None = None, acts: list[Act]
    ) -> None:
        self.lower = scratch / "lower"
        self.lower.mkdir()
        if lower is not None:
            lower(self.lower)
        (scratch / "mounts").mkdir()
        self._ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._ours.settimeout(30)
        self._child = os.fork()
        if self._child == 0:
            self._ours.close()
            _serve(theirs, self.lower, scratch / "mounts", seed, acts)
        theirs.close()
        message, control, *_ = self._ours.recvmsg(65536, socket.CMSG_SPACE(8))
        if not control:
            raise AssertionError(message.decode())
        fds = array.array("i")
        fds.frombytes(control[0][2][:8])
        self.upper, self.shm = fds
        self.layers = [
            FakeLayer("/home", str(self.lower), self.upper),
            FakeLayer("/dev/shm", None, self.shm),
        ]

    def act(self) -> None:
        """Run the next act to its end."""
        self._ours.send(b"go")
        answer = self._ours.recv(65536)
        assert answer == b"done", answer.decode()

    def close(self) -> None:
        self._ours.close()
        os.waitpid(self._child, 0)
        os.close(self.upper)
        os.close(self.shm)


def _mount(source: str, target: Path, kind: str | None, flags: int, options: str = "") -> None:
    if _libc.mount(
        source.encode(), bytes(target), kind.encode() if kind else None, flags, options.encode() or None
    ):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), f"mount {target}")


def _enter(mounts: Path, lower: Path, seed: Act | None) -> tuple[int, int]:
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(_CLONE_NEWUSER | _CLONE_NEWNS):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), "unshare")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {user} 1")
    Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _mount("none", Path("/"), None, _MS_REC | _MS_PRIVATE)
    _mount("scratch", mounts, "tmpfs", 0)
    for name in ("upper", "work", "home", "shm"):
        (mounts / name).mkdir()
    if seed is not None:
        seed(mounts / "upper")
    _mount("shm", mounts / "shm", "tmpfs", 0)
    options = f"lowerdir={lower},upperdir={mounts}/upper,workdir={mounts}/work,userxattr"
    _mount("overlay", mounts / "home", "overlay", 0, options)
    flags = os.O_RDONLY | os.O_DIRECTORY
    return os.open(mounts / "upper", flags), os.open(mounts / "shm", flags)


def _serve(link: socket.socket, lower: Path, mounts: Path, seed: Act | None, acts: list[Act]) -> None:
    try:
        os.umask(0o022)
        fds = _enter(mounts, lower, seed)
        link.sendmsg([b"ready"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
        for act in acts:
            if not link.recv(16):
                break
            act(mounts / "home")
            link.send(b"done")
        link.recv(16)
    except BaseException:  # noqa: BLE001 - the child must never return into pytest
        link.send(traceback.format_exc().encode())
    finally:
        os._exit(0)


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder on a tmpfs, as a box's upper layers are: no inode number is given out twice there, as it is on disk."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


@pytest.fixture
def overlays(tmp_path: Path) -> Iterator[Callable[..., Overlay]]:
    """Makes overlays that are gone at the end of the test."""
    with contextlib.ExitStack() as stack:

        def make(**how: Any) -> Overlay:
            overlay = Overlay(tmp_path, **how)
            stack.callback(overlay.close)
            return overlay

        yield make
