"""Real system calls of a forked child under the filter, and what its observer recorded of them."""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import signal
import socket
import stat
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from watched import NUMBERS, PATIENCE_S, UNOPENABLE_PORT, Watched, system_call, watch

from sandbox.linux.eventlog import LOG_CAP
from sandbox.linux.seccomp import REFUSED, WATCHED, install

AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000
WRITE = os.O_WRONLY | os.O_CREAT


# --- every call that is watched ---------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One call: what a child in a folder does, and the fields of the one event of that name. ``{d}`` is the folder."""

    name: str
    act: Callable[[bytes], object]
    told: Mapping[str, object]
    recorded_as: str = ""


def _raw(name: str, *arguments: object, told: Mapping[str, object]) -> Case:
    """A raw call; text among the arguments is a path below the folder."""

    def act(folder: bytes) -> None:
        words = [folder + b"/" + a.encode() if isinstance(a, str) else a for a in arguments]
        result = system_call(name, *words)  # type: ignore[arg-type]
        assert result >= 0 or -result in (errno.ENOSYS, errno.EOPNOTSUPP, errno.ENODATA, errno.EINVAL), (
            os.strerror(-result)
        )

    return Case(name, act, told)


def _on_file(name: str, *arguments: object, told: Mapping[str, object]) -> Case:
    """A raw call whose first argument is a descriptor of the file ``f``."""

    def act(folder: bytes) -> None:
        descriptor = os.open(folder + b"/f", os.O_RDWR)
        _raw(name, descriptor, *arguments, told=told).act(folder)

    return Case(name, act, told)


def _argv(*words: bytes) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * (len(words) + 1))(*words, None)


def _fork_raw(_folder: bytes) -> None:
    child = system_call("fork")
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _fork(_folder: bytes) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def _map_shared(folder: bytes) -> None:
    with open(folder + b"/f", "r+b") as file, mmap.mmap(file.fileno(), 1):
        pass


def _openat2(folder: bytes) -> None:
    how = struct.pack("=QQQ", os.O_RDONLY, 0, 0)
    system_call("openat2", AT_FDCWD, folder + b"/f", how, len(how))


def _udp(act: Callable[[socket.socket, int], object]) -> Callable[[bytes], None]:
    """Something done with one UDP socket to the port of another one on loopback."""

    def run(_folder: bytes) -> None:
        with socket.socket(type=socket.SOCK_DGRAM) as one, socket.socket(type=socket.SOCK_DGRAM) as other:
            act(one, LOOPBACK_PORT)
            del other

    return run


def _send_messages(one: socket.socket, port: int) -> None:
    name = ctypes.create_string_buffer(
        struct.pack("=H", socket.AF_INET) + struct.pack("!HI8x", port, 0x7F000001)
    )
    header = struct.pack("=QIxxxxQQQQI4xI4x", ctypes.addressof(name), 16, 0, 0, 0, 0, 0, 0)
    assert system_call("sendmmsg", one.fileno(), header, 1, 0) == 1


