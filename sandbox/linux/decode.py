"""What a held system call is about to do: its registers and the memory behind them, read into words and
paths.

Everything here is attribution, never proof: another thread can change the memory after it was read. Whatever
a hostile caller passes, decoding is bounded and does not fail; a part that cannot be read is empty.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sandbox.linux.caller import AT_FDCWD, Caller

ARGV_WORDS = 64
ARGV_WORD_LIMIT = 1024
ARGV_LIMIT = 8 * 1024

_WORD = 0xFFFFFFFF
_SOCKADDR_LIMIT = 128  # sizeof(struct sockaddr_storage)
_MESSAGES_LIMIT = 1024  # UIO_MAXIOV: sendmmsg(2) looks at no more
_MESSAGE_SIZE = 64  # sizeof(struct mmsghdr)
# How struct msghdr and mmsghdr start: where the address is, and how long.
_MESSAGE_NAME = struct.Struct("=QI")
_POINTER = struct.Struct("=Q")


class Address(NamedTuple):
    """A socket address as ``ip:port``, ``[ip6]:port``, ``unix:PATH``, ``unix:@NAME`` or ``family:NUMBER``.

    ``ip`` is None but for IPv4 and IPv6; an IPv4-mapped IPv6 address is the IPv4 address that goes over the
    wire.
    """

    text: str
    ip: ipaddress.IPv4Address | ipaddress.IPv6Address | None = None
    port: int = 0


class Details(NamedTuple):
    """What one call tells, in the words of ``model.SyscallEvent``; ``address`` with its parts."""

    path: str = ""
    target: str = ""
    address: Address | None = None
    argv: tuple[str, ...] = ()
    flags: int = 0


def _read_address(caller: Caller, address: int, size: int) -> Address | None:
    """A sockaddr; None where there is none, or too little of it."""
    data = caller.read(address, min(size & _WORD, _SOCKADDR_LIMIT)) if address else b""
    if len(data) < 2:
        return None
    (family,) = struct.unpack_from("=H", data)
    if family == socket.AF_INET and len(data) >= 8:
        return _internet_address(ipaddress.IPv4Address(data[4:8]), data)
    if family == socket.AF_INET6 and len(data) >= 24:
        full = ipaddress.IPv6Address(data[8:24])
        return _internet_address(full.ipv4_mapped or full, data)
    if family == socket.AF_UNIX:
        return Address(f"unix:{_unix_name(caller, data[2:])}")
    return Address(f"family:{family}")


def _unix_name(caller: Caller, name: bytes) -> str:
    if name.startswith(b"\0"):  # abstract: all of it counts
        return "@" + os.fsdecode(name[1:])
    text = os.fsdecode(name.partition(b"\0")[0])
    return caller.absolute(text) if text else ""


def _internet_address(ip: ipaddress.IPv4Address | ipaddress.IPv6Address, data: bytes) -> Address:
    (port,) = struct.unpack_from("!H", data, 2)
    return Address(f"{ip}:{port}" if ip.version == 4 else f"[{ip}]:{port}", ip, port)


# --- how each call is read ------------------------------------------------------------------------------

Arguments = Sequence[int]
_Reader = Callable[[Caller, Arguments], Sequence[Details]]


def _path(path: int, *, at: int | None = None, flags: int | None = None) -> _Reader:
    """A path argument, perhaps relative to a descriptor argument."""

    def read(caller: Caller, arguments: Arguments) -> Sequence[Details]:
        folder = AT_FDCWD if at is None else arguments[at]
        return (Details(caller.path(arguments[path], folder), flags=_flags(arguments, flags)),)

    return read


def _two_paths(
    path: int, target: int, *, at: int | None = None, target_at: int | None = None, flags: int | None = None
) -> _Reader:
    """The path of something and the one that it gets."""

    def read(caller: Caller, arguments: Arguments) -> Sequence[Details]:
        return (
            Details(
                caller.path(arguments[path], AT_FDCWD if at is None else arguments[at]),
                caller.path(arguments[target], AT_FDCWD if target_at is None else arguments[target_at]),
                flags=_flags(arguments, flags),
            ),
        )

    return read


def _path_with_text(path: int, text: int, *, at: int | None = None, flags: int | None = None) -> _Reader:
    """A path and a text that is taken literally: what a new symbolic link holds, what is mounted."""

    def read(caller: Caller, arguments: Arguments) -> Sequence[Details]:
        folder = AT_FDCWD if at is None else arguments[at]
        return (
            Details(
                caller.path(arguments[path], folder),
                caller.string(arguments[text]),
                flags=_flags(arguments, flags),
            ),
        )

    return read


def _descriptor(number: int, *, flags: int | None = None) -> _Reader:
    """What a descriptor argument refers to."""
    return lambda caller, arguments: (
        Details(caller.descriptor(arguments[number]), flags=_flags(arguments, flags)),
    )


def _openat2(caller: Caller, arguments: Arguments) -> Sequence[Details]:
    how = caller.read(arguments[2], 8)  # struct open_how starts with its flags
    flags = _POINTER.unpack(how)[0] if len(how) == 8 else 0
    return (Details(caller.path(arguments[1], arguments[0]), flags=flags),)


def _execute(path: int, argv: int, *, at: int | None = None) -> _Reader:
    def read(caller: Caller, arguments: Arguments) -> Sequence[Details]:
        folder = AT_FDCWD if at is None else arguments[at]
        return (Details(caller.path(arguments[path], folder), argv=_argv(caller, arguments[argv])),)

    return read


def _argv(caller: Caller, address: int) -> tuple[str, ...]:
    words: list[str] = []
    left = ARGV_LIMIT
    pointers = caller.read(address, ARGV_WORDS * _POINTER.size)
    for (pointer,) in _POINTER.iter_unpack(pointers[: len(pointers) // _POINTER.size * _POINTER.size]):
        if not pointer or left <= 0:
            break
        words.append(caller.string(pointer, min(left, ARGV_WORD_LIMIT)))
        left -= len(words[-1]) + 1
    return tuple(words)


def _sockaddr(address: int, size: int) -> _Reader:
    """A socket's descriptor, as flags, and an address argument."""
    return lambda caller, arguments: (
        Details(
            address=_read_address(caller, arguments[address], arguments[size]), flags=arguments[0] & _WORD
        ),
    )


