"""Reading a caller from outside. The caller is this process: what is read of it lies in buffers of the test."""

from __future__ import annotations

import ctypes
import mmap
import os
import signal
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.linux.caller import AT_FDCWD, Caller, Callers
from sandbox.linux.decode import ARGV_LIMIT, ARGV_WORD_LIMIT, ARGV_WORDS, Details, decode
from sandbox.linux.seccomp import REFUSED, WATCHED

_OLD = ctypes.create_string_buffer(b"old")
"""Something that every forked child has in its memory too."""

_GARBAGE = (0, 1, 0xDEADBEEF, 1 << 47, (1 << 63) - 1, 1 << 63, (1 << 64) - 1)


@pytest.fixture
def proc() -> Iterator[int]:
    descriptor = os.open("/proc", os.O_PATH)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def caller(proc: int) -> Iterator[Caller]:
    oneself = Caller(os.getpid(), proc, 0)
    yield oneself
    oneself.close()


@pytest.fixture
def place() -> Iterator[_Memory]:
    memory = _Memory()
    yield memory
    memory.close()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder of this process, for one test."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def crowd() -> Iterator[list[int]]:
    """150 children that wait."""
    children = []
    for _ in range(150):
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
    yield children
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


class _Memory:
    """Bytes at addresses that stay valid until the end of the test."""

    def __init__(self) -> None:
        self._kept: list[ctypes.Array[ctypes.c_char]] = []

    def __call__(self, data: bytes | str) -> int:
        buffer = ctypes.create_string_buffer(os.fsencode(data))
        self._kept.append(buffer)
        return ctypes.addressof(buffer)

    def close(self) -> None:
        self._kept.clear()


def _one(name: str, caller: Caller, *arguments: int) -> Details:
    (told,) = decode(name, caller, (*arguments, 0, 0, 0, 0, 0, 0)[:6])
    return told


def _inet(ip: str, port: int) -> bytes:
    if ":" in ip:
        return (
            struct.pack("=H", socket.AF_INET6)
            + struct.pack("!HI", port, 0)
            + socket.inet_pton(socket.AF_INET6, ip)
            + bytes(4)
        )
    return (
        struct.pack("=H", socket.AF_INET)
        + struct.pack("!H", port)
        + socket.inet_pton(socket.AF_INET, ip)
        + bytes(8)
    )


def _unix(name: bytes) -> bytes:
    return struct.pack("=H", socket.AF_UNIX) + name


# --- paths ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("/a/b", "/a/b"),
        ("//a//b/./c/../d/", "/a/b/d"),
        ("/../..", "/"),
        ("/proc/self/cwd/x", "{cwd}/x"),
        ("/proc/thread-self/cwd", "{cwd}"),
        ("/proc/self/root/etc", "/etc"),
        ("/proc/self/status", "/proc/self/status"),
        ("/dev/null", "/dev/null"),
        ("/dev/cwd", "/dev/cwd"),
        ("x", "{cwd}/x"),
        ("../x", "{parent}/x"),
        (".", "{cwd}"),
        ("", ""),
    ],
)
def test_a_path_is_made_absolute_and_normal(
    caller: Caller, place: _Memory, here: Path, written: str, meant: str
) -> None:
    expected = meant.format(cwd=here, parent=here.parent)
    assert _one("unlink", caller, place(written)).path == expected
    assert _one("unlinkat", caller, AT_FDCWD, place(written)).path == expected
    assert _one("unlinkat", caller, -100 & (1 << 64) - 1, place(written)).path == expected


