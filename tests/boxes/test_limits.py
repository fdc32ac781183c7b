"""Limits: each ends with a sentence, not with the machine."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from waiting import read_all, read_line, wait_until

from sandbox.boxes import Box, BoxPlan, Launcher, Limits
from sandbox.boxes.processes import memory_of_machine

Launch = Callable[..., Box]


def names(box: Box) -> list[str]:
    return [name for name, _ in box.limits_hit()]


def test_a_modest_server_hits_nothing(sh: Launch) -> None:
    box = sh("echo x > ~/x; ls / > /dev/null; echo ready; sleep 60")
    read_line(box)

    assert box.limits_hit() == []


def test_a_fork_bomb_ends_with_its_box_while_other_boxes_go_on(rung_launcher: Launcher) -> None:
    bomb = "bomb() { bomb | bomb & }; bomb; sleep 60"
    with (
        rung_launcher.launch(BoxPlan(("/bin/sh", "-c", "while read line; do echo $line; done"))) as other,
        rung_launcher.launch(BoxPlan(("/bin/sh", "-c", bomb), limits=Limits(processes=200))) as box,
    ):
        started = time.monotonic()
        wait_until(lambda: names(box) == ["processes"])
        wait_until(lambda: box.processes() == [])
        assert time.monotonic() - started < 8
        assert other.alive
        box.check()


def test_threads_count_as_processes(launcher: Launcher, python: tuple[str, tuple[object, ...]]) -> None:
    program, exposures = python
    script = "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(60,)).start()"
    plan = BoxPlan((program, "-I", "-S", "-c", script), exposures=exposures, limits=Limits(processes=50))  # type: ignore[arg-type]
    with launcher.launch(plan) as box:
        wait_until(lambda: not box.alive)
        assert names(box) == ["processes"] or "can't start new thread" in box.stderr_tail()


def test_a_memory_hog_is_killed(launcher: Launcher, python: tuple[str, tuple[object, ...]]) -> None:
    program, exposures = python
    script = "import time\nhoard = []\nwhile True: hoard.append(b'x' * (4 << 20)); time.sleep(0.005)"
    plan = BoxPlan((program, "-I", "-S", "-c", script), exposures=exposures, limits=Limits(memory_mb=100))  # type: ignore[arg-type]
    with launcher.launch(plan) as box:
        wait_until(lambda: not box.alive)
        assert names(box) == ["memory"]
        assert "100" in dict(box.limits_hit())["memory"]


@pytest.mark.parametrize(
    "script",
    [
        "m = mmap.mmap(-1, 400 << 20)\nfor at in range(0, 400 << 20, 4096): m[at] = 1",
        "m = mmap.mmap(-1, 400 << 20)\nfor at in range(0, 400 << 20, 4096):\n"
        "    m[at] = 1\n    if at % (1 << 20) == 0: m.madvise(mmap.MADV_DONTNEED)",
        "f = [os.memfd_create('m') for _ in range(8)]\nfor one in f * 50: os.write(one, bytes(1 << 20))",
    ],
    ids=["mapped", "mapped-and-in-no-process", "in-descriptors"],
)
def test_memory_that_is_shared_counts_too(
    launcher: Launcher, python: tuple[str, tuple[object, ...]], script: str
) -> None:
    program, exposures = python
    words = (program, "-I", "-S", "-c", f"import mmap, os, time\n{script}\ntime.sleep(600)")
    plan = BoxPlan(words, exposures=exposures, limits=Limits(memory_mb=100))  # type: ignore[arg-type]
    with launcher.launch(plan) as box:
        wait_until(lambda: not box.alive)
        assert names(box) == ["memory"]


def test_a_server_is_ended_before_the_machine_runs_out_of_memory(
    launcher: Launcher, python: tuple[str, tuple[object, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, exposures = python
    total, _, shared = memory_of_machine()
    with launcher.launch(BoxPlan((program, "-c", "input()"), exposures=exposures)) as box:  # type: ignore[arg-type]
        monkeypatch.setattr("sandbox.boxes.limits.memory_of_machine", lambda: (total, 1 << 20, shared))
        wait_until(lambda: not box.alive)
        assert "1 MiB" in dict(box.limits_hit())["memory"]


def test_a_full_disk_is_told_and_the_server_lives(sh: Launch) -> None:
    box = sh("head -c 50000000 /dev/zero > ~/big; echo $?; sleep 60", limits=Limits(disk_mb=8))

    assert read_line(box) == "1"
    assert names(box) == ["disk"]
    assert box.alive


def test_too_many_files_fill_the_disk_too(sh: Launch) -> None:
    box = sh(
        "cd /tmp; i=0; while true > f$i; do i=$((i+1)); done 2>/dev/null; echo full; sleep 60",
        limits=Limits(disk_mb=1),
    )

    assert read_line(box) == "full"
    assert names(box) == ["disk"]


def test_a_file_that_is_too_large_is_cut_and_told(sh: Launch) -> None:
    box = sh("exec head -c 50000000 /dev/zero > ~/big", limits=Limits(file_mb=2))

    wait_until(lambda: not box.alive)
    assert names(box) == ["file"]


def test_open_files_and_core_dumps_are_limited(sh: Launch) -> None:
    assert read_all(sh("ulimit -n; ulimit -c", limits=Limits(open_files=123))).split() == ["123", "0"]
