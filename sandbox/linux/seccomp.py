"""The system-call filter of a box: which calls the observer is asked about, and which ones are refused.

The filter is classic BPF made from the tables below (seccomp(2), linux/seccomp.h), so no library is needed.
Three things can happen to a call that is not simply allowed:

- *watched*: the caller is held until the observer has recorded the call, which then runs;
- *refused*: the caller is held until the observer has recorded the call, and gets an error. Whether a call is refused
  depends on its registers alone, which no other thread can change;
- *silent*: the filter itself answers with an error and nobody is told.

Foreign calls (another architecture, x32) do not exist: ENOSYS, so that programs fall back. Everything fails
closed: without an observer, watched and refused calls get ENOSYS from the kernel.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import re
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.linux.numbers import MACHINES
from sandbox.linux.syscalls import PR_SET_NO_NEW_PRIVS, prctl

_LOW_WORD = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of one 32-bit word of one argument: ``(word & mask == value) is equal``.

    ``word`` is 0 for the low half, 1 for the high half.
    """

    argument: int
    mask: int
    value: int
    equal: bool = True
    word: int = 0

    def holds(self, arguments: Sequence[int]) -> bool:
        """Whether the comparison is true of these six arguments."""
        word = arguments[self.argument] >> 32 * self.word & _LOW_WORD
        return (word & self.mask == self.value) is self.equal


Condition = tuple[tuple[Comparison, ...], ...]
"""Alternatives, each a conjunction of comparisons; true when one alternative is."""

ALWAYS: Condition = ((),)


def holds(condition: Condition, arguments: Sequence[int]) -> bool:
    """Whether a condition is true of these six arguments."""
    return any(all(test.holds(arguments) for test in tests) for tests in condition)


def _has(argument: int, bits: int, word: int = 0) -> Comparison:
    return Comparison(argument, bits, 0, equal=False, word=word)


def _lacks(argument: int, bits: int) -> Comparison:
    return Comparison(argument, bits, 0)


def _is(argument: int, value: int, mask: int = _LOW_WORD) -> Comparison:
    return Comparison(argument, mask, value)


def _is_not(argument: int, value: int) -> Comparison:
    return Comparison(argument, _LOW_WORD, value, equal=False)


@dataclass(frozen=True, slots=True)
class Refusal:
    """When a call is refused, and the errno its caller gets."""

    when: Condition
    error: int


# --- what is watched --------------------------------------------------------------------------------

OPENS_FOR_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
"""Open flags of which one is enough for an open to be watched."""

_MAP_SHARED = 0x01
_MAP_ANONYMOUS = 0x20
_CLONE_THREAD = 0x00010000

WATCHED: Mapping[str, Condition] = {
    # The flags of openat2 lie in memory, where the filter cannot look.
    "open": ((_has(1, OPENS_FOR_WRITING),),),
    "openat": ((_has(2, OPENS_FOR_WRITING),),),
    # The only writes that leave no trace in the upper layer: stores into a file that is mapped already. A
    # mapping that is only for reading can be made writable later, by a call too frequent to watch (mprotect).
    "mmap": ((_has(3, _MAP_SHARED), _lacks(3, _MAP_ANONYMOUS)),),
    "clone": ((_lacks(0, _CLONE_THREAD),),),
    # A connected socket sends without an address, and its connect was seen.
    "sendto": ((_has(4, _LOW_WORD),), (_has(4, _LOW_WORD, word=1),)),
    # Signal 0 only asks whether a process is there.
    "kill": ((_is_not(1, 0),),),
    "tkill": ((_is_not(1, 0),),),
    "tgkill": ((_is_not(2, 0),),),
    "pidfd_send_signal": ((_is_not(1, 0),),),
    "rt_sigqueueinfo": ((_is_not(1, 0),),),
    "rt_tgsigqueueinfo": ((_is_not(2, 0),),),
} | dict.fromkeys(
    (
        *("openat2", "creat", "truncate", "ftruncate", "fallocate"),
        *("unlink", "unlinkat", "rmdir", "mkdir", "mkdirat", "mknod", "mknodat"),
        *("rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat"),
        *("chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat"),
        *("setxattr", "lsetxattr", "fsetxattr", "setxattrat", "file_setattr"),
        *("removexattr", "lremovexattr", "fremovexattr", "removexattrat"),
        *("utime", "utimes", "futimesat", "utimensat"),
        *("execve", "execveat", "fork", "vfork"),
        *("connect", "bind", "listen", "sendmsg", "sendmmsg"),
    ),
    ALWAYS,
)
"""Calls that are recorded and then run."""

_OF_FILES = re.compile(
    "(open|creat|.*truncate|fallocate|unlink|rmdir|mkdir|mknod|rename|.*link|f?l?ch(mod|own)"
    "|[fl]*(set|remove)xattr|file_setattr|f?utime).*"
)
"""Those which say who changed a file. What was changed is seen without them, but for stores into a mapping."""


