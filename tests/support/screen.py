"""What stands on a terminal after a program has written to it: text, colours, and where its lines are now."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

CONTROL: Final = re.compile(
    r"\x1b\[(?P<numbers>[?>=\d;]*)(?P<letter>[A-Za-z])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[()].|\x1b.|(?P<char>[^\x1b])",
    re.DOTALL,
)
BRIGHT: Final = ("#6e7681", "#ff7b72", "#7ee787", "#e3b341", "#79c0ff", "#d2a8ff", "#76e3ea", "#e6edf3")
STEPS: Final = (0, 95, 135, 175, 215, 255)
LOOKS: Final = {1: "bold", 2: "dim", 3: "italic"}
ENDS: Final = {22: ("bold", "dim"), 23: ("italic",)}


class Style(NamedTuple):
    """How a character looks. `colour` is that of the text; none is the terminal's own."""

    colour: str | None = None
    looks: frozenset[str] = frozenset()


PLAIN: Final = Style()


class Cell(NamedTuple):
    """A character on the screen."""

    char: str
    style: Style


Row = list[Cell]


class Screen:
    """Lines that have left it at the top are kept."""

    def __init__(self, columns: int = 10_000, lines: int = 50) -> None:
        self.rows: list[Row] = [[]]
        self._columns = columns
        self._lines = lines
        self._line = 0
        self._column = 0
        self._style = PLAIN

    def write(self, text: str) -> None:
        """What the program wrote."""
        for found in CONTROL.finditer(text):
            if found["letter"]:
                self._control(found["letter"], found["numbers"])
            elif found["char"]:
                self._char(found["char"])

    @property
    def _top(self) -> int:
        return max(0, len(self.rows) - self._lines)

    def _char(self, char: str) -> None:
        match char:
            case "\r":
                self._column = 0
            case "\n":
                self._go(self._line + 1)
            case "\b":
                self._column = max(0, self._column - 1)
            case _ if char >= " ":
                if self._column >= self._columns:
                    self._go(self._line + 1)
                    self._column = 0
                self._put(char)

    def _put(self, char: str) -> None:
        row = self.rows[self._line]
        row.extend([Cell(" ", PLAIN)] * (self._column + 1 - len(row)))
        row[self._column] = Cell(char, self._style)
        self._column += 1

    def _go(self, line: int) -> None:
        self._line = max(0, line)
        while self._line >= len(self.rows):
            self.rows.append([])

    def _control(self, letter: str, numbers: str) -> None:
        given = [int(each) if each.isdigit() else 0 for each in numbers.split(";")]
        count = max(1, given[0])
        match letter:
            case "A":
                self._go(max(self._top, self._line - count))
            case "B":
                self._go(self._line + count)
            case "C":
                self._column += count
            case "D":
                self._column = max(0, self._column - count)
            case "G":
                self._column = count - 1
            case "H" | "f":
                self._go(self._top + count - 1)
                self._column = max(1, given[1] if len(given) > 1 else 1) - 1
            case "K":
                self._erase(self._line, given[0])
            case "J":
                self._erase_lines(given[0])
            case "m":
                self._style = styled(self._style, given)

    def _erase(self, line: int, what: int) -> None:
        """0: from the cursor on; 1: up to the cursor; 2: the line."""
        row = self.rows[line]
        if what in (0, 2):
            del row[self._column if what == 0 else 0 :]
        else:
            end = min(self._column + 1, len(row))
            row[:end] = [Cell(" ", PLAIN)] * end

    def _erase_lines(self, what: int) -> None:
        if what == 0:
            self._erase(self._line, 0)
            del self.rows[self._line + 1 :]
        else:
            for row in self.rows[self._top :]:
                row.clear()


def styled(style: Style, numbers: list[int]) -> Style:
    """The style after these numbers of a `m`."""
    colour, looks = style
    rest = iter(numbers)
    for number in rest:
        match number:
            case 0:
                colour, looks = PLAIN
            case 1 | 2 | 3:
                looks |= {LOOKS[number]}
            case 22 | 23:
                looks -= {*ENDS[number]}
            case 38:
                colour = _colour(rest)
            case 48:
                _colour(rest)
            case 39:
                colour = None
            case _ if number in range(30, 38) or number in range(90, 98):
                colour = BRIGHT[number % 10]
    return Style(colour, looks)


def _colour(rest: Iterator[int]) -> str | None:
    """The colour whose numbers follow: three, or that of a table of 256."""
    if next(rest, 0) == 2:
        return "#{:02x}{:02x}{:02x}".format(*(next(rest, 0) for _ in range(3)))
    number = next(rest, 0)
    if number < 16:
        return BRIGHT[number % 8]
    if number >= 232:
        return "#{0:02x}{0:02x}{0:02x}".format(8 + 10 * (number - 232))
    red, green, blue = (STEPS[(number - 16) // step % 6] for step in (36, 6, 1))
    return f"#{red:02x}{green:02x}{blue:02x}"


def rows_of(shown: str, columns: int = 10_000) -> list[Row]:
    screen = Screen(columns)
    screen.write(shown)
    return screen.rows


def text_of(row: Row) -> str:
    return "".join(cell.char for cell in row).rstrip()