def test_a_link_is_not_followed(caller: Caller, place: _Memory, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    assert _one("unlink", caller, place(f"{tmp_path}/link/passwd")).path == f"{tmp_path}/link/passwd"


def test_a_path_is_relative_to_its_folder(caller: Caller, place: _Memory, tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_PATH)
    try:
        assert _one("mkdirat", caller, folder, place("a/../b"), 0o700) == Details(
            f"{tmp_path}/b", flags=0o700
        )
        assert _one("mkdirat", caller, folder, place("/b")).path == "/b"
        assert _one("execveat", caller, folder, place(""), 0).path == str(tmp_path)
        assert _one("utimensat", caller, folder, 0, 0).path == str(tmp_path)
        assert _one("unlink", caller, place(f"/proc/self/fd/{folder}/x")).path == f"{tmp_path}/x"
        assert _one("unlink", caller, place(f"/dev/fd/{folder}")).path == str(tmp_path)
    finally:
        os.close(folder)
    assert _one("mkdirat", caller, folder, place("b")).path == ""


def test_a_path_below_something_without_a_path_is_empty(caller: Caller, place: _Memory) -> None:
    read, write = os.pipe()
    assert _one("unlinkat", caller, read, place("x")).path == ""
    assert (
        _one("openat", caller, AT_FDCWD, place(f"/proc/self/fd/{write}"), 1).path == f"/proc/self/fd/{write}"
    )
    os.close(read)
    os.close(write)


def test_a_name_that_is_no_text_keeps_its_bytes(caller: Caller, place: _Memory) -> None:
    assert os.fsencode(_one("unlink", caller, place(b"/\xff\xfe\n")).path) == b"/\xff\xfe\n"


def test_a_path_longer_than_any_can_be_is_cut(caller: Caller, place: _Memory) -> None:
    assert len(_one("unlink", caller, place("/" + "x" * 10_000)).path) == 4096


def test_a_path_may_cross_pages_and_end_where_the_memory_ends(caller: Caller) -> None:
    page = mmap.PAGESIZE
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    area = libc.mmap(
        None, ctypes.c_size_t(3 * page), 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, ctypes.c_long(0)
    )
    assert libc.munmap(ctypes.c_void_p(area + 2 * page), ctypes.c_size_t(page)) == 0
    for at in (area + 2 * page - 8, area + page - 4):
        ctypes.memmove(at, b"/abcdef\0", 8)
        assert _one("unlink", caller, at).path == "/abcdef"
    assert libc.munmap(ctypes.c_void_p(area), ctypes.c_size_t(2 * page)) == 0
    assert _one("unlink", caller, area).path == ""


def test_memory_is_read_though_its_file_cannot_be_opened(tmp_path: Path, place: _Memory) -> None:
    nothing = os.open(tmp_path, os.O_PATH)
    closed = Caller(os.getpid(), nothing, 0)
    for text in ("/a", "/" + "x" * 4000, "/" + "y" * 10_000):
        assert closed.path(place(text)) == text[:4096]
    for address in _GARBAGE:
        assert closed.read(address, 100) == b""
    closed.close()
    os.close(nothing)


def test_two_paths_and_literal_text_are_told_apart(caller: Caller, place: _Memory) -> None:
    a, b = place("/a"), place("/b")
    assert _one("rename", caller, a, b) == Details("/a", "/b")
    assert _one("renameat2", caller, AT_FDCWD, a, AT_FDCWD, b, 1) == Details("/a", "/b", flags=1)
    assert _one("linkat", caller, AT_FDCWD, a, AT_FDCWD, b, 0x400) == Details("/a", "/b", flags=0x400)
    assert _one("symlink", caller, place("../t"), b) == Details("/b", "../t")
    assert _one("symlinkat", caller, place("../t"), AT_FDCWD, b) == Details("/b", "../t")
    assert _one("setxattr", caller, a, place("user.x")) == Details("/a", "user.x")
    assert _one("mount", caller, place("tmpfs"), b, 0, 7) == Details("/b", "tmpfs", flags=7)


def test_a_descriptor_is_told_as_the_path_behind_it(caller: Caller, tmp_path: Path) -> None:
    with open(tmp_path / "f", "wb") as file:
        for name in ("ftruncate", "fchmod", "fchown", "fallocate", "fsetxattr"):
            assert _one(name, caller, file.fileno(), 0o600).path == f"{tmp_path}/f"
        assert _one("mmap", caller, 0, 4096, 3, 1, file.fileno()) == Details(f"{tmp_path}/f", flags=3)


def test_the_flags_of_openat2_come_from_memory(caller: Caller, place: _Memory) -> None:
    how = place(struct.pack("=QQQ", os.O_RDWR, 0, 0))
    assert _one("openat2", caller, AT_FDCWD, place("/a"), how, 24) == Details("/a", flags=os.O_RDWR)
    assert _one("openat2", caller, AT_FDCWD, place("/a"), 8, 24) == Details("/a", flags=0)


# --- words ------------------------------------------------------------------------------------------


def _pointers(*addresses: int) -> bytes:
    return struct.pack(f"={len(addresses)}Q", *addresses)


def test_the_words_of_an_exec_are_read_in_order(caller: Caller, place: _Memory) -> None:
    words = place(_pointers(place("sh"), place(""), place(b"\xff"), 0, place("behind the end")))
    assert _one("execve", caller, place("/bin/sh"), words) == Details("/bin/sh", argv=("sh", "", "\udcff"))


def test_the_words_of_an_exec_are_bounded(caller: Caller, place: _Memory) -> None:
    short = place(_pointers(*[place("x")] * 1000, 0))
    assert len(_one("execve", caller, place("/x"), short).argv) == ARGV_WORDS
    long = place(_pointers(*[place("x" * 5000)] * 60, 0))
    words = _one("execve", caller, place("/x"), long).argv
    assert {len(word) for word in words[:-1]} == {ARGV_WORD_LIMIT}
    assert sum(map(len, words)) <= ARGV_LIMIT


# --- addresses --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (_inet("203.0.113.7", 443), "203.0.113.7:443"),
        (_inet("2001:db8::1", 53), "[2001:db8::1]:53"),
        (_inet("::ffff:203.0.113.7", 80), "203.0.113.7:80"),
        (_inet("::", 0), "[::]:0"),
        (_unix(b"/run/x.sock\0"), "unix:/run/x.sock"),
        (_unix(b"x.sock"), "unix:{cwd}/x.sock"),
        (_unix(b"\0bus/\xff\0x"), "unix:@bus/\udcff\0x"),
        (_unix(b""), "unix:"),
        (struct.pack("=HHII", socket.AF_NETLINK, 0, 0, 0), "family:16"),
        (struct.pack("=H6x", socket.AF_UNSPEC), "family:0"),
    ],
)
def test_an_address_is_told(caller: Caller, place: _Memory, here: Path, raw: bytes, text: str) -> None:
    for name in ("connect", "bind"):
        address = _one(name, caller, 3, place(raw), len(raw)).address
        assert address is not None
        assert address.text == text.format(cwd=here)
    (sent,) = decode("sendto", caller, (3, 0, 0, 0, place(raw), len(raw)))
    assert sent.address == address