# --- what is refused --------------------------------------------------------------------------------

_CLONE_NEW = 0x7E020000  # NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
_CLONE_NEWTIME = 0x80  # unshare only: for clone these bits are the exit signal
_SOCKET_TYPE = 0xF  # the rest are SOCK_CLOEXEC and SOCK_NONBLOCK
_SOCK_PACKET = 10

_RAW_SOCKET: Condition = (
    *(
        (_is(0, family), _is(1, kind, _SOCKET_TYPE))
        for family in (socket.AF_INET, socket.AF_INET6)
        for kind in (socket.SOCK_RAW, _SOCK_PACKET)
    ),
    (_is(0, socket.AF_PACKET),),
)
# Kept: unix, IPv4 and IPv6, and netlink, which libc asks for the interfaces and which ends at the network
# namespace. The rest is another way out (vsock is not bound to a namespace) or kernel code that no server
# needs (AF_ALG, CAN, ...).
_OTHER_FAMILY: Condition = (
    tuple(
        _is_not(0, family)
        for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET)
    ),
)

# The kernel would load a module of the host for any other (SCTP, DCCP, L2TP, ...). Kept: none, ICMP, TCP, UDP,
# ICMPv6, UDP-Lite and MPTCP.
_OTHER_PROTOCOL: Condition = tuple(
    (_is(0, family), *(_is_not(2, protocol) for protocol in (0, 1, 6, 17, 58, 136, 262)))
    for family in (socket.AF_INET, socket.AF_INET6)
)

# Segments that nobody has attached are memory of no process, and nothing but their size bounds them: 4096 of
# them may be made.
_SEGMENT_BITS = 16
_LARGE_SEGMENT: Condition = (
    (_has(1, _LOW_WORD - (1 << _SEGMENT_BITS) + 1),),
    (_has(1, _LOW_WORD, word=1),),
)

REFUSED: Mapping[str, tuple[Refusal, ...]] = {
    "clone": (Refusal(((_has(0, _CLONE_NEW),),), errno.EPERM),),
    "unshare": (Refusal(((_has(0, _CLONE_NEW | _CLONE_NEWTIME),),), errno.EPERM),),
    "socket": (
        Refusal(_RAW_SOCKET, errno.EPERM),
        Refusal(_OTHER_FAMILY, errno.EAFNOSUPPORT),
        Refusal(_OTHER_PROTOCOL, errno.EPROTONOSUPPORT),
    ),
    "shmget": (Refusal(_LARGE_SEGMENT, errno.EINVAL),),
} | {
    name: (Refusal(ALWAYS, error),)
    for error, names in {
        errno.EPERM: (
            "mount umount2 pivot_root chroot setns move_mount open_tree open_tree_attr "
            "fsopen fsconfig fsmount fspick mount_setattr "
            "clock_settime settimeofday adjtimex clock_adjtime "
            "ptrace process_vm_readv process_vm_writev pidfd_getfd "
            "bpf perf_event_open add_key request_key keyctl userfaultfd open_by_handle_at "
            "kexec_load kexec_file_load init_module finit_module delete_module "
            "quotactl quotactl_fd acct swapon swapoff reboot syslog "
            "sethostname setdomainname vhangup iopl ioperm"
        ).split(),
        # Work in a ring is invisible to a filter, and memory that nobody else can read would hide arguments.
        # As missing features, programs do without them.
        errno.ENOSYS: ("io_uring_setup", "io_uring_enter", "io_uring_register", "memfd_secret"),
    }.items()
    for name in names
}
"""Calls that are recorded as denied and answered with an error."""

_TIOCSTI = 0x5412
_TIOCLINUX = 0x541C

_SILENT: Mapping[str, Refusal] = {
    # Its flags lie in memory. Every libc falls back to clone.
    "clone3": Refusal(ALWAYS, errno.ENOSYS),
    # Typing into somebody's terminal.
    "ioctl": Refusal(((_is(1, _TIOCSTI),), (_is(1, _TIOCLINUX),)), errno.EPERM),
}


def refusal(name: str, arguments: Sequence[int]) -> int:
    """The errno with which a call is refused, or 0 when it may run."""
    for rule in REFUSED.get(name, ()):
        if holds(rule.when, arguments):
            return rule.error
    return 0


# --- the program ------------------------------------------------------------------------------------

# linux/bpf_common.h
_LOAD, _AND, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
# linux/seccomp.h
_ALLOW, _NOTIFY, _ERROR = 0x7FFF0000, 0x7FC00000, 0x00050000
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16
_X32_BIT = 0x40000000

