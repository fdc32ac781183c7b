"""What a server must not reach or do, each tried from inside one box by ``hostile.py``."""

from __future__ import annotations

import ast
import json
import os
import select
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox.boxes import BoxPlan, Exposure, Launcher
from sandbox.linux.namespaces import server_owner
from sandbox.model import SeedEntry

HOSTILE = Path(__file__).with_name("hostile.py")
ATTEMPTS = [
    node.name
    for node in ast.parse(HOSTILE.read_text()).body
    if isinstance(node, ast.FunctionDef) and node.name.startswith("reach_")
]
MARKER = "a-secret-of-the-host"
VERDICTS_S = 60


@dataclass(frozen=True)
class Siege:
    verdicts: dict[str, str]
    exposure: Path
    was_alive: bool


@pytest.fixture(scope="module")
def siege(rung_launcher: Launcher, python: tuple[str, tuple[Exposure, ...]]) -> Iterator[Siege]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hintproof-walls-")))
        folder.chmod(0o777)
        hidden = folder / "hidden"
        hidden.mkdir()
        for name in ("secret", "key"):
            (hidden / name).write_text(MARKER)
        exposure = folder / "exposed"
        exposure.mkdir()
        exposure.chmod(0o777)
        for name in ("old.txt", "doomed.txt"):
            (exposure / name).write_text("of the host")
            (exposure / name).chmod(0o666)

        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0hintproof-walls-{os.getpid()}")
        abstract.listen()
        named = stack.enter_context(socket.socket(socket.AF_UNIX))
        named.bind(str(hidden / "socket"))
        named.listen()
        service = stack.enter_context(socket.socket())
        service.bind(("0.0.0.0", 0))
        service.listen()
        victim = stack.enter_context(subprocess.Popen(["sleep", "600"]))
        stack.callback(victim.kill)

        program, exposures = python
        facts = {
            "secret": str(hidden / "secret"),
            "key": str(hidden / "key"),
            "hidden": [str(hidden), str(Path(__file__).parent)],
            "exposure": str(exposure),
            "exposed": _tops([exposure, *(Path(shown.path) for shown in exposures)]),
            "user": server_owner() if rung_launcher.rung == "plain" else 1000,
            "victim": victim.pid,
            "abstract": abstract.getsockname()[1:].decode(),
            "socket": str(hidden / "socket"),
            "port": service.getsockname()[1],
            "address": _own_address(),
            "marker": MARKER,
            "environment": [],
        }
        stack.enter_context(pytest.MonkeyPatch.context()).setenv("HOST_SECRET", MARKER)
        plan = BoxPlan(
            (program, "-I", "-S", "hostile.py"),
            env={"HOST_FACTS": json.dumps(facts)},
            exposures=(*exposures, Exposure(str(exposure))),
            seeds=(SeedEntry("/home/user/hostile.py", "file", content=HOSTILE.read_bytes()),),
        )
        box = stack.enter_context(rung_launcher.launch(plan))
        verdicts = b""
        while not verdicts.endswith(b"}"):
            assert select.select([box.stdout], [], [], VERDICTS_S)[0], "no verdict came"
            part = os.read(box.stdout, 65536)
            assert part, box.stderr_tail()
            verdicts += part
        yield Siege(json.loads(verdicts), exposure, box.alive)


def _tops(paths: list[Path]) -> dict[str, list[str]]:
    """The entries of top folders that exposures account for."""
    tops: dict[str, list[str]] = {}
    for path in paths:
        _, top, entry, *_ = (*path.parts, "")
        tops.setdefault(f"/{top}", []).append(entry)
    return tops


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:  # a machine without any network
            return "127.0.0.1"
        return str(probe.getsockname()[0])


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_a_server_cannot(siege: Siege, attempt: str) -> None:
    assert siege.verdicts[attempt] == ""


def test_every_attempt_was_made(siege: Siege) -> None:
    assert len(ATTEMPTS) >= 100
    assert set(siege.verdicts) == set(ATTEMPTS)


def test_the_box_survives_all_of_it(siege: Siege) -> None:
    assert siege.was_alive


def test_changes_of_exposed_files_stay_in_the_box(siege: Siege) -> None:
    found = {path.name: path.read_text() for path in siege.exposure.iterdir()}

    assert found == {"old.txt": "of the host", "doomed.txt": "of the host"}