def _sendmsg(caller: Caller, arguments: Arguments) -> Sequence[Details]:
    return _messages(caller, arguments, caller.read(arguments[1], _MESSAGE_NAME.size))


def _sendmmsg(caller: Caller, arguments: Arguments) -> Sequence[Details]:
    count = min(arguments[2] & _WORD, _MESSAGES_LIMIT)
    return _messages(caller, arguments, caller.read(arguments[1], count * _MESSAGE_SIZE))


def _messages(caller: Caller, arguments: Arguments, headers: bytes) -> Sequence[Details]:
    """One Details for each different address; none for a connected socket, whose connect was seen."""
    names = [
        _MESSAGE_NAME.unpack_from(headers, at)
        for at in range(0, len(headers) - _MESSAGE_NAME.size + 1, _MESSAGE_SIZE)
    ]
    addresses = [_read_address(caller, address, size) for address, size in names if address]
    return [Details(address=address, flags=arguments[0] & _WORD) for address in dict.fromkeys(addresses)]


def _socket(_caller: Caller, arguments: Arguments) -> Sequence[Details]:
    return (Details(address=Address(f"family:{arguments[0] & _WORD}"), flags=arguments[1] & _WORD),)


def _signal(number: int, *, process: int | None = None, thread: int | None = None) -> _Reader:
    """A signal number, as flags, and who gets it, as target. A signal to oneself touches nobody: no Details."""

    def read(caller: Caller, arguments: Arguments) -> Sequence[Details]:
        own_process, own_thread = caller.own_ids()
        if process is not None:
            own, receiver = own_process, arguments[process]
        else:
            own, receiver = own_thread, arguments[thread or 0]
        target = str(_signed(receiver))
        return () if target == own else (Details(target=target, flags=arguments[number] & _WORD),)

    return read


def _pidfd_signal(caller: Caller, arguments: Arguments) -> Sequence[Details]:
    target = caller.pidfd(arguments[0])
    return (
        ()
        if target and target == caller.own_ids()[0]
        else (Details(target=target, flags=arguments[1] & _WORD),)
    )


def _process(process: int, *, flags: int | None = None) -> _Reader:
    """The id of another process, as target."""
    return lambda _caller, arguments: (
        Details(target=str(_signed(arguments[process])), flags=_flags(arguments, flags)),
    )


