"""Forking a part of a box."""

from __future__ import annotations

import os
import socket
import traceback
from collections.abc import Callable

from sandbox.linux.order import StepError

_FAILED = 70


def fork(body: Callable[[], int], box: socket.socket) -> int:
    """Fork a process that runs ``body``, ends with its result as exit status and never returns; returns its
    pid.

    A step that fails is told on the box's socket, anything unforeseen on stderr, which the engine keeps.
    """
    pid = os.fork()
    if pid:
        return pid
    status = _FAILED
    try:
        status = body()
    except StepError as failure:
        box.send(failure.encode(), socket.MSG_NOSIGNAL)
    except BaseException:  # noqa: BLE001 (whatever it is must not unwind into the code of the process that was copied)
        traceback.print_exc()
    finally:
        os._exit(status)
