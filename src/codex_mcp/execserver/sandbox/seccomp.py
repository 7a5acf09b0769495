"""Pure. The system call filter of a sandbox, as a BPF program that bubblewrap loads into the kernel.

It refuses (EPERM) what bypasses the limits on files and processes: io_uring, keyrings (which belong to the user, not to
the sandbox), sockets to the virtual machine's host, and pushing input into a terminal. Without network, it also refuses
debugging, as the real server does, and every socket except connected ones between processes of the sandbox. A datagram
socket is refused even as one of a pair: `sendmsg` could address any socket of the machine by its path, and a filter
cannot check that address. A system call of another architecture ends the process, because its numbers differ.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Mapping
from typing import Final

LOAD_WORD: Final = 0x20  # BPF_LD | BPF_W | BPF_ABS
JUMP_EQUAL: Final = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
AND: Final = 0x54  # BPF_ALU | BPF_AND | BPF_K
JUMP_AT_LEAST: Final = 0x35  # BPF_JMP | BPF_JGE | BPF_K
RETURN: Final = 0x06  # BPF_RET | BPF_K

ALLOW: Final = 0x7FFF0000
KILL: Final = 0x80000000
REFUSE: Final = 0x00050000 | errno.EPERM

AT_NUMBER: Final = 0
AT_ARCHITECTURE: Final = 4
AT_FIRST_ARGUMENT: Final = 16
AT_SECOND_ARGUMENT: Final = 24
"""Offsets in struct seccomp_data; for an argument, its low half on a little-endian machine."""

X32_CALLS: Final = 0x40000000
"""The second system call table of x86_64 starts here."""

AF_UNIX: Final = 1
AF_VSOCK: Final = 40
"""Between a virtual machine and its host; no network namespace confines it."""

SOCKET_TYPE: Final = 0xF
"""The part of a socket's type that is not a flag."""
CONNECTED_TYPES: Final = (1, 5)
"""SOCK_STREAM and SOCK_SEQPACKET, which send only to the peer they are connected to."""

TIOCSTI: Final = 0x5412
"""Pushes a character into a terminal's input, as if it had been typed."""

AARCH64: Final = "aarch64"
X86_64: Final = "x86_64"
ARCHITECTURES: Final = {X86_64: 0xC000003E, AARCH64: 0xC00000B7}

# Numbers from linux/unistd.h: x86_64, aarch64.
ALWAYS_REFUSED: Final[Mapping[str, tuple[int, int]]] = {
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
}
DEBUGGING: Final[Mapping[str, tuple[int, int]]] = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
}
"""Allowed with network: all processes visible in a sandbox are under the same filter."""
NETWORK: Final[Mapping[str, tuple[int, int]]] = {
    "connect": (42, 203),
    "accept": (43, 202),
    "accept4": (288, 242),
    "bind": (49, 200),
    "listen": (50, 201),
    "sendto": (44, 206),
    "sendmmsg": (307, 269),
    "recvmmsg": (299, 243),
    "getsockopt": (55, 209),
    "setsockopt": (54, 208),
    "getpeername": (52, 205),
    "getsockname": (51, 204),
    "shutdown": (48, 210),
}
SOCKET: Final[Mapping[str, tuple[int, int]]] = {"socket": (41, 198), "socketpair": (53, 199)}
IOCTL: Final = (16, 29)


def seccomp_program(machine: str, *, has_network: bool) -> bytes:
    """The filter for this machine type (`os.uname().machine`). Raises KeyError for an unknown type."""
    column = 1 if machine == AARCH64 else 0
    refused = [numbers[column] for numbers in ALWAYS_REFUSED.values()]
    if not has_network:
        refused += [numbers[column] for numbers in (*DEBUGGING.values(), *NETWORK.values())]
    program = [
        _step(LOAD_WORD, AT_ARCHITECTURE),
        _step(JUMP_EQUAL, ARCHITECTURES[machine], if_true=1),
        _step(RETURN, KILL),
        _step(LOAD_WORD, AT_NUMBER),
        *([_step(JUMP_AT_LEAST, X32_CALLS, if_false=1), _step(RETURN, REFUSE)] if machine == X86_64 else []),
    ]
    for number in refused:
        program += [_step(JUMP_EQUAL, number, if_false=1), _step(RETURN, REFUSE)]
    program += _refuse_argument(IOCTL[column], AT_SECOND_ARGUMENT, TIOCSTI)
    for numbers in SOCKET.values():
        number = numbers[column]
        program += _refuse_argument(number, AT_FIRST_ARGUMENT, AF_VSOCK) if has_network else _connected_only(number)
    return b"".join([*program, _step(RETURN, ALLOW)])


def _refuse_argument(call: int, at: int, value: int) -> list[bytes]:
    """Refuse a system call with this value of an argument, and allow it otherwise."""
    return [
        _step(JUMP_EQUAL, call, if_false=4),
        _step(LOAD_WORD, at),
        _step(JUMP_EQUAL, value, if_false=1),
        _step(RETURN, REFUSE),
        _step(RETURN, ALLOW),
    ]


def _connected_only(call: int) -> list[bytes]:
    """Allow a socket call only for connected Unix sockets."""
    return [
        _step(JUMP_EQUAL, call, if_false=8),
        _step(LOAD_WORD, AT_FIRST_ARGUMENT),
        _step(JUMP_EQUAL, AF_UNIX, if_false=5),
        _step(LOAD_WORD, AT_SECOND_ARGUMENT),
        _step(AND, SOCKET_TYPE),
        _step(JUMP_EQUAL, CONNECTED_TYPES[0], if_true=1),
        _step(JUMP_EQUAL, CONNECTED_TYPES[1], if_false=1),
        _step(RETURN, ALLOW),
        _step(RETURN, REFUSE),
    ]


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """One struct sock_filter. Jumps are relative to the next step."""
    return struct.pack("=HBBI", code, if_true, if_false, value)
