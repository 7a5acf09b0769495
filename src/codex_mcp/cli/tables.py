"""Pure. A plain text table: a title above each column, two spaces between columns."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

from codex_mcp.base.printable import one_line

GAP: Final = "  "
CUT: Final = "…"
NARROWEST: Final = 6
"""Columns are not cut below this width; on a smaller screen, lines wrap."""


def table(
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    *,
    whole: int = 0,
    optional: Sequence[str] = (),
) -> str:
    """The rows below their titles. If they are wider than `width`, the widest columns are cut.

    The first `whole` columns are never cut: an incomplete id is useless. If the table is still too wide, `optional`
    columns are left out, in this order.
    """
    cells = [[one_line(cell) or "-" for cell in row] for row in [titles, *rows]]
    widths = [max(cell_width(row[column]) for row in cells) for column in range(len(titles))]
    if width is not None:
        left_out = _left_out(titles, widths, width, whole, optional)
        widths = [wide for title, wide in zip(titles, widths, strict=True) if title not in left_out]
        cells = [[cell for title, cell in zip(titles, row, strict=True) if title not in left_out] for row in cells]
        room = width - len(GAP) * (len(widths) - 1) - sum(widths[:whole])
        widths = [*widths[:whole], *_fitted(widths[whole:], room)]
    return "\n".join(
        GAP.join(_padded(cell, wide) for cell, wide in zip(row, widths, strict=True)).rstrip() for row in cells
    )


def whole_width(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """The width of the table if nothing is cut or left out."""
    widths = [max(cell_width(one_line(cell)) for cell in column) for column in zip(titles, *rows, strict=True)]
    return sum(widths) + len(GAP) * (len(widths) - 1)


def _left_out(
    titles: Sequence[str], widths: Sequence[int], width: int, whole: int, optional: Sequence[str]
) -> set[str]:
    """The columns to leave out, so that the others fit when they are cut as far as possible."""
    least = {
        title: wide if number < whole else min(wide, NARROWEST)
        for number, (title, wide) in enumerate(zip(titles, widths, strict=True))
    }
    left_out: set[str] = set()
    for title in optional:
        kept = [wide for name, wide in least.items() if name not in left_out]
        if sum(kept) + len(GAP) * (len(kept) - 1) <= width:
            break
        left_out.add(title)
    return left_out


def cell_width(text: str) -> int:
    """How many terminal columns a text takes: ideographs and emoji take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def _char_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def _fitted(widths: Sequence[int], room: int) -> list[int]:
    widths = list(widths)
    while sum(widths) > room and max(widths, default=0) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _padded(text: str, width: int) -> str:
    text = text.rstrip()
    if cell_width(text) > width:
        kept = ""
        for char in text:
            if cell_width(kept + char) > width - 1:
                break
            kept += char
        text = kept + CUT
    return text + " " * (width - cell_width(text))