@pytest.mark.parametrize("size", [0, 1, 7, 1 << 31, (1 << 32) - 1])
def test_an_address_of_a_wrong_size_does_no_harm(caller: Caller, place: _Memory, size: int) -> None:
    _one("connect", caller, 3, place(_inet("203.0.113.7", 1)), size)
    _one("connect", caller, 3, place(_inet("2001:db8::1", 1)), size)


def test_each_different_address_of_many_messages_is_told(caller: Caller, place: _Memory) -> None:
    def header(raw: bytes | None) -> bytes:
        return struct.pack("=QI52x", 0 if raw is None else place(raw), len(raw or b""))

    one, two = _inet("203.0.113.7", 1), _inet("2001:db8::1", 2)
    messages = [header(one), header(None), header(two), header(one)]
    told = decode("sendmmsg", caller, (3, place(b"".join(messages)), len(messages), 0, 0, 0))
    assert [details.address.text for details in told if details.address] == [
        "203.0.113.7:1",
        "[2001:db8::1]:2",
    ]
    (single,) = decode("sendmsg", caller, (3, place(messages[2]), 0, 0, 0, 0))
    assert single == told[1]
    assert decode("sendmsg", caller, (3, place(messages[1]), 0, 0, 0, 0)) == []


def test_more_messages_than_the_kernel_looks_at_are_not_read(caller: Caller, place: _Memory) -> None:
    header = struct.pack("=QI52x", place(_inet("203.0.113.7", 1)), 16)
    late = struct.pack("=QI52x", place(_inet("203.0.113.8", 1)), 16)
    told = decode("sendmmsg", caller, (3, place(header * 1024 + late), 0xFFFFFFFF, 0, 0, 0))
    assert len(told) == 1


