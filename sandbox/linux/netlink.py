"""The network of a box: one loopback device on which every address of the world is local.

Built by rtnetlink(7) alone, so no ``ip`` or ``nft`` binary is needed. The local default routes (AnyIP) make
the kernel deliver each packet, whatever its destination, to a socket of the same namespace: nothing can
leave, and whoever binds an address answers for it.
"""

from __future__ import annotations

import errno
import os
import socket
import struct

BOX_ADDRESS = "10.0.2.15"
"""The box's own IPv4 address, source of all that it sends to other addresses.

Without it the kernel takes the destination as source too, and the gateway's answers would look like contact
with the client's port. The value is that of QEMU's user network: programs that look at it see nothing
unusual.
"""

DNS_PORT = 53
"""The port that the gateway answers on whatever the address; only it can bind one so low."""

IPV6_FREEBIND = 78
"""Socket option (linux/in6.h): bind or answer from an address that no device has."""

_RTM_NEWLINK, _RTM_NEWADDR, _RTM_NEWROUTE = 16, 20, 24
_NLM_F_REQUEST, _NLM_F_ACK, _NLM_F_EXCL, _NLM_F_CREATE = 0x1, 0x4, 0x200, 0x400
_IFF_UP = 1
_IFA_ADDRESS, _IFA_LOCAL = 1, 2
_RTA_OIF, _RTA_PREFSRC = 4, 7
_RT_TABLE_LOCAL, _RTPROT_BOOT, _RTN_LOCAL = 255, 3, 2
_RT_SCOPE_UNIVERSE, _RT_SCOPE_HOST = 0, 254
_LOOPBACK_INDEX = 1  # the loopback device is the first one of every network namespace

_HEADER = struct.Struct("=IHHII")


def set_up_loopback() -> bool:
    """Bring up ``lo`` in the caller's network namespace and make every address local to it.

    Returns whether IPv6 is there; some kernels run without it. Raises OSError (EPERM without CAP_NET_ADMIN).
    """
    link = struct.pack("=BxHiII", 0, 0, _LOOPBACK_INDEX, _IFF_UP, _IFF_UP)
    own = socket.inet_aton(BOX_ADDRESS)
    address = struct.pack("=4BI", socket.AF_INET, 32, 0, _RT_SCOPE_HOST, _LOOPBACK_INDEX)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        netlink.bind((0, 0))
        _request(netlink, _RTM_NEWLINK, 0, link)
        _request(
            netlink,
            _RTM_NEWADDR,
            _NLM_F_CREATE,
            address + _attribute(_IFA_LOCAL, own) + _attribute(_IFA_ADDRESS, own),
        )
        _add_local_default(netlink, socket.AF_INET, _RT_SCOPE_HOST, _attribute(_RTA_PREFSRC, own))
        try:
            _add_local_default(netlink, socket.AF_INET6, _RT_SCOPE_UNIVERSE, b"")
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EAFNOSUPPORT, errno.EACCES):
                raise
            return False
    return True


def _add_local_default(netlink: socket.socket, family: int, scope: int, extra: bytes) -> None:
    route = struct.pack("=8BI", family, 0, 0, 0, _RT_TABLE_LOCAL, _RTPROT_BOOT, scope, _RTN_LOCAL, 0)
    device = _attribute(_RTA_OIF, struct.pack("=i", _LOOPBACK_INDEX))
    _request(netlink, _RTM_NEWROUTE, _NLM_F_CREATE | _NLM_F_EXCL, route + device + extra)


def _attribute(kind: int, data: bytes) -> bytes:
    packed = struct.pack("=HH", 4 + len(data), kind) + data
    return packed + bytes(-len(packed) % 4)


def _request(netlink: socket.socket, kind: int, flags: int, body: bytes) -> None:
    header = _HEADER.pack(_HEADER.size + len(body), kind, flags | _NLM_F_REQUEST | _NLM_F_ACK, 1, 0)
    netlink.send(header + body)
    (result,) = struct.unpack_from("=i", netlink.recv(65536), _HEADER.size)
    if result:
        raise OSError(-result, f"rtnetlink request {kind}: {os.strerror(-result)}")
