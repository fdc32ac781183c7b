"""Where boxes can be built, and what is said where they cannot."""

from __future__ import annotations

import errno
import os

import pytest

from sandbox.boxes import Launcher, ladder
from sandbox.errors import NoSandboxError
from sandbox.linux.order import StepError


def test_the_ladder_names_every_rung_and_instrument() -> None:
    rungs = {rung.name: rung for rung in ladder()}

    is_root = os.geteuid() == 0
    assert rungs["root"].works == rungs["plain"].works == is_root
    assert rungs["mapped" if is_root else "user"].works
    assert {"files", "observer", "tap", "canaries"} <= {name for name, rung in rungs.items() if rung.works}
    assert all(rung.why_not and rung.cure for rung in rungs.values() if not rung.works)


def test_the_launcher_stands_on_the_highest_rung() -> None:
    with Launcher.start() as launcher:
        assert launcher.rung == ("root" if os.geteuid() == 0 else "user")


def test_without_any_rung_every_reason_and_cure_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.boxes.rungs.Daemon", _refusing("create a user namespace"))
    monkeypatch.setattr("sandbox.boxes.rungs.os.geteuid", lambda: 1000)
    monkeypatch.setattr(
        "sandbox.boxes.rungs._setting", {"kernel/apparmor_restrict_unprivileged_userns": "1"}.get
    )

    with pytest.raises(NoSandboxError) as refused:
        Launcher.start()
    message = str(refused.value)
    assert "root: hintproof does not run as root" in message
    assert "user: create a user namespace: Operation not permitted" in message
    assert "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0" in message


@pytest.mark.parametrize(
    ("setting", "value", "cure"),
    [
        (
            "kernel/apparmor_restrict_unprivileged_userns",
            "1",
            "kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ("kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        ("user/max_user_namespaces", "0", "user.max_user_namespaces="),
    ],
)
def test_the_setting_that_blocks_is_named(
    setting: str, value: str, cure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.boxes.rungs._setting", {setting: value}.get)
    monkeypatch.setattr("sandbox.boxes.rungs.os.geteuid", lambda: 1000)
    monkeypatch.setattr("sandbox.boxes.rungs.Daemon", _refusing("create a user namespace"))

    (user,) = (rung for rung in ladder() if rung.name == "user")
    assert cure in user.cure


@pytest.mark.parametrize(
    ("step", "cure"), [("mount an overlay", "modprobe overlay"), ("mount /proc", "systempaths=unconfined")]
)
def test_a_failed_step_has_its_own_cure(step: str, cure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox.boxes.rungs.os.geteuid", lambda: 1000)
    monkeypatch.setattr("sandbox.boxes.rungs.Daemon", _refusing(step))

    (user,) = (rung for rung in ladder() if rung.name == "user")
    assert cure in user.cure


def _refusing(step: str) -> type:
    class Refusing:
        def __init__(self, _rung: str) -> None:
            raise StepError(step, errno.EPERM, "Operation not permitted")

    return Refusing
