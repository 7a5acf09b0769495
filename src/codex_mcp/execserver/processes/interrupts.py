"""Signals to a process inside bubblewrap, and the terminal keys that cause them.

Ctrl-C on a terminal interrupts its whole foreground group. In a sandbox the first process of that group is bubblewrap,
which would end, and everything in it at once. So there we do what the terminal would do (discard pending input, show
the key), and signal the other processes of the group.
"""

from __future__ import annotations

import fcntl
import os
import signal
import termios
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

KEYS: Final = {termios.VINTR: signal.SIGINT, termios.VQUIT: signal.SIGQUIT}

TIOCGPTPEER: Final = 0x5441
"""From asm-generic/ioctls.h: opens the other side of a pseudo-terminal."""

LOCAL_FLAGS: Final = 3
CONTROL_CHARACTERS: Final = 6
"""Indexes in the list that tcgetattr() returns."""

DISABLED: Final = b"\0"


def signal_members(group: int, number: signal.Signals) -> None:
    for pid in members(group):
        if pid != group:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)


def members(group: int) -> list[int]:
    wanted = str(group).encode()
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # "pid (name) state ppid pgrp …", where the name may contain brackets.
            _, _, after_name = stat.read_bytes().rpartition(b")")
            if after_name.split()[2] == wanted:
                found.append(int(stat.parent.name))
    return found


def press_keys(terminal: int, group: int, data: bytes) -> tuple[bytes, list[signal.Signals]]:
    """Handle keys typed into a terminal: the bytes left to write, and the signals for its group. There are no signals
    if the terminal's mode disables them, or if another group is in the foreground."""
    try:
        attributes, foreground = termios.tcgetattr(terminal), os.tcgetpgrp(terminal)
    except (OSError, termios.error):
        return data, []
    flags, characters = attributes[LOCAL_FLAGS], attributes[CONTROL_CHARACTERS]
    if foreground != group or not flags & termios.ISIG:
        return data, []
    meaning = {characters[key]: number for key, number in KEYS.items() if characters[key] != DISABLED}
    left, pressed = split_keys(data, meaning, keeps=bool(flags & termios.NOFLSH))
    if pressed:
        shown = bool(flags & termios.ECHO) and bool(flags & termios.ECHOCTL)
        _flush_and_echo(terminal, [key for key, _ in pressed] if shown else [], keeps=bool(flags & termios.NOFLSH))
    return left, [number for _, number in pressed]


def split_keys(
    data: bytes, meaning: Mapping[bytes, signal.Signals], *, keeps: bool
) -> tuple[bytes, list[tuple[bytes, signal.Signals]]]:
    """The bytes without the keys, and the keys. A key discards the bytes before it, unless `keeps`."""
    left, pressed = bytearray(), list[tuple[bytes, signal.Signals]]()
    for number in data:
        key = bytes([number])
        if key in meaning:
            pressed.append((key, meaning[key]))
            if not keeps:
                left.clear()
        else:
            left += key
    return bytes(left), pressed


def _flush_and_echo(terminal: int, keys: list[bytes], *, keeps: bool) -> None:
    with suppress(OSError, termios.error):  # the terminal is being closed
        other_side = fcntl.ioctl(terminal, TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not keeps:
                termios.tcflush(other_side, termios.TCIFLUSH)
            os.write(other_side, b"".join(b"^" + bytes([key[0] ^ 0x40]) for key in keys))
        finally:
            os.close(other_side)
