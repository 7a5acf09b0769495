"""Pure. What a command has put out, as a terminal would leave it: lines with colours, as classes.

Colours and bold are kept; 256 and true colours become the nearest of eight. Carriage return, backspace and erasing of a
line are applied. Titles, links and movements of the cursor are dropped. A program that fills the screen is only named.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

SEQUENCE: Final = re.compile(
    r"\x1b\[(?P<args>[0-9;:?<=>]{0,64})(?P<final>[ -/]?[@-~])|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?"
    r"|\x1b[ -/]?[0-~]?|\x9b[0-9;:?]{0,64}[@-~]?"
)
FULL_SCREEN: Final = "?1049"
NAMES: Final = ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
"""The classes of text are `c-red` and so on: each is readable on both themes."""

LONGEST_LINE: Final = 4096
"""Characters of a line that are shown."""

CUBE: Final = (0, 95, 135, 175, 215, 255)

Cell = tuple[str, str]
"""A character and its classes."""


class Piece(Struct, frozen=True, omit_defaults=True):
    text: str
    kind: str = ""
    """Classes for its colour and weight."""


class Screen(Struct, frozen=True):
    lines: Sequence[Sequence[Piece]]
    is_full_screen: bool = False
    """A program has drawn on the whole screen: only the last text of it is here."""


def screen(text: str) -> Screen:
    style = _Style()
    is_full = False
    lines: list[list[Piece]] = []
    for line in text.split("\n"):
        is_full = is_full or FULL_SCREEN in line
        lines.append(list(_joined(_cells(line, style))))
    if lines and not lines[-1]:
        lines.pop()
    return Screen(lines, is_full)


class _Style:
    """What the last sequence has chosen."""

    def __init__(self) -> None:
        self._colour = ""
        self._is_bold = False
        self._is_dim = False

    @property
    def classes(self) -> str:
        weight = "c-bold" if self._is_bold else "c-dim" if self._is_dim else ""
        return " ".join(filter(None, (self._colour, weight)))

    def chosen(self, arguments: str) -> None:
        codes = [int(each) if each.isdecimal() else 0 for each in re.split("[;:]", arguments)]
        at = 0
        while at < len(codes):
            at += self._one(codes[at:])

    def _one(self, codes: Sequence[int]) -> int:
        """Obey the first of these; how many it took."""
        match codes[0]:
            case 0:
                self._colour, self._is_bold, self._is_dim = "", False, False
            case 1:
                self._is_bold = True
            case 2:
                self._is_dim = True
            case 22:
                self._is_bold = self._is_dim = False
            case 39:
                self._colour = ""
            case 38 | 48:
                colour, taken = _extended(codes)
                self._colour = colour if codes[0] == 38 and colour else self._colour
                return taken
            case code if 30 <= code <= 37 or 90 <= code <= 97:
                self._colour = f"c-{NAMES[code % 10]}"
        return 1


def _extended(codes: Sequence[int]) -> tuple[str, int]:
    """The nearest colour of `38;5;N` and `38;2;R;G;B`, and how many codes that takes."""
    if codes[1:2] == [5] and len(codes) >= 3:
        return nearest(*_of_256(min(codes[2], 255))), 3
    if codes[1:2] == [2] and len(codes) >= 5:
        return nearest(*(min(each, 255) for each in codes[2:5])), 5
    return "", len(codes)


def _of_256(number: int) -> tuple[int, int, int]:
    if number < 16:
        on = 255 if number >= 8 else 170
        return tuple(on if number & bit else 0 for bit in (1, 2, 4))  # type: ignore[return-value]
    if number >= 232:
        grey = 8 + 10 * (number - 232)
        return grey, grey, grey
    number -= 16
    return CUBE[number // 36], CUBE[number // 6 % 6], CUBE[number % 6]


def nearest(red: int, green: int, blue: int) -> str:
    """The class of a colour; greys have none or `c-black`, which is the quiet one."""
    most = max(red, green, blue)
    if most - min(red, green, blue) < 40:
        return "" if most > 150 else "c-black"
    bits = sum(bit for bit, part in ((1, red), (2, green), (4, blue)) if part > most * 0.6)
    return f"c-{NAMES[bits]}"


def _cells(line: str, style: _Style) -> list[Cell]:
    """One line of the terminal, as it is at its end."""
    cells: list[Cell] = []
    at = 0
    for kind, value in _tokens(line):
        if kind == "m":
            style.chosen(value)
        elif kind == "K":
            cells = cells[:at] if value in ("", "0") else []
        elif kind == "\r":
            at = 0
        elif kind == "\b":
            at = max(0, at - 1)
        elif kind == "text":
            classes = style.classes
            room = value[: LONGEST_LINE - at]
            cells[at : at + len(room)] = [(char, classes) for char in room]
            at += len(room)
    return cells


def _tokens(line: str) -> Iterator[tuple[str, str]]:
    done = 0
    for found in SEQUENCE.finditer(line):
        yield from _plain(line[done : found.start()])
        done = found.end()
        if found["final"] in ("m", "K"):
            yield found["final"], found["args"]
    yield from _plain(line[done:])


def _plain(text: str) -> Iterator[tuple[str, str]]:
    for part in re.split("([\r\b])", text):
        if part in ("\r", "\b"):
            yield part, ""
        elif part:
            yield "text", part.replace("\x07", "").replace("\x00", "")


def _joined(cells: Sequence[Cell]) -> Iterator[Piece]:
    begin = 0
    for at in range(1, len(cells) + 1):
        if at == len(cells) or cells[at][1] != cells[begin][1]:
            yield Piece("".join(char for char, _ in cells[begin:at]), cells[begin][1])
            begin = at
