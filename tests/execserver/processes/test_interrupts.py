import os
import signal
import termios
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_mcp.execserver.launch import ProcessSpec, launch
from codex_mcp.execserver.processes.interrupts import members, press_keys, split_keys

MEANING = {b"\x03": signal.SIGINT, b"\x1c": signal.SIGQUIT}


@given(data=st.lists(st.sampled_from([b"a", b"b", *MEANING])).map(b"".join), keeps=st.booleans())
def test_bytes_are_keys_or_left(data: bytes, *, keeps: bool) -> None:
    left, pressed = split_keys(data, MEANING, keeps=keeps)
    assert [key for key, _ in pressed] == [bytes([byte]) for byte in data if bytes([byte]) in MEANING]
    pieces = data.replace(b"\x1c", b"\x03").split(b"\x03")
    assert left == (b"".join(pieces) if keeps else pieces[-1])


@pytest.fixture
def terminal() -> Iterator[tuple[int, int, int]]:
    """Both sides of a terminal, and a child in front of it that reads nothing."""
    child = launch(ProcessSpec(["/bin/sleep", "100"], "/", {}, tty=True))
    slave = os.open(f"/proc/{child.pid}/fd/0", os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    os.set_blocking(child.stdout, True)
    yield child.stdout, slave, child.pid
    os.kill(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
    for descriptor in (slave, child.stdout, child.stdin, child.pidfd):
        assert descriptor is not None
        os.close(descriptor)


def with_flags(terminal: int, change: int, *, on: bool) -> None:
    attributes = termios.tcgetattr(terminal)
    attributes[3] = attributes[3] | change if on else attributes[3] & ~change
    termios.tcsetattr(terminal, termios.TCSANOW, attributes)


def test_a_key_is_shown_takes_what_was_typed_along_and_becomes_a_signal(terminal: tuple[int, int, int]) -> None:
    master, slave, group = terminal
    os.write(master, b"typed\n")
    assert os.read(master, 100) == b"typed\r\n"
    assert press_keys(master, group, b"more\x03\x1crest") == (b"rest", [signal.SIGINT, signal.SIGQUIT])
    assert os.read(master, 100) == b"^C^\\"
    with pytest.raises(BlockingIOError):
        os.read(slave, 100)


def test_where_a_key_is_no_signal_all_is_left(terminal: tuple[int, int, int]) -> None:
    master, slave, group = terminal
    assert press_keys(master, group + 1, b"\x03") == (b"\x03", []), "another group is in front"
    assert press_keys(master, group, b"typed\n") == (b"typed\n", [])
    with_flags(slave, termios.ISIG, on=False)
    assert press_keys(master, group, b"\x03") == (b"\x03", []), "an editor wants the key itself"


def test_a_terminal_may_keep_what_was_typed_and_show_nothing(terminal: tuple[int, int, int]) -> None:
    master, slave, group = terminal
    with_flags(slave, termios.NOFLSH, on=True)
    with_flags(slave, termios.ECHO, on=False)
    os.write(master, b"typed\n")
    assert press_keys(master, group, b"more\x03") == (b"more", [signal.SIGINT])
    assert os.read(slave, 100) == b"typed\n"


def test_what_is_no_terminal_has_no_keys() -> None:
    reading, writing = os.pipe()
    assert press_keys(writing, 1, b"\x03") == (b"\x03", [])
    os.close(reading)
    os.close(writing)


def test_a_group_knows_its_members() -> None:
    assert os.getpid() in members(os.getpgrp())
    assert os.getpid() not in members(1)
