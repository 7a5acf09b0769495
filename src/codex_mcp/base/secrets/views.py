"""Pure. A text as it is meant to be read, in which secrets are looked for, with the place of each character in it.

a terminal shows               without its escape sequences, raw or as JSON, Python or a shell writes them
a shell reads 'a'"'"'b'        a'b: in a quoted text that has quotes, each of them is written so, perhaps as often as
                               the text was quoted; such a quote may be one around a secret, or a part of it
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from codex_mcp.base.secrets.rules import compiled

View = tuple[str, Sequence[int]]
"""A text, and for each character its position in the original."""

ESCAPES: Final = ("\x1b", "u001b", "x1b", "033[", "\\e[")
ANSI: Final = (
    r"(?i:(?:\x1b|\\{1,8}(?:u001b|x1b|033|e))(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b\\\n]{0,256}\x07?|[@-Z]))"
)
"""Escape sequences of a terminal."""

QUOTED_QUOTE: Final = r"'(?:\\{0,16}\"'\\{0,16}\"|\\{1,16}')'"
"""A quote within a quoted text, as a shell wants it, also in JSON."""

MOST_QUOTED: Final = 8
"""How often a text may be quoted. Each time it becomes three times as long."""

PART: Final = "\ue000"
"""Stands for a quote that may be a part of a secret, or stand at its end."""


def views(text: str, folded: str) -> Iterator[View]:
    """`folded` is the text in lower case."""
    view: View = text, range(len(text))
    if any(escape in folded for escape in ESCAPES):
        view = _replaced(view, ANSI, "")
    yield view
    unquoted = view
    for _ in range(MOST_QUOTED):
        if compiled(QUOTED_QUOTE).search(unquoted[0]) is None:
            break
        unquoted = _replaced(unquoted, QUOTED_QUOTE, "'")
    if unquoted is not view:
        yield unquoted
        yield _with_parts(unquoted), unquoted[1]


def _replaced(view: View, pattern: str, by: str) -> View:
    """With this, of one character or none, in the place of each match."""
    text, places = view
    pieces: list[str] = []
    kept: list[int] = []
    done = 0
    for match in compiled(pattern).finditer(text):
        pieces += text[done : match.start()], by
        kept.extend(places[done : match.start() + len(by)])
        done = match.end()
    kept.extend(places[done:])
    return "".join(pieces) + text[done:], kept


def _with_parts(view: View) -> str:
    """The text, with quotes that had been quoted as ordinary characters."""
    text, places = view
    following = [*places[1:], places[-1] + 1]
    return "".join(
        PART if char == "'" and after - place > 1 else char
        for char, place, after in zip(text, places, following, strict=True)
    )