# --- signals ----------------------------------------------------------------------------------------


def test_a_signal_tells_its_receiver_and_one_to_oneself_is_nothing(caller: Caller) -> None:
    own, other = os.getpid(), os.getppid()
    assert _one("kill", caller, other, signal.SIGTERM) == Details(target=str(other), flags=signal.SIGTERM)
    assert _one("kill", caller, -other & 0xFFFFFFFF, 9) == Details(target=str(-other), flags=9)
    assert _one("tgkill", caller, other, other, 9) == Details(target=str(other), flags=9)
    assert decode("kill", caller, (own, 9, 0, 0, 0, 0)) == ()
    assert decode("tgkill", caller, (own, own, 9, 0, 0, 0)) == ()
    assert decode("tkill", caller, (own, 9, 0, 0, 0, 0)) == ()


def test_a_signal_through_a_pidfd_tells_its_process(caller: Caller) -> None:
    other = os.pidfd_open(os.getppid())
    own = os.pidfd_open(os.getpid())
    assert _one("pidfd_send_signal", caller, other, 9) == Details(target=str(os.getppid()), flags=9)
    assert decode("pidfd_send_signal", caller, (own, 9, 0, 0, 0, 0)) == ()
    os.close(other)
    os.close(own)


# --- hostility --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted({*WATCHED, *REFUSED}))
def test_garbage_for_every_argument_is_told_as_nothing_known(caller: Caller, name: str) -> None:
    for garbage in _GARBAGE:
        for told in decode(name, caller, (garbage,) * 6):
            assert told.argv == ()


def test_a_task_that_is_gone_is_known_by_its_number_alone(proc: int) -> None:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    gone = Caller(child, proc, 0)
    assert (gone.process, gone.executable) == (child, "")
    assert _one("unlink", gone, 0x1000) == Details()
    assert _one("fchmod", gone, 0) == Details()
    gone.close()


def test_a_thread_belongs_to_its_process_and_runs_its_file(caller: Caller) -> None:
    assert caller.process == os.getpid()
    assert caller.executable == os.path.realpath("/proc/self/exe")


def test_a_caller_is_remembered_for_a_while_and_until_it_executes(proc: int) -> None:
    callers = Callers(proc)
    first = callers.find(os.getpid(), 0)
    assert callers.find(os.getpid(), 999_999_999) is first
    later = callers.find(os.getpid(), 2_000_000_000)
    assert later is not first
    callers.forget(later)
    assert callers.find(os.getpid(), 2_000_000_000) is not later
    callers.close()


def test_many_callers_do_not_use_up_the_descriptors(proc: int, crowd: list[int]) -> None:
    callers = Callers(proc)
    before = len(os.listdir("/proc/self/fd"))
    for child in crowd:
        assert callers.find(child, 0).string(ctypes.addressof(_OLD)) == "old"
    assert len(os.listdir("/proc/self/fd")) <= before + 128
    callers.close()
    assert len(os.listdir("/proc/self/fd")) == before
