"""The filter program, run by a BPF machine of our own for every architecture that has a table."""

from __future__ import annotations

import errno
import os
import socket
import struct
from collections.abc import Sequence

import pytest

from sandbox.linux.numbers import MACHINES
from sandbox.linux.seccomp import REFUSED, WATCHED, compile_filter, refusal

_RUN, _ASK = "run", "ask"
_AUDIT_ARCH_I386 = 0x40000003
_CLONE_THREAD = 0x10000
_CLONE_NEWUSER = 0x10000000
_CLONE_NEWTIME = 0x80

_SOME_ARGUMENTS = (1, 1, 1, 1, 1, 1)
MACHINE_NAMES = sorted(MACHINES)


def _verdict(
    machine: str,
    number: int,
    arguments: Sequence[int] = (),
    arch: int | None = None,
    *,
    files: bool = True,
) -> str | int:
    """What the kernel would do: run the call, ask the observer, or fail with an errno."""
    data = struct.pack(
        "=iIQ6Q",
        number,
        MACHINES[machine].audit_arch if arch is None else arch,
        0,
        *(tuple(arguments) + (0,) * 6)[:6],
    )
    program = list(struct.iter_unpack("=HBBI", compile_filter(machine, files=files)))
    at = accumulator = 0
    while True:
        code, if_true, if_false, operand = program[at]
        at += 1
        match code:
            case 0x20:
                (accumulator,) = struct.unpack_from("=I", data, operand)
            case 0x54:
                accumulator &= operand
            case 0x15:
                at += if_true if accumulator == operand else if_false
            case 0x35:
                at += if_true if accumulator >= operand else if_false
            case 0x06:
                kind = operand & 0xFFFF0000
                return {0x7FFF0000: _RUN, 0x7FC00000: _ASK, 0x00050000: operand & 0xFFFF}[kind]


def _call(machine: str, name: str, *arguments: int) -> str | int:
    return _verdict(machine, MACHINES[machine].numbers[name], arguments)


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_calls_that_no_table_names_run(machine: str) -> None:
    named = {MACHINES[machine].numbers.get(name) for name in (*WATCHED, *REFUSED, "clone3", "ioctl")}
    for number in set(range(480)) - named:
        assert _verdict(machine, number, _SOME_ARGUMENTS) == _RUN


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_foreign_calls_do_not_exist(machine: str) -> None:
    assert _verdict(machine, 1, arch=_AUDIT_ARCH_I386) == errno.ENOSYS
    assert _verdict(machine, 0x40000001) == errno.ENOSYS
    assert _verdict(machine, -1) == errno.ENOSYS
    other = next(name for name in MACHINE_NAMES if name != machine)
    assert _verdict(machine, 1, arch=MACHINES[other].audit_arch) == errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINE_NAMES)
@pytest.mark.parametrize("name", sorted(name for name, rules in REFUSED.items() if rules[0].when == ((),)))
def test_refused_calls_are_asked_about_and_answered_with_an_error(machine: str, name: str) -> None:
    if name in MACHINES[machine].numbers:
        assert _call(machine, name) == _ASK
    assert refusal(name, (0,) * 6) in (errno.EPERM, errno.ENOSYS)


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_only_opens_that_may_write_are_asked_about(machine: str) -> None:
    assert _call(machine, "openat", 0, 0, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY) == _RUN
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_CREAT, os.O_TRUNC, os.O_TMPFILE | os.O_WRONLY):
        assert _call(machine, "openat", 0, 0, flags | os.O_CLOEXEC) == _ASK
    assert _call(machine, "openat2") == _ASK


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_where_files_are_not_watched_everything_else_is_as_ever(machine: str) -> None:
    unwatched = set()
    for number in range(480):
        for arguments in ((0,) * 6, _SOME_ARGUMENTS, (_CLONE_NEWUSER,) * 6):
            usual = _verdict(machine, number, arguments)
            if _verdict(machine, number, arguments, files=False) != usual:
                assert usual == _ASK
                unwatched.add(number)

    names = {name for name, number in MACHINES[machine].numbers.items() if number in unwatched}
    assert {"openat", "openat2", "unlinkat", "renameat2", "fchmod", "utimensat"} <= names
    assert names.isdisjoint(REFUSED)
    assert names.isdisjoint({"execve", "connect", "sendto", "sendmsg", "bind", "clone", "mmap", "kill"})


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_threads_start_unseen_and_processes_do_not(machine: str) -> None:
    assert _call(machine, "clone", _CLONE_THREAD) == _RUN
    assert _call(machine, "clone", 17) == _ASK
    assert _call(machine, "clone3") == errno.ENOSYS


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_new_namespaces_are_refused_and_other_flags_are_not(machine: str) -> None:
    assert _call(machine, "clone", _CLONE_THREAD | _CLONE_NEWUSER) == _ASK
    assert refusal("clone", (_CLONE_NEWUSER | 17, 0, 0, 0, 0, 0)) == errno.EPERM
    assert refusal("clone", (17, 0, 0, 0, 0, 0)) == 0
    assert _call(machine, "unshare", _CLONE_NEWTIME) == _ASK
    assert refusal("unshare", (_CLONE_NEWTIME, 0, 0, 0, 0, 0)) == errno.EPERM
    assert _call(machine, "unshare", 0x400) == _RUN  # CLONE_FILES