def _listen(folder: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(folder + b"/s")
        server.listen()


def _bind(folder: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(folder)
        server.bind("s")


def _signal_parent_by_pidfd(_folder: bytes) -> None:
    signal.pidfd_send_signal(os.pidfd_open(os.getppid()), signal.SIGCONT)


def _to_parent(name: str, arguments: Callable[[int], tuple[int, ...]]) -> Case:
    return Case(
        name, lambda _: system_call(name, *arguments(os.getppid())), {"target": "{parent}", "flags": 18}
    )


LOOPBACK_PORT = 9
LOOPBACK = f"127.0.0.1:{LOOPBACK_PORT}"

CASES = [
    _raw("open", "new", WRITE, 0o600, told={"path": "{d}/new", "flags": WRITE}),
    _raw("openat", AT_FDCWD, "new", WRITE, 0o600, told={"path": "{d}/new", "flags": WRITE}),
    Case("openat2", _openat2, {"path": "{d}/f", "flags": 0}),
    _raw("creat", "new", 0o600, told={"path": "{d}/new", "flags": 0o600}),
    _raw("truncate", "f", 0, told={"path": "{d}/f"}),
    _on_file("ftruncate", 0, told={"path": "{d}/f"}),
    _on_file("fallocate", 0, 0, 10, told={"path": "{d}/f"}),
    _raw("unlink", "f", told={"path": "{d}/f"}),
    _raw("unlinkat", AT_FDCWD, "sub", 0x200, told={"path": "{d}/sub", "flags": 0x200}),
    _raw("rmdir", "sub", told={"path": "{d}/sub"}),
    _raw("mkdir", "new", 0o700, told={"path": "{d}/new", "flags": 0o700}),
    _raw("mkdirat", AT_FDCWD, "new", 0o700, told={"path": "{d}/new", "flags": 0o700}),
    _raw("mknod", "new", stat.S_IFIFO | 0o600, 0, told={"path": "{d}/new", "flags": stat.S_IFIFO | 0o600}),
    _raw(
        "mknodat",
        AT_FDCWD,
        "new",
        stat.S_IFIFO | 0o600,
        0,
        told={"path": "{d}/new", "flags": stat.S_IFIFO | 0o600},
    ),
    _raw("rename", "f", "new", told={"path": "{d}/f", "target": "{d}/new"}),
    _raw("renameat", AT_FDCWD, "f", AT_FDCWD, "new", told={"path": "{d}/f", "target": "{d}/new"}),
    _raw(
        "renameat2",
        AT_FDCWD,
        "f",
        AT_FDCWD,
        "sub",
        2,
        told={"path": "{d}/f", "target": "{d}/sub", "flags": 2},
    ),
    _raw("link", "f", "new", told={"path": "{d}/f", "target": "{d}/new"}),
    _raw("linkat", AT_FDCWD, "f", AT_FDCWD, "new", 0, told={"path": "{d}/f", "target": "{d}/new"}),
    _raw("symlink", b"../x", "new", told={"path": "{d}/new", "target": "../x"}),
    _raw("symlinkat", b"../x", AT_FDCWD, "new", told={"path": "{d}/new", "target": "../x"}),
    _raw("chmod", "f", 0o640, told={"path": "{d}/f", "flags": 0o640}),
    _on_file("fchmod", 0o640, told={"path": "{d}/f", "flags": 0o640}),
    _raw("fchmodat", AT_FDCWD, "f", 0o640, told={"path": "{d}/f", "flags": 0o640}),
    _raw("fchmodat2", AT_FDCWD, "f", 0o640, 0, told={"path": "{d}/f", "flags": 0o640}),
    _raw("chown", "f", -1, -1, told={"path": "{d}/f"}),
    _on_file("fchown", -1, -1, told={"path": "{d}/f"}),
    _raw("lchown", "f", -1, -1, told={"path": "{d}/f"}),
    _raw("fchownat", AT_FDCWD, "f", -1, -1, 0, told={"path": "{d}/f"}),
    _raw("setxattr", "f", b"user.x", b"1", 1, 0, told={"path": "{d}/f", "target": "user.x"}),
    _raw("lsetxattr", "f", b"user.x", b"1", 1, 0, told={"path": "{d}/f", "target": "user.x"}),
    _on_file("fsetxattr", b"user.x", b"1", 1, 0, told={"path": "{d}/f"}),
    _raw("setxattrat", AT_FDCWD, "f", 0, b"user.x", b"", 0, told={"path": "{d}/f", "target": "user.x"}),
    _raw("file_setattr", AT_FDCWD, "f", b"", 0, 0, told={"path": "{d}/f"}),
    _raw("removexattr", "f", b"user.x", told={"path": "{d}/f", "target": "user.x"}),
    _raw("lremovexattr", "f", b"user.x", told={"path": "{d}/f", "target": "user.x"}),
    _on_file("fremovexattr", b"user.x", told={"path": "{d}/f"}),
    _raw("removexattrat", AT_FDCWD, "f", 0, b"user.x", told={"path": "{d}/f", "target": "user.x"}),
    _raw("utime", "f", None, told={"path": "{d}/f"}),
    _raw("utimes", "f", None, told={"path": "{d}/f"}),
    _raw("futimesat", AT_FDCWD, "f", None, told={"path": "{d}/f"}),
    _on_file("utimensat", None, None, 0, told={"path": "{d}/f"}),
    Case("mmap", _map_shared, {"path": "{d}/f", "flags": 3}, recorded_as="mmap-shared"),
    Case(
        "execve",
        lambda _: os.execv("/bin/true", ["true", "x y"]),
        {"path": "/bin/true", "argv": ("true", "x y")},
    ),
    Case(
        "execveat",
        lambda _: system_call(
            "execveat", os.open("/bin/true", os.O_PATH), b"", _argv(b"true"), _argv(), AT_EMPTY_PATH
        ),
        {"path": os.path.realpath("/bin/true"), "argv": ("true",)},
    ),
    Case("fork", _fork_raw, {}),
    Case("clone", _fork, {}),
    Case("vfork", lambda _: subprocess.run(["/bin/true"], check=True), {}),
    _to_parent("kill", lambda parent: (parent, 18)),
    _to_parent("tkill", lambda parent: (parent, 18)),
    _to_parent("tgkill", lambda parent: (parent, parent, 18)),
    _to_parent("rt_sigqueueinfo", lambda parent: (parent, 18, 0)),
    _to_parent("rt_tgsigqueueinfo", lambda parent: (parent, parent, 18, 0)),
    Case("pidfd_send_signal", _signal_parent_by_pidfd, {"target": "{parent}", "flags": 18}),
    Case("connect", _udp(lambda one, port: one.connect(("127.0.0.1", port))), {"address": LOOPBACK}),
    Case("sendto", _udp(lambda one, port: one.sendto(b"x", ("127.0.0.1", port))), {"address": LOOPBACK}),
    Case(
        "sendmsg",
        _udp(lambda one, port: one.sendmsg([b"x"], [], 0, ("127.0.0.1", port))),
        {"address": LOOPBACK},
    ),
    Case("sendmmsg", _udp(_send_messages), {"address": LOOPBACK}),
    Case("bind", _bind, {"address": "unix:{d}/s"}),
    Case("listen", _listen, {}),
]


@pytest.mark.parametrize("case", [case for case in CASES if case.name in NUMBERS], ids=lambda case: case.name)
def test_a_watched_call_is_recorded_once_and_runs(case: Case, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("content")
    (tmp_path / "sub").mkdir()
    watched = Watched(lambda: case.act(os.fsencode(tmp_path)))
    outcome = watched.wait()
    assert (outcome.observer_status, outcome.status) == (0, 0)
    (event,) = outcome.named(case.recorded_as or case.name)
    for field, value in case.told.items():
        if isinstance(value, str):
            value = value.format(d=tmp_path, parent=watched.observer)  # noqa: PLW2901
        assert getattr(event, field) == value
    assert event.pid == outcome.pid
    assert event.executable == os.path.realpath("/proc/self/exe")
    assert not event.denied


def test_the_table_has_every_watched_call() -> None:
    assert {case.name for case in CASES} == set(WATCHED)


# --- every call that is refused ---------------------------------------------------------------------

_ALL_ONES = (-1,) * 6
_CLONE_NEWUSER = 0x10000000
REFUSED_CALLS = [
    *((name, _ALL_ONES, rules[0].error) for name, rules in REFUSED.items() if rules[0].when == ((),)),
    ("clone", (_CLONE_NEWUSER | signal.SIGCHLD, 0, 0, 0, 0), errno.EPERM),
    ("unshare", (_CLONE_NEWUSER,), errno.EPERM),
    ("socket", (socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP), errno.EPERM),
    ("socket", (socket.AF_PACKET, socket.SOCK_RAW, 0), errno.EPERM),
    ("socket", (socket.AF_VSOCK, socket.SOCK_STREAM, 0), errno.EAFNOSUPPORT),
    ("socket", (socket.AF_INET, socket.SOCK_STREAM, 132), errno.EPROTONOSUPPORT),  # SCTP
    ("shmget", (0, 1 << 20, 0o1600), errno.EINVAL),
]


@pytest.mark.parametrize(
    ("name", "arguments", "error"), [call for call in REFUSED_CALLS if call[0] in NUMBERS], ids=str
)
def test_a_refused_call_fails_and_is_recorded_as_denied(
    name: str, arguments: tuple[int, ...], error: int
) -> None:
    def target() -> None:
        assert system_call(name, *arguments) == -error

    outcome = watch(target)
    (event,) = outcome.named(name)
    assert event.denied
    assert event.pid == outcome.pid


def test_the_refused_calls_of_the_table_are_all_there() -> None:
    assert {name for name, _, _ in REFUSED_CALLS} == set(REFUSED)


def test_an_attempt_to_mount_tells_what_and_where() -> None:
    def target() -> None:
        assert system_call("mount", b"tmpfs", b"/mnt", b"tmpfs", 7, None) == -errno.EPERM

    (event,) = watch(target).events
    assert (event.name, event.path, event.target, event.flags, event.denied) == (
        "mount",
        "/mnt",
        "tmpfs",
        7,
        True,
    )


def test_silent_refusals_leave_no_record() -> None:
    def target() -> None:
        assert system_call("clone3", 0, 0) == -errno.ENOSYS
        assert system_call("ioctl", 0, 0x5412, b"x") == -errno.EPERM
        thread = threading.Thread(target=os.getpid)
        thread.start()
        thread.join()
        assert system_call("unshare", 0x400) == 0  # CLONE_FILES

    assert watch(target).events == ()


def test_a_filter_of_the_servers_own_cannot_have_a_listener() -> None:
    def target() -> None:
        with pytest.raises(OSError, match="seccomp") as caught:
            install()
        assert caught.value.errno == errno.EBUSY

    watch(target)


# --- order, identity --------------------------------------------------------------------------------


def test_a_record_is_written_before_its_call_returns(tmp_path: Path) -> None:
    log = os.memfd_create("events")

    def target() -> None:
        for number in range(300):
            (tmp_path / f"folder-{number}").mkdir()
            end = os.fstat(log).st_size
            assert f'folder-{number}"' in os.pread(log, 500, max(0, end - 500)).decode()

    outcome = Watched(target, log).wait()
    assert (outcome.observer_status, outcome.status) == (0, 0)
    times = [event.at_ns for event in outcome.events]
    assert times == sorted(times)
    assert len(times) == 300


def test_a_call_is_stamped_with_the_monotonic_clock(tmp_path: Path) -> None:
    before = time.monotonic_ns()
    (event,) = watch((tmp_path / "x").mkdir).events
    assert before < event.at_ns < time.monotonic_ns()


def test_a_call_of_a_thread_belongs_to_its_process(tmp_path: Path) -> None:
    def target() -> None:
        thread = threading.Thread(target=(tmp_path / "x").mkdir)
        thread.start()
        thread.join()

    outcome = watch(target)
    assert [event.pid for event in outcome.events] == [outcome.pid]


def test_what_a_process_executes_is_known_from_its_next_call_on(tmp_path: Path) -> None:
    def target() -> None:
        (tmp_path / "before").mkdir()
        os.chdir(tmp_path)
        # Without a locale: in one, the C library maps a cache of its own shared, which is watched too.
        script = "exec 3>after; : >again; exec /bin/mkdir end"
        os.execve("/bin/sh", ["sh", "-c", script], {"LC_ALL": "C"})

    events = watch(target).events
    shell, mkdir = os.path.realpath("/bin/sh"), os.path.realpath("/bin/mkdir")
    python = os.path.realpath("/proc/self/exe")
    told = [(event.executable, event.path) for event in events]
    assert told == [
        (python, f"{tmp_path}/before"),
        (python, "/bin/sh"),
        (shell, f"{tmp_path}/after"),
        (shell, f"{tmp_path}/again"),
        (shell, "/bin/mkdir"),
        (mkdir, f"{tmp_path}/end"),
    ]


def test_a_handled_signal_does_not_make_a_call_twice(tmp_path: Path) -> None:
    def target() -> None:
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.siginterrupt(signal.SIGALRM, False)
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        for number in range(500):
            system_call("mkdirat", AT_FDCWD, os.fsencode(tmp_path / str(number)), 0o700)

    made = [event.path for event in watch(target).named("mkdirat")]
    assert made == [f"{tmp_path}/{number}" for number in range(500)]


# --- listeners --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "opened"),
    [
        (("203.0.113.7", 443), ("203.0.113.7", 443)),
        (("2001:db8::7", 443), ("2001:db8::7", 443)),
        (("::ffff:203.0.113.7", 80), ("203.0.113.7", 80)),
        (("10.1.2.3", 80), ("10.1.2.3", 80)),
        (("203.0.113.7", UNOPENABLE_PORT), ("203.0.113.7", UNOPENABLE_PORT)),
        (("203.0.113.7", 53), None),
        (("203.0.113.7", 0), None),
        (("127.0.0.53", 80), None),
        (("::1", 80), None),
        (("::ffff:127.0.0.1", 80), None),
        (("0.0.0.0", 80), None),
        (("::", 80), None),
        (("224.0.0.251", 5353), None),
        (("ff02::fb", 5353), None),
        (("255.255.255.255", 67), None),
    ],
    ids=str,
)
def test_another_machine_gets_a_listener_before_it_is_met(
    address: tuple[str, int], opened: tuple[str, int] | None
) -> None:
    def target() -> None:
        # The answer depends on the routes of this machine; what is asked of it does not.
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as meeting:
            for send in (
                meeting.connect,
                lambda where: meeting.sendto(b"x", where),
                lambda where: meeting.sendmsg([b"x"], [], 0, where),
            ):
                try:
                    send(address)
                except OSError as error:
                    assert error.errno not in (errno.ENOSYS, errno.EFAULT)  # noqa: PT017

    outcome = watch(target)
    assert len(outcome.events) == 3
    wanted = [] if opened is None else [[*opened, outcome.events[0].address]] * 3
    assert list(outcome.listeners) == wanted


def test_each_address_of_many_messages_gets_a_listener() -> None:
    def target() -> None:
        names = [
            ctypes.create_string_buffer(
                struct.pack("=H", socket.AF_INET) + struct.pack("!HI8x", 123, 0xCB007100 + host)
            )
            for host in (1, 2, 3)
        ]
        headers = b"".join(struct.pack("=QI52x", ctypes.addressof(name), 16) for name in names)
        with socket.socket(type=socket.SOCK_DGRAM) as one:
            assert system_call("sendmmsg", one.fileno(), headers, 3, 0) != -errno.ENOSYS

    outcome = watch(target)
    assert [listener[:2] for listener in outcome.listeners] == [
        [f"203.0.113.{host}", 123] for host in (1, 2, 3)
    ]
    assert len(outcome.named("sendmmsg")) == 3


def test_a_bind_meets_nobody() -> None:
    def target() -> None:
        with socket.socket() as server, pytest.raises(OSError, match="assign"):
            server.bind(("203.0.113.7", 4000))

    assert watch(target).listeners == ()


# --- hostility --------------------------------------------------------------------------------------


def test_garbage_pointers_fail_as_they_do_without_an_observer(tmp_path: Path) -> None:
    garbage = (8, 0xDEADBEEF000, (1 << 63) - 1, (1 << 64) - 1)

    def target() -> None:
        for pointer in garbage:
            for name in ("openat", "mkdirat", "mknodat", "fchmodat", "utimensat"):
                assert system_call(name, AT_FDCWD, pointer, WRITE, 0, 0) == -errno.EFAULT
            assert system_call("renameat2", AT_FDCWD, pointer, AT_FDCWD, pointer, 0) == -errno.EFAULT
            assert system_call("execve", b"/bin/true", pointer, pointer) == -errno.EFAULT
            with socket.socket(type=socket.SOCK_DGRAM) as one:
                assert system_call("connect", one.fileno(), pointer, 16) == -errno.EFAULT
                assert system_call("sendmsg", one.fileno(), pointer, 0) == -errno.EFAULT
                assert system_call("sendmmsg", one.fileno(), pointer, 0xFFFFFFFF, 0) == -errno.EFAULT
        (tmp_path / "end").mkdir()

    outcome = watch(target)
    assert outcome.events[-1].path == f"{tmp_path}/end"
    assert {event.path for event in outcome.events[:-1]} == {"", "/bin/true"}


def test_an_address_that_changes_under_our_eyes_harms_nobody() -> None:
    def target() -> None:
        address = ctypes.create_string_buffer(
            struct.pack("=H", socket.AF_INET) + struct.pack("!HI8x", 80, 0x7F000001), 16
        )
        done = threading.Event()

        def change() -> None:
            forms = [
                struct.pack("=H", socket.AF_INET6) + b"\xff" * 14,
                struct.pack("=H", socket.AF_UNIX) + b"\0" * 14,
                struct.pack("=H", socket.AF_INET) + struct.pack("!HI8x", 80, 0xCB007107),
            ]
            while not done.is_set():
                for form in forms:
                    ctypes.memmove(address, form, len(form))

        racer = threading.Thread(target=change)
        racer.start()
        with socket.socket(type=socket.SOCK_DGRAM) as one:
            for _ in range(1000):
                assert system_call("connect", one.fileno(), ctypes.addressof(address), 16) != -errno.ENOSYS
        done.set()
        racer.join()

    assert len(watch(target).named("connect")) == 1000


def test_a_flood_overflows_the_log_and_the_calls_go_on(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/\xff" * 2000  # each byte takes six in the log

    def target() -> None:
        for _ in range(LOG_CAP // 12_000 + 100):
            assert system_call("unlinkat", AT_FDCWD, path, 0) == -errno.ENOENT
        (tmp_path / "end").mkdir()

    watched = Watched(target)
    log = os.dup(watched.log)
    outcome = watched.wait()
    assert (outcome.observer_status, outcome.status) == (0, 0)
    assert outcome.overflowed
    assert os.fstat(log).st_size <= LOG_CAP + 100
    os.close(log)
    assert (tmp_path / "end").is_dir()
    assert not any(event.path.endswith("/end") for event in outcome.events)
    assert os.fsencode(outcome.events[-1].path) == path


def _wait_for_state(pid: int, state: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != state:
        assert time.monotonic() < deadline
        os.sched_yield()


def test_a_caller_that_is_killed_while_it_waits_is_forgotten(tmp_path: Path) -> None:
    def target() -> None:
        while True:
            system_call("unlinkat", AT_FDCWD, os.fsencode(tmp_path / "x"), 0)

    watched = Watched(target)
    os.kill(watched.observer, signal.SIGSTOP)
    _wait_for_state(watched.target, "S")
    os.kill(watched.target, signal.SIGKILL)
    _wait_for_state(watched.target, "Z")
    os.kill(watched.observer, signal.SIGCONT)
    outcome = watched.wait()
    assert (outcome.observer_status, outcome.status) == (0, -signal.SIGKILL)


def test_callers_that_are_killed_at_any_moment_disturb_nobody(tmp_path: Path) -> None:
    def target() -> None:
        for number in range(60):
            child = os.fork()
            if child == 0:
                while True:
                    system_call("unlinkat", AT_FDCWD, os.fsencode(tmp_path / "x"), 0)
            for _ in range(number):
                system_call("unlinkat", AT_FDCWD, os.fsencode(tmp_path / "y"), 0)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        (tmp_path / "end").mkdir()

    assert watch(target).events[-1].path == f"{tmp_path}/end"


def test_without_its_observer_a_call_fails_instead_of_hanging(tmp_path: Path) -> None:
    read, write = os.pipe()

    def target() -> None:
        while (result := system_call("mkdirat", AT_FDCWD, os.fsencode(tmp_path / "x"), 0)) in (
            0,
            -errno.EEXIST,
        ):
            pass
        os.write(write, str(-result).encode())

    watched = Watched(target)
    os.kill(watched.observer, signal.SIGKILL)
    os.close(write)
    assert int(os.read(read, 10)) == errno.ENOSYS
    os.close(read)
    assert watched.wait().observer_status == -signal.SIGKILL


def test_the_observer_ends_when_told_though_its_target_lives() -> None:
    watched = Watched(signal.pause)
    watched.stop()
    watched.wait_until_observer_ended()
    os.kill(watched.target, signal.SIGKILL)
    assert watched.wait().observer_status == 0


def test_the_observer_outlives_the_target_while_a_child_of_it_runs(tmp_path: Path) -> None:
    def target() -> None:
        parent = os.getpid()
        if os.fork() == 0:
            while os.getppid() == parent:
                os.sched_yield()
            (tmp_path / "late").mkdir()
            os._exit(0)

    outcome = watch(target)
    assert outcome.events[-1].path == f"{tmp_path}/late"
    assert outcome.events[-1].pid != outcome.pid
