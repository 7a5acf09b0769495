"""The socket at the other end of a TCP connection within this machine (Linux).

The kernel is asked for exactly that socket (`sock_diag`), which takes a few microseconds however many there are. Where
it does not offer that, as in some container sandboxes, the list in /proc/net is read.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import socket
import struct
import sys
from collections.abc import Iterator
from typing import Final, TypeAlias

from msgspec import Struct

Address: TypeAlias = tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]

NETLINK_SOCK_DIAG: Final = 4
SOCK_DIAG_BY_FAMILY: Final = 20
NLMSG_ERROR: Final = 2
NLM_F_REQUEST: Final = 1
ANY_STATE: Final = 0xFFFFFFFF
NO_COOKIE: Final = b"\xff" * 8
"""From linux/netlink.h, sock_diag.h and inet_diag.h."""

HEAD: Final = struct.Struct("=IHHII")
OWNER: Final = struct.Struct("=4x48x12xII")
"""`inet_diag_msg`: user id and inode stand behind the addresses and three counters."""

ENOENT: Final = -2
ANSWER_BYTES: Final = 4096
PATIENCE: Final = 1.0
"""Seconds for the kernel's answer, which comes at once."""


class OtherEnd(Struct, frozen=True):
    """A socket by its inode, and the user who made it."""

    inode: int
    uid: int


def socket_address(name: object) -> Address | None:
    """An address as `getpeername` returns it. An IPv4 address within IPv6 becomes the IPv4 address."""
    if not isinstance(name, tuple) or len(name) < 2:
        return None
    with contextlib.suppress(ValueError):
        found = ipaddress.ip_address(str(name[0]).partition("%")[0])
        mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
        return mapped or found, int(name[1])
    return None


def is_here(address: Address) -> bool:
    """Whether this is an address of this machine: only those can be bound."""
    host, _ = address
    if host.is_loopback:
        return True
    family = socket.AF_INET if host.version == 4 else socket.AF_INET6
    if host.is_link_local and host.version == 6:
        return True  # it could be bound only together with its interface
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind((str(host), 0))
    except OSError as exc:
        return exc.errno != errno.EADDRNOTAVAIL  # whatever else failed says nothing about the address
    return True


def other_end(theirs: Address, ours: Address) -> OtherEnd | None:
    """The client's socket of a connection; None if it is closed, or not in this network namespace."""
    try:
        return _asked(theirs, ours)
    except OSError:
        return _listed(theirs, ours)


def _asked(theirs: Address, ours: Address) -> OtherEnd | None:
    family = socket.AF_INET if theirs[0].version == 4 else socket.AF_INET6
    ports = struct.pack("!HH", theirs[1], ours[1])
    names = theirs[0].packed.ljust(16, b"\0") + ours[0].packed.ljust(16, b"\0")
    wanted = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, ANY_STATE)
    wanted += ports + names + struct.pack("=I", 0) + NO_COOKIE
    head = HEAD.pack(HEAD.size + len(wanted), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(PATIENCE)
        kernel.sendto(head + wanted, (0, 0))
        answer = kernel.recv(ANSWER_BYTES)
    kind = HEAD.unpack_from(answer)[1]
    body = answer[HEAD.size :]
    if kind == NLMSG_ERROR:
        (error,) = struct.unpack_from("=i", body)
        if error == ENOENT:
            return None
        raise OSError(-error, "sock_diag")
    uid, inode = OWNER.unpack_from(body)
    return OtherEnd(inode, uid) if inode else None


def _listed(theirs: Address, ours: Address) -> OtherEnd | None:
    for name in ("tcp", "tcp6"):
        with contextlib.suppress(OSError), open(f"/proc/self/net/{name}") as lines:
            next(lines)
            for line in lines:
                words = line.split()
                if _listed_address(words[1]) == theirs and _listed_address(words[2]) == ours:
                    return OtherEnd(int(words[9]), int(words[7])) if int(words[9]) else None
    return None


def _listed_address(text: str) -> Address | None:
    """`0100007F:1F90` is 127.0.0.1 port 8080: words of 32 bits in the machine's order."""
    host, _, port = text.partition(":")
    data = b"".join(_words(bytes.fromhex(host)))
    return socket_address((str(ipaddress.ip_address(data)), int(port, 16)))


def _words(data: bytes) -> Iterator[bytes]:
    for start in range(0, len(data), 4):
        word = data[start : start + 4]
        yield word[::-1] if sys.byteorder == "little" else word
