"""The keys that a terminal turns into signals, done by us where the terminal would hit the wrong one as well.

Ctrl-C on a terminal interrupts its whole foreground group. In a sandbox the first of that group is bubblewrap, which
knows no Ctrl-C: it would end, and everything in it at once, without a word. So there we do what the terminal would do
(drop what was typed before, show the key), and the caller signals the others.
"""

from __future__ import annotations

import fcntl
import os
import signal
import termios
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

KEYS: Final = {termios.VINTR: signal.SIGINT, termios.VQUIT: signal.SIGQUIT}

TIOCGPTPEER: Final = 0x5441
"""From asm-generic/ioctls.h: the other side of a pseudo-terminal."""

LOCAL_FLAGS: Final = 3
CONTROL_CHARACTERS: Final = 6
"""Where in the list of tcgetattr()."""

DISABLED: Final = b"\0"


def press_keys(terminal: int, group: int, data: bytes) -> tuple[bytes, list[signal.Signals]]:
    """What is typed into a terminal: what is left to write, and the signals for its group. None, if a key is no signal
    there just now, or if another group is in front."""
    try:
        attributes, in_front = termios.tcgetattr(terminal), os.tcgetpgrp(terminal)
    except (OSError, termios.error):
        return data, []
    flags, characters = attributes[LOCAL_FLAGS], attributes[CONTROL_CHARACTERS]
    if in_front != group or not flags & termios.ISIG:
        return data, []
    meaning = {characters[key]: number for key, number in KEYS.items() if characters[key] != DISABLED}
    left, pressed = split_keys(data, meaning, keeps=bool(flags & termios.NOFLSH))
    if pressed:
        shown = bool(flags & termios.ECHO) and bool(flags & termios.ECHOCTL)
        _as_the_terminal(terminal, [key for key, _ in pressed] if shown else [], keeps=bool(flags & termios.NOFLSH))
    return left, [number for _, number in pressed]


def split_keys(
    data: bytes, meaning: Mapping[bytes, signal.Signals], *, keeps: bool
) -> tuple[bytes, list[tuple[bytes, signal.Signals]]]:
    """The bytes without the keys, and the keys. A key takes what was typed before it along, unless that is kept."""
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


def _as_the_terminal(terminal: int, keys: list[bytes], *, keeps: bool) -> None:
    with suppress(OSError, termios.error):  # it is going away
        other_side = fcntl.ioctl(terminal, TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if not keeps:
                termios.tcflush(other_side, termios.TCIFLUSH)
            os.write(other_side, b"".join(b"^" + bytes([key[0] ^ 0x40]) for key in keys))
        finally:
            os.close(other_side)
