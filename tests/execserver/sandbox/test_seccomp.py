import struct

import pytest

from codex_mcp.execserver.sandbox import seccomp
from codex_mcp.execserver.sandbox.seccomp import AARCH64, ALLOW, ARCHITECTURES, KILL, REFUSE, X86_64, seccomp_program


def verdict(program: bytes, machine: str, number: int, *arguments: int) -> int:
    """Run the filter as the kernel would."""
    low_halves = [half for argument in [*arguments, 0, 0][:2] for half in (argument & 0xFFFFFFFF, argument >> 32)]
    data = struct.pack("=IIQ4I", number, ARCHITECTURES[machine], 0, *low_halves)
    steps = list(struct.iter_unpack("=HBBI", program))
    at, register = 0, 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        if code == seccomp.LOAD_WORD:
            (register,) = struct.unpack_from("=I", data, value)
        elif code == seccomp.JUMP_EQUAL:
            at += if_true if register == value else if_false
        elif code == seccomp.AND:
            register &= value
        elif code == seccomp.JUMP_AT_LEAST:
            at += if_true if register >= value else if_false
        else:
            return int(value)


@pytest.mark.parametrize(("machine", "column"), [(X86_64, 0), (AARCH64, 1)])
def test_what_reaches_around_the_limits_is_refused(machine: str, column: int) -> None:
    for has_network in (True, False):
        program = seccomp_program(machine, has_network=has_network)
        for numbers in seccomp.ALWAYS_REFUSED.values():
            assert verdict(program, machine, numbers[column]) == REFUSE
        for numbers in seccomp.SOCKET.values():
            assert verdict(program, machine, numbers[column], seccomp.AF_VSOCK, 1) == REFUSE


@pytest.mark.parametrize(("machine", "column"), [(X86_64, 0), (AARCH64, 1)])
def test_the_network_is_refused_unless_it_is_allowed(machine: str, column: int) -> None:
    for has_network, expected in ((True, ALLOW), (False, REFUSE)):
        program = seccomp_program(machine, has_network=has_network)
        for numbers in (*seccomp.NETWORK.values(), *seccomp.DEBUGGING.values()):
            assert verdict(program, machine, numbers[column]) == expected
        for numbers in seccomp.SOCKET.values():
            assert verdict(program, machine, numbers[column], 2, 1) == expected


@pytest.mark.parametrize(("machine", "column"), [(X86_64, 0), (AARCH64, 1)])
def test_without_network_only_connected_sockets_of_the_machine_are_made(machine: str, column: int) -> None:
    cloexec_and_nonblocking = 0o2004000
    for numbers in seccomp.SOCKET.values():
        for kind, expected in {1: ALLOW, 5: ALLOW, 2: REFUSE, 3: REFUSE, 4: REFUSE, 0: REFUSE}.items():
            for flags in (0, cloexec_and_nonblocking):
                program = seccomp_program(machine, has_network=False)
                assert verdict(program, machine, numbers[column], seccomp.AF_UNIX, kind | flags) == expected
                free = seccomp_program(machine, has_network=True)
                assert verdict(free, machine, numbers[column], seccomp.AF_UNIX, kind | flags) == ALLOW


@pytest.mark.parametrize(("machine", "column"), [(X86_64, 0), (AARCH64, 1)])
def test_nobody_types_into_a_terminal_for_somebody_else(machine: str, column: int) -> None:
    program = seccomp_program(machine, has_network=True)
    assert verdict(program, machine, seccomp.IOCTL[column], 0, seccomp.TIOCSTI) == REFUSE
    # The kernel looks at the low half of the request only, and so must we.
    assert verdict(program, machine, seccomp.IOCTL[column], 0, seccomp.TIOCSTI | 1 << 32) == REFUSE
    assert verdict(program, machine, seccomp.IOCTL[column], 0, 0x5413) == ALLOW


def test_calls_of_another_table_are_not_let_through() -> None:
    program = seccomp_program(X86_64, has_network=True)
    assert verdict(program, AARCH64, 0) == KILL
    assert verdict(program, X86_64, seccomp.X32_CALLS + 1) == REFUSE
    assert verdict(program, X86_64, 0) == ALLOW


def test_a_machine_that_we_do_not_know_has_no_filter() -> None:
    with pytest.raises(KeyError):
        seccomp_program("m68k", has_network=True)