_INSTRUCTION = struct.Struct("=HBBI")  # struct sock_filter
_Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def _return(verdict: int) -> _Instruction:
    return (_RETURN, 0, 0, verdict)


def _conjunction(tests: Sequence[Comparison], verdict: int) -> list[_Instruction]:
    """Return the verdict when all tests hold, else run on behind."""
    code = [_return(verdict)]
    for test in reversed(tests):
        behind = len(code)
        code = [
            (_LOAD, 0, 0, _ARGUMENTS_AT + 8 * test.argument + 4 * test.word),
            *([] if test.mask == _LOW_WORD else [(_AND, 0, 0, test.mask)]),
            (_JUMP_EQUAL, *((0, behind) if test.equal else (behind, 0)), test.value),
            *code,
        ]
    return code


def is_of_files(name: str) -> bool:
    """Whether a watched call is one that a box need not watch to see what was changed."""
    return _OF_FILES.fullmatch(name) is not None


def _rules(files: bool) -> dict[str, list[tuple[Condition, int]]]:
    """Every call that is not simply allowed, with its conditions and verdicts in order."""
    rules: dict[str, list[tuple[Condition, int]]] = {}
    for name, condition in WATCHED.items():
        if not files and is_of_files(name):
            continue
        rules.setdefault(name, []).append((condition, _NOTIFY))
    for name, refusals in REFUSED.items():
        rules.setdefault(name, []).extend((rule.when, _NOTIFY) for rule in refusals)
    for name, rule in _SILENT.items():
        rules.setdefault(name, []).append((rule.when, _ERROR | rule.error))
    return rules


@functools.cache
def compile_filter(machine: str, *, files: bool) -> bytes:
    """The filter program for a machine (``x86_64``, ``aarch64``), as packed ``struct sock_filter``. Without ``files``,
    calls that change files are not watched.

    The kernel runs it only for the calls named here: the answer for a call that is always allowed is cached
    in a bitmap (since Linux 5.11). Raises KeyError for a machine without a table.
    """
    table = MACHINES[machine]
    code = [
        (_LOAD, 0, 0, _ARCH_AT),
        (_JUMP_EQUAL, 1, 0, table.audit_arch),
        _return(_ERROR | errno.ENOSYS),
        (_LOAD, 0, 0, _NUMBER_AT),
        (_JUMP_AT_LEAST, 0, 1, _X32_BIT),
        _return(_ERROR | errno.ENOSYS),
    ]
    for name, outcomes in _rules(files).items():
        if name not in table.numbers:
            continue
        block = [
            step
            for condition, verdict in outcomes
            for tests in condition
            for step in _conjunction(tests, verdict)
        ]
        block.append(_return(_ALLOW))
        code += [(_JUMP_EQUAL, 0, len(block), table.numbers[name]), *block]
    code.append(_return(_ALLOW))
    return b"".join(_INSTRUCTION.pack(*step) for step in code)


# --- putting it in place ----------------------------------------------------------------------------

_SET_MODE_FILTER = 1
_SPEC_ALLOW = 1 << 2
_NEW_LISTENER = 1 << 3
_WAIT_KILLABLE_RECV = 1 << 5


_libc = ctypes.CDLL(None, use_errno=True)


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))


def install(*, files: bool = True) -> int:
    """Put the calling thread and all it will start under the filter; returns the listener, a descriptor.

    To be called in the server's process right before exec: from then on each watched call of the thread, its
    own exec too, waits for an observer, so the listener has to leave by a call that is not watched (write(2)
    its number to a pipe, and pidfd_getfd(2) it).

    Once the observer looks at a call, only a fatal signal ends it (WAIT_KILLABLE_RECV, Linux 5.19), so it is
    recorded once. ``files`` is as for :func:`compile_filter`. In the moment before, a signal whose handler was installed without SA_RESTART makes it fail
    with EINTR.

    Raises OSError: EBUSY when a filter above has a listener already, EINVAL when the kernel knows no
    listeners.
    """
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    machine = os.uname().machine
    code = compile_filter(machine, files=files)
    program = _Program(len(code) // _INSTRUCTION.size, code)
    for flags in (_NEW_LISTENER | _WAIT_KILLABLE_RECV, _NEW_LISTENER):
        listener: int = _libc.syscall(
            ctypes.c_long(MACHINES[machine].numbers["seccomp"]),
            ctypes.c_ulong(_SET_MODE_FILTER),
            # Before Linux 5.16 a filter would switch off speculation for the server, which costs more than
            # observing.
            ctypes.c_ulong(flags | _SPEC_ALLOW),
            ctypes.byref(program),
        )
        if listener >= 0:
            return listener
        if ctypes.get_errno() != errno.EINVAL:
            break
    raise OSError(ctypes.get_errno(), f"seccomp: {os.strerror(ctypes.get_errno())}")
