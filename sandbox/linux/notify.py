"""The supervisor's end of seccomp user notification (seccomp_unotify(2), linux/seccomp.h)."""

from __future__ import annotations

import errno
import fcntl
import struct
from typing import NamedTuple

_RECEIVE = 0xC0502100  # SECCOMP_IOCTL_NOTIF_RECV
_SEND = 0xC0182101  # SECCOMP_IOCTL_NOTIF_SEND
_ID_VALID = 0x40082102  # SECCOMP_IOCTL_NOTIF_ID_VALID
_SET_FLAGS = 0x40082104  # SECCOMP_IOCTL_NOTIF_SET_FLAGS
_SYNC_WAKE_UP = 1
_CONTINUE = 1

_NOTIFICATION = struct.Struct("=QIIiIQ6Q")  # struct seccomp_notif: id, pid, flags, then struct seccomp_data
_RESPONSE = struct.Struct("=QqiI")  # struct seccomp_notif_resp: id, val, error, flags
_COOKIE = struct.Struct("=Q")

_NO_NOTIFICATION = bytes(_NOTIFICATION.size)


class Notification(NamedTuple):
    """A call that is held: its cookie, the thread that made it (as the receiver sees it), its number and arguments."""

    cookie: int
    tid: int
    number: int
    arguments: tuple[int, ...]


class Listener:
    """A seccomp listener; the descriptor stays the caller's."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._notification = bytearray(_NOTIFICATION.size)
        self._response = bytearray(_RESPONSE.size)
        try:
            # Caller and observer take turns: waking the other on the same core saves a migration (Linux 6.6).
            fcntl.ioctl(descriptor, _SET_FLAGS, _SYNC_WAKE_UP)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTTY):
                raise

    def receive(self) -> Notification | None:
        """Take the next held call; blocks while there is none. None when its caller has died meanwhile."""
        self._notification[:] = _NO_NOTIFICATION  # the kernel insists
        try:
            fcntl.ioctl(self._descriptor, _RECEIVE, self._notification)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):
                return None
            raise
        cookie, tid, _, number, _, _, *arguments = _NOTIFICATION.unpack(self._notification)
        return Notification(cookie, tid, number, tuple(arguments))

    def holds(self, notification: Notification) -> bool:
        """Whether the caller still waits. Until this was true, what was read of it may be another process's."""
        try:
            fcntl.ioctl(self._descriptor, _ID_VALID, _COOKIE.pack(notification.cookie))
        except OSError as error:
            if error.errno == errno.ENOENT:
                return False
            raise
        return True

    def proceed(self, notification: Notification) -> None:
        """Let the call run, with whatever its arguments are by now."""
        self._respond(notification, 0, _CONTINUE)

    def refuse(self, notification: Notification, error: int) -> None:
        """Answer the call with an errno; it does not run."""
        self._respond(notification, -error, 0)

    def _respond(self, notification: Notification, error: int, flags: int) -> None:
        _RESPONSE.pack_into(self._response, 0, notification.cookie, 0, error, flags)
        try:
            fcntl.ioctl(self._descriptor, _SEND, self._response)
        except OSError as failure:
            if failure.errno != errno.ENOENT:  # the caller was killed
                raise
