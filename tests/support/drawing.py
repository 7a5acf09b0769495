"""Lines of a terminal as an SVG picture."""

import html
import re
from collections.abc import Iterator, Sequence

from tests.support.screen import Row, Style

FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
NO_BREAK = "\u00a0\u00a0"
"""For two spaces, which a picture would show as one."""

CHAR, LINE, MARGIN = 8.4, 19, 16
INK = "#e6edf3"


def drawn(rows: Sequence[Row], columns: int, says: str) -> str:
    """The picture. `says` is read to those who do not see it."""
    width, height = round(columns * CHAR) + 2 * MARGIN, len(rows) * LINE + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="{FONT}" font-size="14" role="img" aria-label="{html.escape(says)}">',
        f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
    ]
    for number, row in enumerate(rows):
        y = MARGIN + number * LINE + 14
        lines += [_tag(MARGIN + column * CHAR, y, style, text) for column, style, text in _runs(row)]
    return "\n".join([*lines, "</svg>\n"])


def _runs(row: Row) -> Iterator[tuple[int, Style, str]]:
    """Neighbours of one style: column, style and text."""
    start = 0
    for end in range(1, len(row) + 1):
        if end == len(row) or row[end].style != row[start].style:
            text = "".join(cell.char for cell in row[start:end])
            if text.strip():
                yield start + len(text) - len(text.lstrip()), row[start].style, text.strip()
            start = end


def _tag(x: float, y: float, style: Style, text: str) -> str:
    looks = [f'fill="{style.colour or INK}"', f'textLength="{len(text) * CHAR:.1f}"']
    looks += ['font-weight="bold"'] if "bold" in style.looks else []
    looks += ['font-style="italic"'] if "italic" in style.looks else []
    looks += ['opacity="0.6"'] if "dim" in style.looks else []
    return (
        f'<text x="{x:.1f}" y="{y}" {" ".join(looks)}>{html.escape(text, quote=False).replace("  ", NO_BREAK)}</text>'
    )


def steady(picture: str) -> str:
    """The words of a picture, without what differs between two runs: numbers and the id of the thread."""
    words = " ".join(re.findall(r">([^<\n]+)</text>", picture))
    return re.sub(r"\d+(\.\d+)*", "0", re.sub(r"[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}", "ID", words))
