"""The box of an installation: one command that reaches the registries, and the folder that it leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sandbox.provision.plan import Installed, InstallPlan


def install(plan: InstallPlan, into: Path, *, cancelled: Callable[[], bool] = lambda: False) -> Installed:
    """Run the plan's command in a box of its own, and copy the folder that it made to ``into``.

    ``into`` is an empty folder of the caller's, who removes it when nothing is to be kept. ``cancelled`` is asked a few times a second;
    the box is ended when it says so. What the command does is data, however it ends. Any thread may call it; it blocks.

    Raises:
        NoSandboxError: no sandbox works on this machine.
        BoxLostError: one of our own processes died.
        InstallError: the folder cannot be kept: it holds more than the limits allow, or ``into`` cannot be written.
        CancelledError: ``cancelled`` said so.
    """
    raise NotImplementedError