def _registers(flags: int | None = None) -> _Reader:
    """Nothing but perhaps a register that is worth telling."""
    return lambda _caller, arguments: (Details(flags=_flags(arguments, flags)),)


def _flags(arguments: Arguments, index: int | None) -> int:
    return 0 if index is None else arguments[index] & _WORD


def _signed(register: int) -> int:
    value = register & _WORD
    return value - (1 << 32) if value >> 31 else value


_READERS: Mapping[str, _Reader] = {
    "open": _path(0, flags=1),
    "openat": _path(1, at=0, flags=2),
    "openat2": _openat2,
    "creat": _path(0, flags=1),
    "truncate": _path(0),
    "ftruncate": _descriptor(0),
    "fallocate": _descriptor(0, flags=1),
    "unlink": _path(0),
    "unlinkat": _path(1, at=0, flags=2),
    "rmdir": _path(0),
    "mkdir": _path(0, flags=1),
    "mkdirat": _path(1, at=0, flags=2),
    "mknod": _path(0, flags=1),
    "mknodat": _path(1, at=0, flags=2),
    "rename": _two_paths(0, 1),
    "renameat": _two_paths(1, 3, at=0, target_at=2),
    "renameat2": _two_paths(1, 3, at=0, target_at=2, flags=4),
    "link": _two_paths(0, 1),
    "linkat": _two_paths(1, 3, at=0, target_at=2, flags=4),
    "symlink": _path_with_text(1, 0),
    "symlinkat": _path_with_text(2, 0, at=1),
    "chmod": _path(0, flags=1),
    "fchmod": _descriptor(0, flags=1),
    "fchmodat": _path(1, at=0, flags=2),
    "fchmodat2": _path(1, at=0, flags=2),
    "chown": _path(0),
    "fchown": _descriptor(0),
    "lchown": _path(0),
    "fchownat": _path(1, at=0),
    "setxattr": _path_with_text(0, 1),
    "lsetxattr": _path_with_text(0, 1),
    "fsetxattr": _descriptor(0),
    "setxattrat": _path_with_text(1, 3, at=0),
    "file_setattr": _path(1, at=0),
    "removexattr": _path_with_text(0, 1),
    "lremovexattr": _path_with_text(0, 1),
    "fremovexattr": _descriptor(0),
    "removexattrat": _path_with_text(1, 3, at=0),
    "utime": _path(0),
    "utimes": _path(0),
    "futimesat": _path(1, at=0),
    "utimensat": _path(1, at=0),
    "mmap": _descriptor(4, flags=2),
    "execve": _execute(0, 1),
    "execveat": _execute(1, 2, at=0),
    "fork": _registers(),
    "vfork": _registers(),
    "clone": _registers(flags=0),
    "kill": _signal(1, process=0),
    "tkill": _signal(1, thread=0),
    "tgkill": _signal(2, process=0),
    "rt_sigqueueinfo": _signal(1, process=0),
    "rt_tgsigqueueinfo": _signal(2, process=0),
    "pidfd_send_signal": _pidfd_signal,
    "socket": _socket,
    "shmget": _registers(1),
    "connect": _sockaddr(1, 2),
    "bind": _sockaddr(1, 2),
    "listen": _registers(flags=0),
    "sendto": _sockaddr(4, 5),
    "sendmsg": _sendmsg,
    "sendmmsg": _sendmmsg,
    "mount": _path_with_text(1, 0, flags=3),
    "umount2": _path(0, flags=1),
    "pivot_root": _two_paths(0, 1),
    "chroot": _path(0),
    "unshare": _registers(flags=0),
    "setns": _descriptor(0, flags=1),
    "ptrace": _process(1, flags=0),
    "process_vm_readv": _process(0),
    "process_vm_writev": _process(0),
}
_PLAIN = _registers()


def decode(name: str, caller: Caller, arguments: Arguments) -> Sequence[Details]:
    """What a call is about to do; several for several addresses, none when there is nothing to tell.

    ``flags`` holds open flags, mode, signal, clone flags, protection of a mapping, or the descriptor of a
    socket call; ``target`` the second path, the text of a new link, the source of a mount, the name of an
    attribute, or the process id that a signal goes to.
    """
    return _READERS.get(name, _PLAIN)(caller, arguments)