@pytest.mark.parametrize("machine", MACHINE_NAMES)
@pytest.mark.parametrize(
    ("family", "kind", "verdict", "error"),
    [
        (socket.AF_UNIX, socket.SOCK_STREAM, _RUN, 0),
        (socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC, _RUN, 0),
        (socket.AF_INET6, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK, _RUN, 0),
        (socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _RUN, 0),
        (socket.AF_INET, socket.SOCK_RAW, _ASK, errno.EPERM),
        (socket.AF_INET6, socket.SOCK_RAW | socket.SOCK_NONBLOCK, _ASK, errno.EPERM),
        (socket.AF_INET, 10, _ASK, errno.EPERM),
        (socket.AF_PACKET, socket.SOCK_RAW, _ASK, errno.EPERM),
        (socket.AF_PACKET, socket.SOCK_DGRAM, _ASK, errno.EPERM),
        (socket.AF_VSOCK, socket.SOCK_STREAM, _ASK, errno.EAFNOSUPPORT),
        (socket.AF_ALG, socket.SOCK_SEQPACKET, _ASK, errno.EAFNOSUPPORT),
        (socket.AF_CAN, socket.SOCK_RAW, _ASK, errno.EAFNOSUPPORT),
        (44, socket.SOCK_RAW, _ASK, errno.EAFNOSUPPORT),  # AF_XDP
    ],
)
def test_only_sockets_that_end_in_the_box_are_made(
    machine: str, family: int, kind: int, verdict: str, error: int
) -> None:
    assert _call(machine, "socket", family, kind, 0) == verdict
    assert refusal("socket", (family, kind, 0, 0, 0, 0)) == error


@pytest.mark.parametrize("machine", MACHINE_NAMES)
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_no_protocol_makes_the_host_load_a_module(machine: str, family: int) -> None:
    for protocol in (0, 1, 6, 17, 58, 136, 262):
        assert _call(machine, "socket", family, socket.SOCK_DGRAM, protocol) == _RUN
    for protocol in (33, 115, 132, 1 << 31):  # DCCP, L2TP, SCTP
        assert _call(machine, "socket", family, socket.SOCK_STREAM, protocol) == _ASK
        assert refusal("socket", (family, socket.SOCK_STREAM, protocol, 0, 0, 0)) == errno.EPROTONOSUPPORT
    assert _call(machine, "socket", socket.AF_NETLINK, socket.SOCK_RAW, 4) == _RUN


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_only_small_segments_of_shared_memory_are_made(machine: str) -> None:
    assert _call(machine, "shmget", 0, 0xFFFF, 0o1600) == _RUN
    for size in (0x10000, 1 << 31, 1 << 32, 1 << 63):
        assert _call(machine, "shmget", 0, size, 0o1600) == _ASK
        assert refusal("shmget", (0, size, 0o1600, 0, 0, 0)) == errno.EINVAL


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_only_shared_file_mappings_are_asked_about(machine: str) -> None:
    shared, private, anonymous, validate = 0x01, 0x02, 0x20, 0x03
    assert _call(machine, "mmap", 0, 4096, 3, shared, 5, 0) == _ASK
    assert _call(machine, "mmap", 0, 4096, 3, validate, 5, 0) == _ASK
    assert _call(machine, "mmap", 0, 4096, 1, shared, 5, 0) == _ASK
    assert _call(machine, "mmap", 0, 4096, 3, private, 5, 0) == _RUN
    assert _call(machine, "mmap", 0, 4096, 3, shared | anonymous, -1 & (1 << 64) - 1, 0) == _RUN


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_a_send_is_asked_about_when_it_names_an_address_in_either_half_of_the_word(machine: str) -> None:
    assert _call(machine, "sendto", 3, 0, 0, 0, 0, 16) == _RUN
    assert _call(machine, "sendto", 3, 0, 0, 0, 0x1000, 16) == _ASK
    assert _call(machine, "sendto", 3, 0, 0, 0, 0x7F0000000000, 16) == _ASK


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_signal_zero_runs_and_others_are_asked_about(machine: str) -> None:
    for name, signal_at in (
        ("kill", 1),
        ("tkill", 1),
        ("tgkill", 2),
        ("pidfd_send_signal", 1),
        ("rt_tgsigqueueinfo", 2),
    ):
        arguments = [7, 7, 7]
        assert _call(machine, name, *arguments) == _ASK
        arguments[signal_at] = 0
        assert _call(machine, name, *arguments) == _RUN


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_typing_into_a_terminal_fails_and_other_requests_run(machine: str) -> None:
    assert _call(machine, "ioctl", 0, 0x5412) == errno.EPERM
    assert _call(machine, "ioctl", 0, 0x5412 | 1 << 32) == errno.EPERM  # the kernel looks at 32 bits too
    assert _call(machine, "ioctl", 0, 0x541C) == errno.EPERM
    assert _call(machine, "ioctl", 0, 0x5401) == _RUN


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_the_program_fits_the_kernel(machine: str) -> None:
    assert len(compile_filter(machine, files=True)) // 8 <= 4096  # BPF_MAXINSNS


def test_old_calls_are_missing_on_a_machine_that_never_had_them() -> None:
    assert "open" in MACHINES["x86_64"].numbers
    assert "open" not in MACHINES["aarch64"].numbers


def test_no_two_calls_of_a_machine_share_a_number() -> None:
    for machine in MACHINES.values():
        assert len(set(machine.numbers.values())) == len(machine.numbers)
