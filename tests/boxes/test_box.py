"""What a server finds in its box, and what the engine sees of it."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from waiting import read_all, read_line, wait_until

from sandbox.boxes import Box, BoxPlan, Launcher
from sandbox.errors import BoxLostError
from sandbox.model import HOME, ProcessFact, SeedEntry

Launch = Callable[..., Box]


def test_the_server_speaks_over_its_pipes(sh: Launch) -> None:
    box = sh("read word; echo heard $word; echo aside >&2")
    os.write(box.stdin, b"hello\n")

    assert read_all(box) == "heard hello\n"
    assert box.stderr_tail() == "aside\n"


def test_the_exit_status_is_told_as_code_or_signal(sh: Launch) -> None:
    left, killed = sh("exit 3"), sh("kill -9 $$")

    for box in (left, killed):
        wait_until(lambda box=box: not box.alive)
    assert (left.exit_status, killed.exit_status) == (3, -9)


def test_a_command_that_does_not_exist_says_so_on_stderr(launcher: Launcher) -> None:
    with launcher.launch(BoxPlan(("no-such-command",))) as box:
        assert read_all(box) == ""
        wait_until(lambda: not box.alive)
        assert box.exit_status == 127
        assert "no-such-command" in box.stderr_tail()


def test_a_missing_working_directory_says_so_on_stderr(launcher: Launcher) -> None:
    with launcher.launch(BoxPlan(("true",), cwd="/nowhere")) as box:
        wait_until(lambda: not box.alive)
        assert "/nowhere" in box.stderr_tail()


def test_the_environment_is_the_plans_over_a_few_defaults(launcher: Launcher) -> None:
    with launcher.launch(BoxPlan(("/usr/bin/env",), env={"TOKEN": "t", "LANG": "de_DE"})) as box:
        found = dict(line.split("=", 1) for line in read_all(box).splitlines())

    assert found.pop("PATH").startswith("/usr/local/bin")
    assert found == {
        "TOKEN": "t",
        "LANG": "de_DE",
        "HOME": HOME,
        "USER": "user",
        "LOGNAME": "user",
        "SHELL": "/bin/sh",
    }


def test_home_and_tmp_are_fresh_and_writable(sh: Launch) -> None:
    first = sh("touch ~/a /tmp/b /dev/shm/c /var/tmp/d && ls ~ /tmp /dev/shm /var/tmp")
    assert read_all(first).split() == ["/dev/shm:", "c", f"{HOME}:", "a", "/tmp:", "b", "/var/tmp:", "d"]

    second = sh("ls -A ~ /tmp /dev/shm | grep -v :$")
    assert read_all(second).split() == []


def test_the_system_is_not_the_servers_to_change(sh: Launch) -> None:
    script = "for path in / /etc /usr /usr/bin /var /dev /home /etc/hosts /etc/passwd; do [ -w $path ] && echo $path; done"

    assert read_all(sh(script)) == ""


def test_the_box_knows_its_own_name(sh: Launch) -> None:
    assert read_all(sh("hostname; getent ahostsv4 box | head -1 | cut -d' ' -f1")).split() == [
        "box",
        "127.0.1.1",
    ]


def test_changes_appear_in_the_layer_of_their_path(sh: Launch) -> None:
    box = sh("echo one > ~/a; echo two > /dev/shm/b; echo ready; sleep 60")
    read_line(box)
    layers = {layer.prefix: layer for layer in box.layers}

    assert _read(layers["/"].upper, f".{HOME}/a") == "one\n"
    assert _read(layers["/dev/shm"].upper, "b") == "two\n"
    assert layers["/dev/shm"].lower is None


def test_what_lies_below_a_layer_can_be_read_at_its_lower_path(sh: Launch) -> None:
    box = sh("sleep 60")
    layers = {layer.prefix: layer for layer in box.layers}

    below = max(prefix for prefix in layers if prefix.startswith("/usr"))
    assert os.listdir(str(layers[below].lower)) == os.listdir(below)
    assert Path(f"{layers['/'].lower}/etc/hostname").read_text() == "box\n"


def test_the_deepest_layer_comes_first(sh: Launch) -> None:
    prefixes = [layer.prefix for layer in sh("true").layers]

    assert prefixes[-1] == "/"
    depths = [prefix.count("/") for prefix in prefixes[:-1]]
    assert depths == sorted(depths, reverse=True)


def test_system_calls_are_recorded_before_the_answer_can_be_read(sh: Launch) -> None:
    box = sh("echo x > ~/written; echo done; sleep 60")
    read_line(box)

    assert any(event.name == "openat" and event.path == f"{HOME}/written" for event in box.events.read_new())


def test_packets_to_other_machines_reach_the_tap_and_loopback_does_not(
    launcher: Launcher, python: tuple[str, tuple[object, ...]]
) -> None:
    program, exposures = python
    script = (
        "import socket\n"
        "with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:\n"
        "    s.sendto(b'away', ('11.22.33.44', 1234)); s.sendto(b'home', ('127.0.0.1', 1234)); s.sendto(b'self', ('10.0.2.15', 1234))\n"
        "print('done', flush=True)\n"
    )
    with launcher.launch(BoxPlan((program, "-I", "-S", "-c", script), exposures=exposures)) as box:  # type: ignore[arg-type]
        assert read_all(box) == "done\n"
        with socket.socket(fileno=os.dup(box.tap)) as tap:
            frames = _drain(tap)

    assert [frame[30:34] for frame in frames] == [bytes([11, 22, 33, 44])]
    assert frames[0].endswith(b"away")


@pytest.mark.skipif(
    not os.access("/proc/sys/net/ipv4/ping_group_range", os.F_OK), reason="this kernel makes no ping sockets"
)
def test_a_ping_reaches_the_tap(launcher: Launcher, python: tuple[str, tuple[object, ...]]) -> None:
    program, exposures = python
    script = (
        "import socket\n"
        "with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as s:\n"
        "    s.sendto(bytes([8, 0, 0, 0, 0, 0, 0, 1]), ('11.22.33.44', 0))\n"
    )
    with launcher.launch(BoxPlan((program, "-I", "-S", "-c", script), exposures=exposures)) as box:  # type: ignore[arg-type]
        read_all(box)
        assert box.stderr_tail() == ""
        with socket.socket(fileno=os.dup(box.tap)) as tap:
            frames = _drain(tap)
    assert bytes([11, 22, 33, 44]) in [frame[30:34] for frame in frames]


def test_every_process_of_the_box_is_listed_with_its_host_pid(sh: Launch) -> None:
    box = sh("sleep 61 & (setsid sleep 62 &) ; echo ready; sleep 60")
    read_line(box)

    def sleepers() -> list[ProcessFact]:
        return [fact for fact in box.processes() if fact.argv[:1] == ("sleep",)]

    wait_until(lambda: {("sleep", "61"), ("sleep", "62")} <= {fact.argv for fact in sleepers()})
    for fact in sleepers():
        assert Path(f"/proc/{fact.pid}/cmdline").read_bytes().split(b"\0")[0] == b"sleep"
        assert fact.executable.startswith(("/usr/bin/", "/bin/"))


def test_processes_that_come_and_go_between_looks_are_told_apart(sh: Launch) -> None:
    box = sh("echo ready; while read line; do (setsid sleep $line &); echo started; done")
    read_line(box)
    with subprocess.Popen(["sleep", "64"]) as outside:
        for seconds in ("65", "66"):
            before = {fact.pid for fact in box.processes()}
            os.write(box.stdin, f"{seconds}\n".encode())
            read_line(box)
            wait_until(lambda seconds=seconds: ("sleep", seconds) in {fact.argv for fact in box.processes()})
            (new,) = (fact for fact in box.processes() if fact.pid not in before)
            assert new.argv == ("sleep", seconds)
            os.kill(new.pid, 9)
            wait_until(lambda pid=new.pid: pid not in {fact.pid for fact in box.processes()})
        assert outside.pid not in {fact.pid for fact in box.processes()}
        outside.kill()


def test_a_box_is_quiet_only_while_nothing_runs(sh: Launch) -> None:
    idle, busy = sh("echo ready; sleep 60"), sh("echo ready; while :; do :; done")
    read_line(idle)
    read_line(busy)

    wait_until(idle.quiet)
    assert not busy.quiet()


def test_what_a_server_leaves_behind_outlives_it_until_the_box_is_closed(sh: Launch) -> None:
    box = sh("setsid sleep 63 & exit 0")
    wait_until(lambda: not box.alive)
    wait_until(lambda: [fact.argv for fact in box.processes()] == [("sleep", "63")])
    (left,) = box.processes()

    box.close()

    assert not Path(f"/proc/{left.pid}").exists()


def test_killing_the_server_keeps_the_box(sh: Launch) -> None:
    box = sh("sleep 60")
    box.kill_server()
    box.kill_server()

    assert not box.alive
    assert box.exit_status == -9
    box.check()


def test_a_box_whose_init_was_killed_from_outside_is_lost(sh: Launch) -> None:
    box = sh("sleep 60")
    box.check()
    os.kill(box.init_pid, 9)

    with pytest.raises(BoxLostError):
        wait_until(box.check)


def test_closing_twice_is_once(sh: Launch) -> None:
    box = sh("sleep 60")
    box.close()
    box.close()

    assert not box.alive
    assert box.quiet()
    assert box.processes() == []


def test_a_flood_on_stderr_neither_blocks_the_server_nor_grows(sh: Launch) -> None:
    box = sh("head -c 20000000 /dev/zero | tr '\\0' 'x' >&2; echo end >&2; echo done")

    assert read_all(box) == "done\n"
    wait_until(lambda: box.stderr_tail().endswith("end\n"))
    assert len(box.stderr_tail()) <= 64 << 10


def test_seeds_are_the_servers_own_with_mode_time_and_content(sh: Launch) -> None:
    seeds = (
        SeedEntry("/srv/data", "dir", 0o750, mtime=1_600_000_000),
        SeedEntry("/srv/data/deep/er/file", "file", 0o640, b"content", mtime=1_500_000_000),
        SeedEntry("/srv/data/link", "symlink", target="deep/er/file"),
    )
    box = sh(
        "cd /srv; stat -c '%n %a %u %g %Y' data data/deep/er/file; readlink data/link; cat data/link",
        seeds=seeds,
    )

    assert (
        read_all(box)
        == "data 750 1000 1000 1600000000\ndata/deep/er/file 640 1000 1000 1500000000\ndeep/er/file\ncontent"
    )


def test_seeded_folders_can_be_renamed(sh: Launch) -> None:
    seeds = (SeedEntry("/srv/data/a", "dir", 0o755), SeedEntry("/srv/data", "dir", 0o755))

    assert read_all(sh("mv /srv/data/a /srv/data/b && ls /srv/data", seeds=seeds)) == "b\n"


def test_a_seed_replaces_what_the_system_has(sh: Launch) -> None:
    seeds = (
        SeedEntry("/etc/ssl/certs/ca-certificates.crt", "file", content=b"ours"),
        SeedEntry("/etc/hostname", "file", content=b"h"),
    )

    assert read_all(
        sh("cat /etc/ssl/certs/ca-certificates.crt /etc/hostname; ls /etc/ssl", seeds=seeds)
    ).startswith("oursh")


def test_another_home_is_made_and_named(launcher: Launcher) -> None:
    with launcher.launch(
        BoxPlan(("/bin/sh", "-c", "cd ~ && pwd && touch x && ls"), home="/home/other", cwd="/")
    ) as box:
        assert read_all(box) == "/home/other\nx\n"


def test_boxes_do_not_see_each_other(sh: Launch) -> None:
    writer = sh("touch ~/seen /tmp/seen; echo ready; sleep 60")
    read_line(writer)

    assert read_all(sh("ls ~ /tmp | grep seen; pgrep sleep")) == ""


def _read(folder: int, path: str) -> str:
    descriptor = os.open(path, os.O_RDONLY, dir_fd=folder)
    with os.fdopen(descriptor) as file:
        return file.read()


def _drain(tap: socket.socket) -> list[bytes]:
    frames = []
    while True:
        try:
            frames.append(tap.recv(2048))
        except BlockingIOError:
            return frames


def test_a_look_tells_what_the_box_shows_and_follows_no_link(sh: Launch) -> None:
    box = sh("ln -s /etc /tmp/link; echo ready; sleep 60")
    read_line(box)
    home, passwd = box.look(HOME), box.look("/etc/passwd")
    assert home is not None
    assert passwd is not None
    assert home.st_uid != passwd.st_uid or os.geteuid() != 0
    assert box.look("/tmp/link/passwd") is None
    assert box.look("/nowhere") is None
