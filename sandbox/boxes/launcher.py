"""Launching boxes: from a plan to a running server."""

from __future__ import annotations

import itertools
import os
import threading
from pathlib import PurePath

from sandbox.boxes.attendant import Attendant
from sandbox.boxes.box import Box, Layer
from sandbox.boxes.canaries import CanaryWatch
from sandbox.boxes.daemon import Daemon
from sandbox.boxes.ends import Ends
from sandbox.boxes.exposures import Layout, lay_out
from sandbox.boxes.plan import BoxPlan, Exposure
from sandbox.boxes.rungs import climb
from sandbox.errors import BoxLostError
from sandbox.linux.base import HOSTNAME, SYSTEM_FOLDERS
from sandbox.linux.namespaces import server_owner
from sandbox.linux.order import SERVER_ID, LayerOrder, Order, StepError

_MIB = 1 << 20

_ENVIRONMENT = {
    "USER": "user",
    "LOGNAME": "user",
    "SHELL": "/bin/sh",
    "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
    "LANG": "C.UTF-8",
}


_IMAGE_ENVIRONMENT = {
    "HOSTNAME": HOSTNAME,
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}
"""What an image's own environment is laid over, as a container engine has it (runtime specification of Docker)."""


class Launcher:
    """Launches boxes on one rung of the ladder. Close it, or use it as a context manager. Any thread may use it."""

    def __init__(self, daemon: Daemon) -> None:
        self.rung: str = daemon.rung
        self._daemon = daemon
        self._user = server_owner()
        self._attendant = Attendant()
        self._watch = CanaryWatch()
        self._names = itertools.count(1)
        self._layouts: dict[tuple[tuple[Exposure, ...], bool], Layout] = {}
        self._boxes: set[Box] = set()
        self._lock = threading.Lock()

    @property
    def daemon_pid(self) -> int:
        """The launcher daemon's process id."""
        return self._daemon.pid

    @classmethod
    def start(cls) -> Launcher:
        """Start a launcher on the highest rung on which a trial box runs.

        Raises:
            NoSandboxError: no rung carries; the message gives each one's reason and cure.
        """
        return cls(climb())

    def __enter__(self) -> Launcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def launch(self, plan: BoxPlan, gateway: int | None = None) -> Box:
        """Launch a box and return once its server is about to be executed; a few tens of milliseconds.

        ``gateway`` is a SEQPACKET socket on which the box's warden passes on the listeners that it opens
        (None: nobody answers in the box's network); the descriptor stays the caller's.

        Raises:
            UsageError: an exposure that cannot be.
            BoxLostError: the box could not be built although the rung works, or the daemon died.
        """
        try:
            ends = self._daemon.launch(self._order(plan), gateway, stdout_is_log=plan.stdout_is_log)
            try:
                box = self._start_server(plan, ends)
            except (StepError, BoxLostError, OSError):
                ends.close()
                raise
        except StepError as failure:
            raise BoxLostError(f"the box could not be built: {failure}") from failure
        except OSError as failure:
            raise BoxLostError(f"the canaries could not be watched: {failure}") from failure
        with self._lock:
            self._boxes.add(box)
        self._attendant.attend(box)
        return box

    def close(self) -> None:
        """End every box and the daemon; idempotent."""
        with self._lock:
            boxes = list(self._boxes)
        for box in boxes:
            box.close()
        self._attendant.close()
        self._watch.close()
        self._daemon.close()

    def _order(self, plan: BoxPlan) -> Order:
        layout, limits, image = self._layout(plan), plan.limits, plan.image
        home = plan.home if image is None else image.home
        defaults = _ENVIRONMENT if image is None else _IMAGE_ENVIRONMENT
        return Order(
            argv=plan.argv,
            env={**defaults, "HOME": home, **plan.env},
            cwd=plan.cwd,
            home=home,
            layers=tuple(LayerOrder(path, layout.sources.get(path, path)) for path in layout.layers),
            folders=tuple(layout.folders),
            links=tuple(layout.links),
            files=tuple((path, path) for path in layout.files),
            seeds=self._daemon.register(plan.seeds),
            processes=limits.processes,
            file_size=limits.file_mb * _MIB,
            open_files=limits.open_files,
            disk_size=limits.disk_mb * _MIB,
            image="" if image is None else image.path,
            user=SERVER_ID if image is None else image.user,
            group=SERVER_ID if image is None else image.group,
            watch_files=plan.watch_files,
        )

    def _layout(self, plan: BoxPlan) -> Layout:
        key = (plan.exposures, plan.image is None)
        with self._lock:
            layout = self._layouts.get(key)
            if layout is None:
                layout = lay_out(plan.exposures, SYSTEM_FOLDERS if plan.image is None else ())
                self._layouts[key] = layout
        return layout

    def _start_server(self, plan: BoxPlan, ends: Ends) -> Box:
        canaries = self._watch.watch(ends.root, plan.canaries)
        ends.go()
        layers = _layers(self._layout(plan), ends)
        return Box(
            f"box-{next(self._names)}",
            ends,
            user=self._user,
            has_image=plan.image is not None,
            limits=plan.limits,
            layers=layers,
            canaries=canaries,
            attendant=self._attendant,
            forget=self._forget,
        )

    def _forget(self, box: Box) -> None:
        with self._lock:
            self._boxes.discard(box)


def _layers(layout: Layout, ends: Ends) -> tuple[Layer, ...]:
    prefixes = ("/", *layout.layers)
    # By descriptor, which shows the owners that the box sees. With the dot, the link is in the middle of the
    # path, where it is followed.
    lowers = (f"/proc/{os.getpid()}/fd/{lower}/." for lower in ends.lowers)
    layers = [Layer(*parts) for parts in zip(prefixes, lowers, ends.uppers, strict=True)]
    layers.append(Layer("/dev/shm", None, ends.shared_memory))
    return tuple(sorted(layers, key=lambda layer: len(PurePath(layer.prefix).parts), reverse=True))
