"""Every rung for real, in an engine that has no more than the rung needs.

An unprivileged user has one rung, and nothing to give up for it; root tries each of root's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sandbox.linux import powers
from sandbox.linux.namespaces import server_owner

IS_ROOT = os.geteuid() == 0
HERE = Path(__file__).parent
POWERS = {
    "root": (powers.TO_BE_ROOT, "users"),
    "mapped": (powers.TO_MAP, "users"),
    "plain": (powers.TO_DO_WITHOUT, "none"),
    "user": ((), "users"),
}
INSTRUMENTS = {"files", "observer", "tap", "canaries"}


def engine(capabilities: tuple[str, ...], namespaces: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run Python with these capabilities, and user namespaces or none."""
    return subprocess.run(
        [sys.executable, str(HERE / "reduced.py"), ",".join(capabilities), namespaces, *words],
        env={**os.environ, "PYTHONPATH": str(HERE.parents[1])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@dataclass
class Exercise:
    """What the exercise saw on one rung."""

    rung: str
    told: dict[str, Any]

    @property
    def box(self) -> dict[str, Any]:
        found: dict[str, Any] = self.told["box"]
        return found


@pytest.fixture(scope="module", params=["root", "mapped", "plain"] if IS_ROOT else ["user"])
def exercise(request: pytest.FixtureRequest, tool: Path) -> Exercise:
    done = engine(*POWERS[request.param], str(HERE / "exercise.py"), str(tool))
    assert done.returncode == 0, done.stderr
    return Exercise(request.param, json.loads(done.stdout))


def test_it_is_the_highest_rung_of_such_an_engine(exercise: Exercise) -> None:
    works = {name for name, works in exercise.told["ladder"].items() if works}

    assert exercise.told["rung"] == exercise.rung
    assert works - {"mapped"} == {exercise.rung, *INSTRUMENTS} - {"mapped"}
    assert exercise.told["settled"] == (exercise.rung == "mapped")


def test_the_server_has_no_power_and_an_id_of_nobody(exercise: Exercise) -> None:
    assert exercise.box["capabilities"] == ["0" * 16]
    assert exercise.box["no_new_privileges"] == "1"
    assert exercise.box["user"] == [server_owner()] * 2
    assert exercise.box["settings"] == ["Read-only file system"] * 2


def test_new_namespaces_are_refused_and_recorded(exercise: Exercise) -> None:
    assert exercise.box["namespaces"] == "-1 -1"
    assert exercise.box["recorded"] == ["unshare"]


def test_the_server_sees_its_own_processes_alone(exercise: Exercise) -> None:
    assert exercise.box["others"] == "No such file or directory 1"


def test_every_name_and_address_leads_to_the_gateway(exercise: Exercise) -> None:
    assert exercise.box["name"].count(".") == 3
    assert exercise.box["contact"] == "192.0.2.7"
    assert exercise.box["interfaces"] == "lo"


def test_the_engine_sees_all_that_the_server_did(exercise: Exercise) -> None:
    assert exercise.box["changes"] == {
        "/home/user/private": ["created", True],
        "/seeded/doomed": ["deleted", False],
    }
    assert exercise.box["canaries"] == ["/seeded/canary"]
    assert exercise.box["executable"]
    assert exercise.box["writer"]
    assert exercise.box["looked"]


def test_the_engine_reaches_and_ends_the_server(exercise: Exercise) -> None:
    assert exercise.box["ports"] == [8123]
    assert exercise.box["ended"] == -9


def test_what_is_exposed_can_be_read(exercise: Exercise) -> None:
    assert exercise.box["exposed"] == "of the host"


def test_an_image_takes_the_systems_place(exercise: Exercise) -> None:
    inside = server_owner() if exercise.rung == "plain" else 0

    assert exercise.told["image"] == [f"{inside}:{inside}", "dev etc proc sys tmp var", "box"]


@pytest.mark.parametrize("rung", ["root", "mapped", "plain"] if IS_ROOT else ["root", "plain"])
def test_who_lacks_capabilities_is_told_which_to_add_and_who_is_not_root_to_be_it(rung: str) -> None:
    script = (
        "import json; from sandbox.linux.powers import settle; settle()\n"
        "from sandbox.boxes import ladder\n"
        "print(json.dumps([[rung.name, rung.why_not, rung.cure] for rung in ladder()]))"
    )
    done = engine(("CHOWN",), "users", "-c", script)
    assert done.returncode == 0, done.stderr
    reasons = {name: (why, cure) for name, why, cure in json.loads(done.stdout)}

    needed = [name for name in POWERS[rung][0] if name != "CHOWN"]
    why, cure = reasons[rung]
    if IS_ROOT:
        assert why == f"root lacks the capabilities {' '.join(needed)} here"
        assert all(f"--cap-add {name}" in cure for name in needed)
    else:
        assert (why, cure) == (
            "hintproof does not run as root",
            "run hintproof as root, or make another rung work",
        )
