"""A container's owner is taken for gone only when it certainly is."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest

from sandbox.containers.owner import is_gone, machine_label, this_process


def test_this_process_is_alive_and_known_by_its_machine() -> None:
    labels = this_process().labels()
    assert not is_gone(labels)
    assert machine_label() in {f"{name}={value}" for name, value in labels.items()}


def test_an_owner_that_has_ended_is_gone() -> None:
    code = (
        "from sandbox.containers.owner import this_process as p; import json; print(json.dumps(p().labels()))"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert is_gone(json.loads(ended))


def test_an_owner_whose_number_another_process_got_is_gone() -> None:
    assert is_gone(replace(this_process(), started="1").labels())


def test_an_owner_of_an_earlier_boot_is_gone_whatever_runs_under_its_number_now() -> None:
    assert is_gone(replace(this_process(), boot="an earlier one").labels())


@pytest.mark.parametrize(
    "other",
    [
        replace(this_process(), machine="another", pid=999999999),
        replace(this_process(), space="pid:[1]", pid=999999999),
    ],
    ids=["machine", "pid-namespace"],
)
def test_of_owners_elsewhere_nothing_is_known(other: object) -> None:
    assert not is_gone(other.labels())  # type: ignore[attr-defined]


def test_what_has_no_owner_is_nobodys_to_remove() -> None:
    assert not is_gone({})


def test_another_system_on_the_same_machine_counts_as_another_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    foreign = this_process().labels()
    monkeypatch.undo()
    assert machine_label() not in {f"{name}={value}" for name, value in foreign.items()}
    assert not is_gone({**foreign, "hintproof.owner.pid": "999999999"})
