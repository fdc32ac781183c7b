"""What the tests of containers share: a tiny image, waiting, and a second Docker engine to be killed."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import signal
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from sandbox.containers.connection import Docker, connect
from sandbox.containers.spec import ContainerRung

PATIENCE_S = 120.0
ANYBODY = ContainerRung("user", "1000:1000", (), "no capability")


def wait_until(condition: Callable[[], object], patience_s: float = PATIENCE_S) -> None:
    """Poll until something is true; fails when it is not in time."""
    deadline = time.monotonic() + patience_s
    while not condition():
        assert time.monotonic() < deadline, "it never became true"
        time.sleep(0.05)


def names(docker: Docker) -> set[str]:
    """Every container there is, running or not."""
    return {
        name.removeprefix("/") for found in docker.client.api.containers(all=True) for name in found["Names"]
    }


def tiny_image(docker: Docker) -> str:
    """An image with this machine's sh, cat and sleep, and the libraries that they need; its id."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for path in sorted(_with_libraries("sh", "cat", "sleep")):
            tar.add(os.path.realpath(path), arcname=path.lstrip("/"))
    answer = docker.client.api.import_image_from_data(packed.getvalue())
    found = re.search(r"sha256:[0-9a-f]{64}", str(answer))
    assert found, answer
    return found[0]


def _with_libraries(*commands: str) -> set[str]:
    paths: set[str] = set()
    for command in commands:
        path = shutil.which(command, path="/bin:/usr/bin")
        assert path, command
        listed = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
        paths |= {f"/bin/{command}", *re.findall(r"(/\S+) \(0x", listed)}
    return paths


class SecondEngine:
    """A Docker engine of a test's own, beside the machine's."""

    def __init__(self, folder: Path) -> None:
        self.address = f"unix://{folder}/docker.sock"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        log = (self._folder / "log").open("ab")
        # A killed one leaves its pid and containerd's behind, and takes a zombie under such a pid for a living one:
        # what it left is nobody's child, and not every machine's first process fetches those.
        for left in ("pid", "exec/containerd/containerd.pid"):
            (self._folder / left).unlink(missing_ok=True)
        with log:
            self._process = subprocess.Popen(
                # In a network of its own: without a bridge of its own it would remove the other engine's.
                [
                    "unshare",
                    "--net",
                    "dockerd",
                    f"--data-root={self._folder}/data",
                    f"--exec-root={self._folder}/exec",
                    f"--host={self.address}",
                    f"--pidfile={self._folder}/pid",
                    "--bridge=none",
                    "--iptables=false",
                    "--ip6tables=false",
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_until(self._answers)

    def end(self, number: int = signal.SIGTERM) -> None:
        """End it by a signal and wait until it is gone."""
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)
        self._process.wait(PATIENCE_S)

    def clean(self) -> None:
        """End everything that still runs for it."""
        self.end(signal.SIGKILL)
        ours = str(self._folder)
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if any(ours in word for word in process.cmdline()) and process.pid != os.getpid():
                    process.kill()
        for mount in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            target = mount.split()[1]
            if target.startswith(ours):
                subprocess.run(["umount", "-l", target], check=True)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "log").read_text()
        return (
            subprocess.run(
                ["docker", "-H", self.address, "version"], check=False, capture_output=True
            ).returncode
            == 0
        )


@contextmanager
def connected_to(address: str, monkeypatch_env: Callable[[str, str], None]) -> Iterator[Docker]:
    """A connection to the engine at an address."""
    monkeypatch_env("DOCKER_HOST", address)
    with connect() as docker:
        yield docker
